"""Extraction by a model: an agent of few turns that sees the new messages and the list of notes.

Rules
- Before anything is paid for, the disk is tried: an answer that cannot be stored is not asked for.
- A run that ended by itself or at a limit is done; what it had no room for is not worth a second
  bill. One that was cut, refused or late has failed. Money, a provider that asks for a pause and a
  key that does not work are no fault of these turns: all runs pause.
"""

import secrets
import time
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path

import anyio.to_thread

from memoryd import topics
from memoryd.agent import loop as agent
from memoryd.agent.files import View
from memoryd.agent.loop import AgentJob, AgentReport
from memoryd.agent.tools import AgentTools
from memoryd.agent.writing import Writer
from memoryd.coalesce import Pause
from memoryd.dialogue import BudgetReached, ProviderPaused, ProviderRefused
from memoryd.extract.messages import messages
from memoryd.extract.provenance import Provenance, left_behind
from memoryd.extract.task import Outcome, Task, Verdict
from memoryd.files import Folder
from memoryd.history import History
from memoryd.llm import Provider
from memoryd.masking import mask
from memoryd.meter import RunLimits
from memoryd.prompts import Place, extraction_opening, quoted, system_blocks
from memoryd.spending import LONGEST_PAUSE_SECONDS, PROBE_SECONDS
from memoryd.store import Store
from memoryd.stored import MemoryDirectory
from memoryd.topics import MANIFEST_LIMIT

JOB = "extraction"
PROBE_BYTES = 64 * 1024


class ModelExtractor:
    """`closed` are folders that a run may never look into, even in a project above them."""

    def __init__(
        self,
        provider: Provider,
        model: str,
        store: Store,
        history: History,
        *,
        state_folder: str,
        closed: tuple[str, ...] = (),
        now: Callable[[], float] = time.time,
    ) -> None:
        self._provider = provider
        self._model = model
        self._store = store
        self._history = history
        self._state_folder = state_folder
        self._closed = closed
        self._now = now

    async def extract(self, task: Task) -> Outcome:
        await anyio.to_thread.run_sync(try_disk, task.project.memory)
        tools = await anyio.to_thread.run_sync(self._tools, task)
        job = await anyio.to_thread.run_sync(self._job, task)
        report = await agent.run(job, self._provider, tools, RunLimits())
        files = await anyio.to_thread.run_sync(self._written, task)
        if any(outcome.reason == "storage" for outcome in tools.outcomes):
            return _outcome("disk", report, files)
        return verdict_on(report, files, self._now())

    def _tools(self, task: Task) -> AgentTools:
        project = task.project
        view = View(
            project.root, project.memory, others=(project.user, project.team), closed=self._closed
        )
        writer = Writer(
            view,
            self._store,
            cause="extraction",
            session_id=task.session_id,
            state_folder=self._state_folder,
            notary=Provenance(self._store, self._history, task, self._now()),
        )
        return AgentTools(view, writer)

    def _written(self, task: Task) -> tuple[str, ...]:
        """What this task has saved, an attempt that broke off included."""
        there = {one.file for one in self._store.scan(task.project.memory)}
        return tuple(file for file in left_behind(self._history, task) if file in there)

    def _job(self, task: Task) -> AgentJob:
        project = task.project
        notes = [one for one in self._store.scan(project.memory) if not one.retired]
        opening = extraction_opening(
            Place(project.memory.path, project.root),
            [
                mask(topics.manifest_line(one.file, one.topic, one.modified))
                for one in notes[:MANIFEST_LIMIT]
            ],
            [*self._context(task), *(text for turn in task.turns for text in messages(turn))],
            datetime.fromtimestamp(self._now()).astimezone().date(),
        )
        return AgentJob(JOB, project.root, self._model, system_blocks(), opening)

    def _context(self, task: Task) -> Iterator[str]:
        """What stands before the messages, in lines of our own."""
        saved = left_behind(self._history, task) if task.is_repeated else ()
        if saved:
            yield (
                "@memoryd An attempt at these messages broke off after it had saved"
                f" {', '.join(saved)}. Do not save the same again."
            )
        if task.earlier:
            yield "@memoryd Before these messages, for context only:"
            yield quoted("assistant", mask(task.earlier))
            yield "@memoryd The new messages:"


def verdict_on(report: AgentReport, files: tuple[str, ...], now: float) -> Outcome:
    """What a run's ending means for its turns, and for all others."""
    match report.error:
        case BudgetReached() as error:
            return _outcome("paused", report, files, Pause(error.reason, now, error.until))
        case ProviderPaused() as error:
            seconds = min(error.pause_seconds, LONGEST_PAUSE_SECONDS)
            return _outcome("paused", report, files, Pause(error.kind, now, now + seconds))
        case ProviderRefused(whole_account=True) as error:
            return _outcome("paused", report, files, Pause(error.kind, now, now + PROBE_SECONDS))
    failed = report.ended in {"deadline", "cut", "refused", "provider-refused", "provider-down"}
    return _outcome("failed" if failed else "done", report, files)


def _outcome(
    verdict: Verdict, report: AgentReport, files: tuple[str, ...], pause: Pause | None = None
) -> Outcome:
    return Outcome(
        verdict=verdict,
        reason=report.ended,
        words=report.error.message if report.error else "",
        hint=report.error.hint if report.error else "",
        pause=pause,
        files=files,
        model_turns=report.model_turns,
        usage=report.usage,
        usd=report.usd,
    )


def try_disk(directory: MemoryDirectory) -> None:
    """StorageError when a memory could not be written there now."""
    place = Path(directory.path)
    while not place.is_dir():
        place = place.parent
    probe = f".memoryd-{secrets.token_hex(8)}.tmp"
    with Folder.open(str(place)) as folder:
        version = folder.write(probe, bytes(PROBE_BYTES), over=None)
        folder.remove(probe, over=version)
