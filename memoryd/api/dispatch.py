"""One match sends every request to the part that answers it. What blocks runs in a thread."""

from collections.abc import Callable
from typing import ParamSpec, TypeVar, assert_never

import anyio.to_thread
import msgspec
import structlog

from memoryd.api import results
from memoryd.api.handlers import devices, team
from memoryd.api.handlers.adopt import AdoptRequests
from memoryd.api.handlers.agents import AgentRequests
from memoryd.api.handlers.archives import ArchiveRequests
from memoryd.api.handlers.checkpoints import CheckpointRequests
from memoryd.api.handlers.doors import Doors
from memoryd.api.handlers.dreams import dream_line, past_dreams, whose
from memoryd.api.handlers.health import Health
from memoryd.api.handlers.hooks import Hooks
from memoryd.api.handlers.inbox import InboxRequests
from memoryd.api.handlers.recall_stats import RecallStats
from memoryd.api.handlers.spending import SpendingReports
from memoryd.api.handlers.status import Status
from memoryd.api.handlers.status_line import StatusLine
from memoryd.api.purge.service import Purge
from memoryd.api.results import Result
from memoryd.api.rules import (
    device_params,
    memory_params,
    protocol,
    session_params,
    team_params,
)
from memoryd.base.timestamps import iso_time
from memoryd.devices.build import DeviceParts
from memoryd.dreams.dreamer import Dreamer
from memoryd.dreams.due import DueReviews
from memoryd.extraction.build import ExtractionParts
from memoryd.llm.connect import Models
from memoryd.llm.spending_table import SpendingTable
from memoryd.memories.services import Services
from memoryd.recall.rules.query import RecallQuery
from memoryd.recall.service import RecallService
from memoryd.sessions.build import SessionParts
from memoryd.sessions.checkpoints import Checkpoint
from memoryd.sessions.note_files import NotesAnswer
from memoryd.team.build import TeamParts
from memoryd.transcripts.build import TranscriptParts

log = structlog.get_logger(__name__)

P = ParamSpec("P")
R = TypeVar("R")


class Areas(msgspec.Struct, frozen=True, kw_only=True):
    """The areas of the daemon, built."""

    services: Services
    models: Models | None
    spending: SpendingTable
    transcripts: TranscriptParts
    extraction: ExtractionParts
    recall: RecallService
    dreamer: Dreamer
    sessions: SessionParts
    team: TeamParts
    devices: DeviceParts


class Handlers(msgspec.Struct, frozen=True, kw_only=True):
    """What exists only to answer requests."""

    status: Status
    health: Health
    hooks: Hooks
    status_line: StatusLine
    doors: Doors
    agents: AgentRequests
    purge: Purge
    adopt: AdoptRequests
    archives: ArchiveRequests
    inbox: InboxRequests
    due: DueReviews
    recall_stats: RecallStats
    checkpoints: CheckpointRequests
    spending: SpendingReports


class Dispatcher:
    def __init__(self, areas: Areas, handlers: Handlers, stop: Callable[[], None]) -> None:
        self._areas = areas
        self._handlers = handlers
        self._stop = stop

    async def answer(  # noqa: C901, PLR0912, PLR0915 - one case for each method, nothing else
        self, params: protocol.Params
    ) -> Result | msgspec.Raw:
        areas, handlers = self._areas, self._handlers
        match params:
            # These come first: they are asked most, and the cases are tried in order.
            case RecallQuery():
                return await areas.recall.answer(params)
            case session_params.HookParams():
                return results.PrintedAnswer(await handlers.hooks.stdout(params))
            case protocol.PingParams():
                return handlers.status.pong()
            case protocol.StatusParams():
                tail = await areas.transcripts.tail.status()
                return await in_thread(handlers.status.report, params.cwd, tail)
            case protocol.HealthParams():
                found = await handlers.health.answer(params.cwd, params.provider)
                return results.HealthAnswer(found)
            case protocol.ShutdownParams():
                self._stop()
                return results.StoppingAnswer(stopping=True)
            case memory_params.MemoryListParams():
                door = handlers.doors.of(params.agent)
                return await door.memories.list(params)
            case memory_params.MemoryGetParams():
                door = handlers.doors.of(params.agent)
                return await in_thread(door.catalog.get, params.cwd, params.path)
            case memory_params.MemorySaveParams():
                return await handlers.doors.of(params.agent, params.where).memories.save(params)
            case memory_params.MemoryMoveParams():
                return await handlers.doors.of(params.agent).memories.move(params)
            case memory_params.MemoryEditParams():
                return await handlers.doors.of(params.agent).memories.edit(params)
            case memory_params.MemoryTrustParams():
                return await handlers.doors.of(params.agent).memories.trust(params)
            case memory_params.MemoryWhyParams():
                door = handlers.doors.of(params.agent)
                return await in_thread(door.why.answer, params.cwd, params.path)
            case memory_params.MemoryForgetParams():
                return await handlers.doors.of(params.agent).memories.forget(params)
            case memory_params.MemoryPurgeParams():
                return await handlers.purge.answer(params)
            case memory_params.MemoryHistoryParams():
                return await in_thread(handlers.doors.of(params.agent).memories.history, params)
            case memory_params.MemoryRestoreParams():
                return await handlers.doors.of(params.agent).memories.restore(params)
            case memory_params.AgentListParams():
                return results.AgentListAnswer(await in_thread(handlers.agents.list, params.cwd))
            case memory_params.AgentSnapshotParams():
                return await in_thread(handlers.agents.snapshot, params)
            case protocol.InboxListParams():
                return await in_thread(areas.extraction.inbox.waiting, params.cwd)
            case protocol.InboxAcceptParams():
                kept = await in_thread(handlers.inbox.accept, params)
                areas.team.worker.wake()
                return kept
            case protocol.InboxEditParams():
                return await in_thread(handlers.inbox.edit, params)
            case protocol.InboxRejectParams():
                return await in_thread(handlers.inbox.reject, params)
            case protocol.ReviewListParams():
                return results.ReviewListAnswer(await in_thread(handlers.due.list, params.cwd))
            case protocol.ReviewKeepParams():
                return await in_thread(handlers.due.keep, params.cwd, params.path)
            case protocol.ReviewRetireParams():
                return await in_thread(handlers.due.retire, params.cwd, params.path)
            case protocol.RecallStatsParams():
                return await in_thread(handlers.recall_stats.answer, params.cwd)
            case session_params.StatusLineParams():
                return results.PrintedAnswer(await handlers.status_line.stdout(params))
            case session_params.ContextParams():
                return await in_thread(
                    areas.sessions.context.assemble,
                    params.cwd,
                    session_id=params.session_id,
                    source=params.source,
                    path=params.path,
                    agent=params.agent,
                )
            case session_params.ContextApproveParams():
                path = await in_thread(areas.sessions.context.approve, params.cwd, params.path)
                log.info("import-approved", path=path, cwd=params.cwd)
                return results.ApprovedAnswer(path)
            case session_params.SessionNotesParams():
                return await in_thread(_notes, areas, params.session_id)
            case session_params.CheckpointSaveParams():
                return await in_thread(_checkpoint, areas, handlers, params)
            case session_params.CheckpointListParams():
                return await in_thread(handlers.checkpoints.list, params)
            case session_params.CheckpointGetParams():
                return await in_thread(handlers.checkpoints.get, params)
            case session_params.CheckpointRemoveParams():
                return await in_thread(handlers.checkpoints.remove, params)
            case protocol.SwitchParams():
                return await in_thread(_switch, areas.services, params)
            case protocol.AdoptParams():
                return await handlers.adopt.answer(params)
            case protocol.ExportParams():
                return await handlers.archives.export(params)
            case protocol.ImportArchiveParams():
                return await handlers.archives.import_(params)
            case session_params.TurnEndedParams():
                queued = await areas.transcripts.tail.turn_ended(params.transcript_path)
                return results.TurnEndedAnswer(queued)
            case session_params.SessionListParams():
                sessions = areas.transcripts.sessions
                return results.SessionListAnswer(
                    await in_thread(sessions.of_project, params.cwd, params.limit)
                )
            case session_params.SessionShowParams():
                return await in_thread(areas.transcripts.sessions.show, params.session_id)
            case protocol.ImportStartParams(dry_run=True):
                return await areas.extraction.backfill.estimate(params.cwd, params.since)
            case protocol.ImportStartParams():
                return await areas.extraction.backfill.start(params.cwd, params.since)
            case protocol.ImportStopParams():
                return results.StoppingAnswer(areas.extraction.backfill.stop())
            case protocol.CostParams():
                return await in_thread(handlers.spending.cost, params.days)
            case protocol.QueueRetryParams():
                return results.RetriedAnswer(await areas.extraction.worker.retry_parked())
            case protocol.DreamStartParams():
                number = await areas.dreamer.start(
                    params.cwd, force=params.force, dry_run=params.dry_run, scope=whose(params)
                )
                return results.DreamStartAnswer(number)
            case protocol.DreamStopParams():
                return dream_line(await areas.dreamer.stop(params.cwd, whose(params)))
            case protocol.DreamAcceptParams():
                accepted = await areas.dreamer.accept(params.cwd, params.dream, whose(params))
                return dream_line(accepted)
            case protocol.DreamUndoParams():
                return await areas.dreamer.undo(params.cwd, whose(params))
            case protocol.DreamStatusParams():
                return await in_thread(areas.dreamer.status, params.cwd, whose(params))
            case protocol.DreamLogParams():
                return results.DreamLogAnswer(await in_thread(past_dreams, areas.dreamer, params))
            case team_params.TeamRequest():
                return await team.answer(areas.team, params)
            case device_params.DeviceRequest():
                return await devices.answer(areas.devices.service, params)
            case protocol.SubscribeParams():
                raise AssertionError("the server handles subscriptions itself")
            case _:
                assert_never(params)


def _switch(services: Services, params: protocol.SwitchParams) -> results.SwitchAnswer:
    until = None if params.seconds is None else services.now() + params.seconds
    project = services.scopes.switch(params.cwd, enabled=params.enabled, until=until)
    said = None if until is None else iso_time(until)
    log.info("memory-switched", project=project, enabled=params.enabled, until=said)
    return results.SwitchAnswer(params.enabled, said or msgspec.UNSET)


def _notes(areas: Areas, session_id: str) -> NotesAnswer:
    return areas.sessions.notes.serve(areas.transcripts.sessions.full_id(session_id))


def _checkpoint(
    areas: Areas, handlers: Handlers, params: session_params.CheckpointSaveParams
) -> Checkpoint:
    if params.session_id:
        whole = areas.transcripts.sessions.full_id(params.session_id)
        params = msgspec.structs.replace(params, session_id=whole)
    return handlers.checkpoints.save(params)


async def in_thread(work: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """Runs blocking work in a worker thread, off the event loop."""
    return await anyio.to_thread.run_sync(lambda: work(*args, **kwargs))
