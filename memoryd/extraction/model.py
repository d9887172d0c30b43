"""Extraction by a model: a short agent run that sees the new messages and the list of memories.

Rules
- The disk is checked first: we do not pay for an answer that cannot be stored.
- The run ends with the first answer that only writes, all of it with success; nothing to write
  costs one request.
- A run that ended by itself is done. One that ended at a limit (model turns, tool calls, bytes,
  money, or time with something saved) is not: what it did not get to stays queued, and `batching`
  says how the next run gets further. One that was cut off, refused or late has failed. The budget,
  a provider that asks for a pause and an invalid key are not the fault of these turns: all runs
  pause.
- An answer that was cut off may simply have been too long: the next attempt may write a longer one.
- What waits in the inbox of the project is shown too, and judged at no extra request. Only a run
  that is done has judged it.
- In log mode the entries of a finished run are added to today's log, all at once. At a limit
  nothing is added, and the next run has fewer turns; the entries of a turn alone are added as far
  as they are there.
- What holds for the person everywhere goes to the user scope (`scoped_writer`). Its notes are shown
  beside the project's, so that they are changed and not repeated.
- In review mode what the model writes waits in the inbox, and what waits there is not shown.
"""

import secrets
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import datetime
from functools import partial
from pathlib import Path

import anyio.to_thread
import msgspec

from memoryd.agent import loop as agent
from memoryd.agent.loop import AgentJob, AgentReport
from memoryd.agent.rules.limits import RunLimits
from memoryd.agent.toolbox import AgentTools
from memoryd.agent.view import View
from memoryd.agent.writer import MemoryWriter, WriteTarget
from memoryd.base import paths
from memoryd.base.config import ExtractionMode, ProjectMode
from memoryd.base.errors import NotFound
from memoryd.extraction.inbox import Inbox
from memoryd.extraction.log_mode import LogWriter, add_to_log, without_logged_turns
from memoryd.extraction.opening import EarlierAttempt, opening_of
from memoryd.extraction.placing import Placing
from memoryd.extraction.provenance import Provenance, last_prompt_at, written_so_far
from memoryd.extraction.review_mode import ReviewWriter
from memoryd.extraction.rules.batching import Pause
from memoryd.extraction.rules.written_down import WrittenDown
from memoryd.extraction.scoped_saver import named_in
from memoryd.extraction.scoped_writer import ScopedWriter
from memoryd.extraction.task import ExtractionOutcome, ExtractionTask, ExtractionVerdict
from memoryd.llm.anthropic_client import Provider
from memoryd.llm.rules.messages import BudgetReached, ProviderPaused, ProviderRefused
from memoryd.llm.rules.prompts import system_blocks
from memoryd.llm.rules.spending import LONGEST_PAUSE_SECONDS, PROBE_SECONDS
from memoryd.memories.inbox_table import Candidate
from memoryd.memories.records import MemoryDirectory
from memoryd.memories.rules.daily_log import LogEntry
from memoryd.memories.scopes import Project
from memoryd.memories.store import Store
from memoryd.memories.version_table import VersionTable
from memoryd.system.folder import Folder
from memoryd.system.landlock import Fence, run_fenced

JOB = "extraction"
PROBE_BYTES = 64 * 1024
ANSWER_TOKENS = 8192
LONG_ANSWER_TOKENS = 24_000
CUT_REMEMBERED = 1000
WRITING_TOOLS = frozenset({"Write", "Edit"})
LIMIT_ENDINGS = frozenset({"turn-limit", "tool-limit", "byte-limit", "money-limit"})
FAILED_ENDINGS = frozenset({"deadline", "cut", "refused", "provider-refused", "provider-down"})


class ModelExtractor:
    """`closed` are folders that a run may never read, even if the project contains them."""

    def __init__(
        self,
        provider: Provider,
        model: str,
        store: Store,
        versions: VersionTable,
        *,
        inbox: Inbox,
        state_folder: str,
        closed: tuple[str, ...] = (),
        is_private: Callable[[str], bool] = lambda _: False,
        mode_of: Callable[[str], ProjectMode] = lambda _: "topics",
        extraction_mode_of: Callable[[str], ExtractionMode] = lambda _: "auto",
        written_texts: Callable[[Project], Sequence[str]] = lambda _: (),
        written_down: Callable[[Project], WrittenDown] = lambda _: WrittenDown(),
        placing: Placing | None = None,
        limits: RunLimits | None = None,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._provider = provider
        self._model = model
        self._store = store
        self._versions = versions
        self._inbox = inbox
        self._state_folder = state_folder
        self._closed = closed
        self._is_private = is_private
        self._mode_of = mode_of
        self._extraction_mode_of = extraction_mode_of
        self._written_texts = written_texts
        self._written_down = written_down
        self._placing = placing
        self._limits = limits or RunLimits()
        self._cut: set[str] = set()
        self._now = now

    async def extract(self, task: ExtractionTask) -> ExtractionOutcome:
        root = task.project.root
        if self._extraction_mode_of(root) == "review":
            return await self._extract_to_inbox(task)
        if self._mode_of(root) == "log" and not task.agent:
            return await self._extract_to_log(task)
        if not task.agent:
            task = await anyio.to_thread.run_sync(self._with_candidates, task)
        view, provenance = await anyio.to_thread.run_sync(self._prepare, task)
        writer = await anyio.to_thread.run_sync(self._scoped_writer, task, view, provenance)
        tools = AgentTools(view, writer)
        report = await self._run(task, tools)
        files = await anyio.to_thread.run_sync(self._written_files, task)
        if any(outcome.reason == "storage" for outcome in tools.outcomes):
            return _outcome("disk", report, files)
        outcome = outcome_of(report, files, self._now(), has_saved=bool(tools.written))
        if outcome.verdict == "done" and task.candidates:
            await anyio.to_thread.run_sync(self._were_judged, task, files)
        return outcome

    async def _extract_to_inbox(self, task: ExtractionTask) -> ExtractionOutcome:
        view, provenance = await anyio.to_thread.run_sync(self._prepare, task)
        writer = ReviewWriter(self._writer(task, view, provenance), task, self._now())
        report = await self._run(task, AgentTools(view, writer))
        await anyio.to_thread.run_sync(self._offer, task, writer.candidates)
        return outcome_of(report, (), self._now(), has_saved=bool(writer.candidates))

    async def _extract_to_log(self, task: ExtractionTask) -> ExtractionOutcome:
        task = await anyio.to_thread.run_sync(without_logged_turns, task)
        if not task.turns:
            return ExtractionOutcome("done", "already-logged")
        view, provenance = await anyio.to_thread.run_sync(self._prepare, task)
        said_at = datetime.fromtimestamp(last_prompt_at(task, self._now())).astimezone()
        writer = LogWriter(view, provenance, said_at)
        pattern = paths.daily_log_pattern(task.project.memory.path)
        report = await self._run(task, AgentTools(view, writer), log_path=pattern)
        outcome = outcome_of(report, (), self._now())
        if outcome.verdict == "unfinished" and len(task.turns) == 1 and writer.entries:
            outcome = msgspec.structs.replace(outcome, verdict="done")
        if outcome.verdict != "done":
            return outcome
        files = await anyio.to_thread.run_sync(self._add_to_log, task, writer.entries)
        return msgspec.structs.replace(outcome, files=files)

    async def _run(
        self, task: ExtractionTask, tools: AgentTools, log_path: str = ""
    ) -> AgentReport:
        await anyio.to_thread.run_sync(check_disk, task.project.memory)
        job = await anyio.to_thread.run_sync(self._job, task, log_path)
        report = await agent.run(job, self._provider, tools, self._limits)
        self._remember_cut(task, was_cut=report.ended == "cut")
        return report

    def _remember_cut(self, task: ExtractionTask, *, was_cut: bool) -> None:
        ids = {turn.id for turn in task.turns}
        if was_cut and len(self._cut) < CUT_REMEMBERED:
            self._cut |= ids
        else:
            self._cut -= ids

    def _prepare(self, task: ExtractionTask) -> tuple[View, Provenance]:
        """Blocking: it looks at folders, and splits everything the person said into terms."""
        project = task.project
        view = View(
            project.root,
            project.memory,
            others=project.directories[1:],
            closed=self._closed,
            is_private=self._is_private,
        )
        known = self._written_down(project)
        return view, Provenance(self._store, self._versions, task, self._now(), known)

    def _writer(self, task: ExtractionTask, view: View, provenance: Provenance) -> MemoryWriter:
        return MemoryWriter(
            view,
            self._store,
            cause="extraction",
            session_id=task.session_id,
            state_folder=self._state_folder,
            provenance=provenance,
        )

    def _scoped_writer(
        self, task: ExtractionTask, view: View, provenance: Provenance
    ) -> WriteTarget:
        own = self._writer(task, view, provenance)
        project, wider = task.project, self._directories(task)[1:]
        if self._placing is None or not wider:
            return own
        writers = {
            one: self._writer(
                task,
                View(
                    project.root,
                    one,
                    others=(project.memory,),
                    closed=self._closed,
                    is_private=self._is_private,
                ),
                provenance.of_directory(one),
            )
            for one in wider
        }
        return ScopedWriter(project, self._store, self._placing, own, writers)

    def _directories(self, task: ExtractionTask) -> tuple[MemoryDirectory, ...]:
        """Those that a run may write to."""
        if self._placing is None or task.agent:
            return (task.project.memory,)
        return self._placing.directories(task.project)

    def _with_candidates(self, task: ExtractionTask) -> ExtractionTask:
        return msgspec.structs.replace(task, candidates=self._inbox.to_judge(task.project))

    def _were_judged(self, task: ExtractionTask, files: Sequence[str]) -> None:
        saved: list[str] = []
        for directory in self._directories(task):
            for file in files:
                name = file.removeprefix(f"{directory.scope}/")
                with suppress(NotFound):  # removed since it was written, or of the other scope
                    saved.append(self._store.read(directory, name).topic.body)
        self._inbox.were_judged(task.candidates, saved)

    def _offer(self, task: ExtractionTask, candidates: Sequence[Candidate]) -> None:
        for one in candidates:
            self._inbox.offer(task.project, one)

    def _add_to_log(self, task: ExtractionTask, entries: Sequence[LogEntry]) -> tuple[str, ...]:
        memory = task.project.memory
        with Folder.open(memory.path, beneath=memory.beneath, create=True) as folder:
            add = partial(add_to_log, task, entries, self._now())
            return run_fenced(Fence(writable=(folder.handle,)), add)

    def _written_files(self, task: ExtractionTask) -> tuple[str, ...]:
        existing = {
            named_in(directory, one.file)
            for directory in self._directories(task)
            for one in self._store.scan(directory)
        }
        return tuple(file for file in self._saved_files(task) if file in existing)

    def _job(self, task: ExtractionTask, log_path: str) -> AgentJob:
        project, attempt = task.project, EarlierAttempt()
        if task.is_repeated:
            offered = self._inbox.offered_in(project, task.session_id, task.began)
            attempt = EarlierAttempt(self._saved_files(task), offered)
        notes = [one for place in self._directories(task) for one in self._store.scan(place)]
        return AgentJob(
            JOB,
            project.root,
            self._model,
            system_blocks(),
            opening_of(
                task,
                notes,
                attempt,
                self._now(),
                log_path=log_path,
                written_texts=self._written_texts(project),
                wider=() if log_path else self._directories(task)[1:],
            ),
            max_tokens=LONG_ANSWER_TOKENS if self._was_cut(task) else ANSWER_TOKENS,
            finishing_tools=WRITING_TOOLS,
        )

    def _was_cut(self, task: ExtractionTask) -> bool:
        return any(turn.id in self._cut for turn in task.turns)

    def _saved_files(self, task: ExtractionTask) -> list[str]:
        """What this task has saved: by its versions, or by source if it was killed before those."""
        files: list[str] = []
        for place in self._directories(task):
            found = list(written_so_far(self._versions, task, place))
            if task.is_repeated:
                found += [
                    one.file
                    for one in self._store.scan(place)
                    if one.topic.source == task.session_id and one.modified >= task.began
                ]
            files += [named_in(place, file) for file in found]
        return list(dict.fromkeys(files))


def outcome_of(
    report: AgentReport, files: tuple[str, ...], now: float, *, has_saved: bool = False
) -> ExtractionOutcome:
    """What the end of a run means for its turns and for all others."""
    match report.error:
        case BudgetReached() as error:
            return _outcome("paused", report, files, Pause(error.reason, now, error.until))
        case ProviderPaused() as error:
            seconds = min(error.pause_seconds, LONGEST_PAUSE_SECONDS)
            return _outcome("paused", report, files, Pause(error.kind, now, now + seconds))
        case ProviderRefused(whole_account=True) as error:
            return _outcome("paused", report, files, Pause(error.kind, now, now + PROBE_SECONDS))
    verdict: ExtractionVerdict = "done"
    if report.ended in LIMIT_ENDINGS or (report.ended == "deadline" and has_saved):
        verdict = "unfinished"
    elif report.ended in FAILED_ENDINGS:
        verdict = "failed"
    return msgspec.structs.replace(_outcome(verdict, report, files), has_saved=has_saved)


def _outcome(
    verdict: ExtractionVerdict,
    report: AgentReport,
    files: tuple[str, ...],
    pause: Pause | None = None,
) -> ExtractionOutcome:
    return ExtractionOutcome(
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


def check_disk(directory: MemoryDirectory) -> None:
    """Raises StorageError if a memory cannot be written there now."""
    place = Path(directory.path)
    while not place.is_dir():
        place = place.parent
    probe = f".memoryd-{secrets.token_hex(8)}.tmp"
    with Folder.open(str(place)) as folder:
        version = folder.write(probe, bytes(PROBE_BYTES), over=None)
        folder.remove(probe, over=version)
