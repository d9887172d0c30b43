"""The one place where a request meets the part that answers it."""

import os
import time
from collections.abc import Callable
from typing import Final, ParamSpec, TypeVar, assert_never

import anyio
import anyio.to_thread
import msgspec
import structlog

from memoryd.api.handlers.dreams import DreamMethods
from memoryd.api.handlers.health import Health, Recent
from memoryd.api.handlers.recall import RecallMethods
from memoryd.api.handlers.sessions import SessionMethods
from memoryd.api.handlers.spending import ExtractMethods, QueueStatus, SpendingStatus
from memoryd.api.handlers.transcripts import TranscriptMethods
from memoryd.api.rules import protocol
from memoryd.base.errors import MemorydError
from memoryd.base.timestamps import moment
from memoryd.dreams.status import DreamStatus
from memoryd.memories.catalog import Catalog, Saved
from memoryd.memories.rules.topics import Topic, iso_time
from memoryd.memories.scopes import Scopes
from memoryd.memories.versions import Versions
from memoryd.system.landlock import Fences, fences
from memoryd.transcripts.tail import Lag

WRITERS: Final = 8

log = structlog.get_logger(__name__)

P = ParamSpec("P")
R = TypeVar("R")


class Pong(msgspec.Struct, frozen=True):
    version: str
    pid: int
    uptime_seconds: float


class TranscriptsStatus(msgspec.Struct, frozen=True):
    """`behind` counts bytes on disk that were not read yet."""

    watched: int = 0
    behind: int = 0


class MemoryStatus(msgspec.Struct, frozen=True):
    enabled: bool
    reason: str


class StatusReport(msgspec.Struct, frozen=True, kw_only=True):
    version: str
    pid: int
    started: str
    provider: str
    model: str
    model_host: str
    transcripts: TranscriptsStatus
    queue: QueueStatus
    spending: SpendingStatus
    memory: MemoryStatus
    log: str
    socket: str
    fences: Fences
    recent: list[Recent]
    dreams: list[DreamStatus] = []
    errors: list[str] = []


class VersionLine(msgspec.Struct, frozen=True):
    version: int
    at: str
    cause: str
    session_id: str
    sha256: str
    bytes: int


class HistoryAnswer(msgspec.Struct, frozen=True, omit_defaults=True):
    versions: list[VersionLine]
    content: str | None = None


class Methods:
    def __init__(
        self,
        *,
        version: str,
        scopes: Scopes,
        memories: Catalog,
        versions: Versions,
        transcripts: TranscriptMethods,
        health: Health,
        recall: RecallMethods,
        sessions: SessionMethods,
        extraction: ExtractMethods,
        dreams: DreamMethods,
        log_path: str,
        socket_path: str,
        errors: list[str],
        stop: Callable[[], None],
    ) -> None:
        self._version = version
        self._scopes = scopes
        self._memories = memories
        self._versions = versions
        self._transcripts = transcripts
        self._health = health
        self._recall = recall
        self._sessions = sessions
        self._extraction = extraction
        self._dreams = dreams
        self._log_path = log_path
        self._socket_path = socket_path
        self._errors = errors
        self._stop = stop
        # Writers wait for the disk and for each other; readers must find a thread meanwhile.
        self._writers = anyio.CapacityLimiter(WRITERS)
        self._started = time.time()
        self._started_monotonic = time.monotonic()

    async def answer(  # noqa: C901, PLR0912 - one case for each method there is, and nothing else
        self, params: protocol.Params
    ) -> object:
        match params:
            case protocol.PingParams():
                uptime = time.monotonic() - self._started_monotonic
                return Pong(self._version, os.getpid(), round(uptime, 3))
            case protocol.StatusParams():
                lag = await self._transcripts.lag()
                return await in_thread(self._status, params.cwd, lag)
            case protocol.HealthParams():
                findings = await in_thread(self._health.findings, params.cwd)
                if params.provider:
                    findings.append(await self._health.provider_finding())
                return {"findings": findings}
            case protocol.ShutdownParams():
                self._stop()
                return {"stopping": True}
            case protocol.MemoryListParams():
                found = await in_thread(
                    self._memories.list,
                    params.cwd,
                    scope=params.scope,
                    type_=params.type,
                    retired=params.retired,
                    as_of=moment(params.as_of) if params.as_of else None,
                )
                return {"memories": found}
            case protocol.MemoryGetParams():
                return await in_thread(self._memories.get, params.cwd, params.path)
            case protocol.MemorySaveParams():
                return await self._changing("memory-saved", params.by, lambda: self._save(params))
            case protocol.MemoryForgetParams():
                return await self._changing(
                    "memory-forgotten",
                    params.by,
                    lambda: self._memories.forget(params.cwd, params.path, by=params.by),
                )
            case protocol.MemoryHistoryParams():
                return await in_thread(self._history, params)
            case protocol.MemoryRestoreParams():
                return await self._changing(
                    "memory-restored",
                    "restore",
                    lambda: self._versions.restore(params.cwd, params.path, params.version),
                )
            case (
                protocol.HookParams()
                | protocol.ContextParams()
                | protocol.ContextApproveParams()
                | protocol.SessionNotesParams()
                | protocol.CheckpointSaveParams()
                | protocol.CheckpointListParams()
                | protocol.CheckpointGetParams()
                | protocol.CheckpointRemoveParams()
            ):
                return await self._sessions.answer(params)
            case protocol.RecallParams():
                return await self._recall.answer(params)
            case protocol.SwitchParams():
                project = await in_thread(self._scopes.switch, params.cwd, enabled=params.enabled)
                log.info("memory-switched", project=project, enabled=params.enabled)
                return {"enabled": params.enabled}
            case (
                protocol.TurnEndedParams()
                | protocol.SessionListParams()
                | protocol.SessionShowParams()
                | protocol.ImportStartParams()
                | protocol.ImportStopParams()
            ):
                return await self._transcripts.answer(params)
            case protocol.CostParams() | protocol.QueueRetryParams():
                return await self._extraction.answer(params)
            case (
                protocol.DreamStartParams()
                | protocol.DreamStopParams()
                | protocol.DreamAcceptParams()
                | protocol.DreamUndoParams()
                | protocol.DreamStatusParams()
                | protocol.DreamLogParams()
            ):
                return await self._dreams.answer(params)
            case protocol.SubscribeParams():
                raise AssertionError("a subscription belongs to its connection")
            case _:
                assert_never(params)

    async def _changing(self, event: str, cause: str, change: Callable[[], Saved]) -> Saved:
        """Makes a change, and leaves its one line in the log."""
        began = time.monotonic()
        try:
            async with self._writers:
                saved = await in_thread(change)
        except MemorydError as error:
            ms = round((time.monotonic() - began) * 1000, 1)
            log.warning("memory-unchanged", wanted=event, cause=cause, reason=error.kind, ms=ms)
            raise
        ms = round((time.monotonic() - began) * 1000, 1)
        log.info(event, path=saved.path, cause=cause, version=saved.version, ms=ms)
        return saved

    def _save(self, params: protocol.MemorySaveParams) -> Saved:
        topic = Topic(
            name=params.name,
            description=params.description,
            type=params.type,
            body=params.body,
            created=iso_time(time.time()),
            trust="user-said" if params.by == "user" else "agent-concluded",
        )
        return self._memories.save(
            params.cwd, topic, scope=params.scope, supersedes=params.supersedes, by=params.by
        )

    def _history(self, params: protocol.MemoryHistoryParams) -> HistoryAnswer:
        found = [
            VersionLine(
                one.version, iso_time(one.at), one.cause, one.session_id, one.sha256, one.bytes
            )
            for one in self._versions.history(params.cwd, params.path)
        ]
        text = None
        if params.version is not None:
            text = self._versions.text(params.cwd, params.path, params.version)
        return HistoryAnswer(found, text)

    def _status(self, cwd: str | None, lag: Lag) -> StatusReport:
        switch = self._scopes.project(cwd or "/").switch
        queue, queue_problems = self._extraction.queue(lag.settling)
        return StatusReport(
            version=self._version,
            pid=os.getpid(),
            started=iso_time(self._started),
            provider=self._extraction.provider,
            model=self._extraction.model,
            model_host=self._extraction.model_host,
            transcripts=TranscriptsStatus(lag.watched, lag.behind),
            queue=queue,
            spending=self._extraction.spending(),
            memory=MemoryStatus(switch.enabled, switch.reason),
            log=self._log_path,
            socket=self._socket_path,
            fences=fences(),
            recent=self._health.recent(),
            dreams=self._dreams.statuses(),
            errors=[
                *self._errors,
                *self._transcripts.problems,
                *queue_problems,
                *self._recall.problems,
            ],
        )


async def in_thread(work: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """Runs blocking work where it does not hold up anybody else."""
    return await anyio.to_thread.run_sync(lambda: work(*args, **kwargs))
