"""The worker between finished turns and saved memories.

Every look starts from the table of turns, and `batching` decides what to run; an event only makes
the worker look sooner. A turn leaves the table only after its memories are on disk. So whatever
ends a run (a crash, a stop, a full disk, a spent budget), its turns are found again.
"""

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Final

import anyio
import anyio.to_thread
import msgspec
import structlog
from anyio.abc import TaskGroup

from memoryd.base.config import ExtractionMode
from memoryd.base.errors import MemorydError, StorageError
from memoryd.base.events import ExtractionFinished
from memoryd.extraction.attribution import Attribution
from memoryd.extraction.pastes import PasteHistory
from memoryd.extraction.rules import batching
from memoryd.extraction.rules.batching import Batch, Decision, Limits, Pause, QueueState
from memoryd.extraction.rules.messages import size_of, skip_reason
from memoryd.extraction.rules.whose_words import as_said
from memoryd.extraction.task import ExtractionOutcome, ExtractionTask, Extractor
from memoryd.memories.agents import Agents
from memoryd.memories.scopes import Project, Scopes
from memoryd.system.notices import Notices
from memoryd.transcripts.rules.turns import Turn, WaitingTurn
from memoryd.transcripts.turn_table import TurnTable

# A clock may jump and a machine may sleep, so no wait is longer, and each ends with a look.
LONGEST_WAIT_SECONDS: Final = 60.0
DISK_PAUSE_SECONDS: Final = 15.0
EVERYWHERE: Final = ""
LOOK_PAUSE_FACTOR: Final = 10  # times as long as the look took
# The last lines of a session are read some time after its end was reported.
LAST_LINES_SECONDS: Final = 5.0
CLOSED_KEPT: Final = 1000
# How long a project's batches run one after the other before the queue is looked at again.
ROW_SECONDS: Final = 0.3

log = structlog.get_logger(__name__)


class QueueReport(msgspec.Struct, frozen=True):
    """`waiting` turns only wait for their run.

    `held` ones wait for another turn, or for a pause in the talk.
    """

    waiting: int
    running: int
    held: int
    parked: int
    parked_reason: str
    problems: tuple[str, ...] = ()


class ExtractionWorker:
    def __init__(
        self,
        turns: TurnTable,
        scopes: Scopes,
        attribution: Attribution,
        extractor: Extractor,
        limits: Limits,
        *,
        mode_of: Callable[[str], ExtractionMode] = lambda _: "auto",
        pastes: PasteHistory,
        counts_scripts: bool = False,
        open_sessions: Callable[[], frozenset[str]] = frozenset,
        agents: Agents | None = None,
        rest: Callable[[], Pause | None] = lambda: None,
        off_for: Callable[[str], str] = lambda _: "",
        notices: Notices,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._turns = turns
        self._scopes = scopes
        self._attribution = attribution
        self._extractor = extractor
        self._limits = limits
        self._mode_of = mode_of
        self._pastes = pastes
        self._counts_scripts = counts_scripts
        self._open_sessions = open_sessions
        self._agents = agents
        self._rest = rest
        self._off_for = off_for
        self._notices = notices
        self._now = now
        self._began = now()
        self._running: dict[str, Batch] = {}
        self._project_pauses: dict[str, Pause] = {}
        self._pause: Pause | None = None
        self._problems: dict[str, str] = {}
        self._closed_at: dict[str, float] = {}
        self._woken = anyio.Event()

    def wake(self) -> None:
        """Look now; call it on the event loop."""
        self._woken.set()

    def session_compacted(self, session_id: str) -> None:
        """What was heard in the session so far need not wait for a pause in the talk."""
        self._close(session_id, self._now())

    def session_ended(self, session_id: str) -> None:
        """The same, also for the last lines, which come after the news of the end."""
        self._close(session_id, self._now() + LAST_LINES_SECONDS)

    def _close(self, session_id: str, at: float) -> None:
        self._closed_at.pop(session_id, None)
        self._closed_at[session_id] = at
        while len(self._closed_at) > CLOSED_KEPT:
            del self._closed_at[next(iter(self._closed_at))]
        self.wake()

    async def serve(self) -> None:
        """Runs until cancelled, which loses nothing."""
        async with anyio.create_task_group() as runs:
            while True:
                self._woken = anyio.Event()
                began = time.monotonic()
                wake_at = await self._look(runs)
                # A long table is not read again for every single turn that is added to it.
                await anyio.sleep(min(LOOK_PAUSE_FACTOR * (time.monotonic() - began), 1.0))
                seconds = LONGEST_WAIT_SECONDS if wake_at is None else wake_at - self._now()
                with anyio.move_on_after(min(max(seconds, 0.0), LONGEST_WAIT_SECONDS)):
                    await self._woken.wait()

    async def retry_parked(self) -> int:
        """Retries every parked turn from the start; returns how many there are."""
        count = await anyio.to_thread.run_sync(self._turns.retry_parked)
        log.info("turns-retried", turns=count)
        self.wake()
        return count

    @property
    def pause(self) -> Pause | None:
        """Why and until when nothing runs; None if runs may start."""
        pause = self._pause
        return None if pause is None or pause.is_over(self._now()) else pause

    def report(self) -> QueueReport:
        """The state of the queue; blocking, safe from any thread."""
        running = list(self._running.values())
        waiting = self._waiting_except(running)
        due, parked = (
            batching.due_count(waiting, self._state(), self._limits),
            self._turns.parked(),
        )
        return QueueReport(
            waiting=due,
            running=len(running),
            held=len(waiting) - due,
            parked=len(parked),
            parked_reason=parked[0].reason if parked else "",
            problems=tuple(self._problems.values()),
        )

    def _waiting_except(self, running: Sequence[Batch]) -> list[WaitingTurn]:
        busy = {name for batch in running for name in batch.turn_ids}
        return [turn for turn in self._turns.waiting() if turn.turn_id not in busy]

    async def _look(self, runs: TaskGroup) -> float | None:
        """Starts what is due; returns when to look again if nothing happens until then."""
        try:
            decision = await anyio.to_thread.run_sync(self._decide)
        except StorageError as error:
            log.warning("queue-unreadable", error=error.message)
            return self._now() + DISK_PAUSE_SECONDS
        for batch in decision.batches:
            self._running[batch.project] = batch
            runs.start_soon(self._run, batch, decision.following.get(batch.project, ()))
        return decision.wake_at

    def _decide(self) -> Decision:
        """Blocking: an import may leave thousands of turns waiting.

        Runs start only after this returns. One that ends meanwhile wakes the next look.
        """
        waiting = self._waiting_except(list(self._running.values()))
        parked = [turn.turn_id for turn in waiting if batching.must_be_parked(turn)]
        if parked:
            log.error("turns-parked", reason="daemon-crashed", turns=parked)
            self._turns.park(parked, "memoryd crashed repeatedly while it was extracted")
        left = [turn for turn in waiting if not batching.must_be_parked(turn)]
        rest = self._rest() if left else None
        return batching.decide(left, self._state(rest), self._limits)

    def _state(self, rest: Pause | None = None) -> QueueState:
        return QueueState(
            self._now(),
            self._began,
            frozenset(self._running),
            dict(self._project_pauses),
            rest or self._pause,
            self._open_sessions(),
            dict(self._closed_at),
        )

    async def _run(self, batch: Batch, following: Sequence[Batch]) -> None:
        until = time.monotonic() + ROW_SECONDS
        try:
            for one in (batch, *following):
                self._running[batch.project] = one
                if not await self._run_one(one) or time.monotonic() > until:
                    break
        finally:
            del self._running[batch.project]
            self.wake()

    async def _run_one(self, batch: Batch) -> bool:
        """Whether all its turns are done."""
        try:
            return await self._work(batch)
        except StorageError as error:
            self._pause_for_disk(batch.project, error.message)
        except Exception:
            log.exception("extraction-crashed", project=batch.project)
            with suppress(StorageError):
                await anyio.to_thread.run_sync(self._fail, batch, "internal error; see the log")
        return False

    async def _work(self, batch: Batch) -> bool:
        batch, task, is_whole = await anyio.to_thread.run_sync(self._begun, batch)
        if task is None:
            return is_whole
        started = time.monotonic()
        outcome = await self._extract(batch, task)
        # A stop that comes now must not make a finished turn look unfinished.
        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(self._conclude, batch, task, outcome)
        self._announce(task, outcome, round((time.monotonic() - started) * 1000))
        return is_whole and outcome.verdict == "done"

    def _begun(self, batch: Batch) -> tuple[Batch, ExtractionTask | None, bool]:
        """What of the batch fits into one run, its task, and whether that is all of it.

        No task if nothing in it is worth extracting.
        """
        project = self._project_of(batch)
        turns, is_whole = self._worth_extracting(batch, project)
        if not turns:
            return batch, None, is_whole
        taken = {turn.id for turn in turns}
        held = tuple(turn for turn in batch.turns if turn.turn_id in taken)
        batch = Batch(batch.project, batch.session_id, held)
        return batch, self._begin(batch, project, turns), is_whole

    def _project_of(self, batch: Batch) -> Project:
        """The project; where a sub-agent did the work, with that agent's memory as its own."""
        project = self._scopes.project(batch.project)
        first = next(filter(None, map(self._turns.turn, batch.turn_ids)), None)
        if first is None or not first.agent or self._agents is None:
            return project
        own = self._agents.of(project, first.agent)
        return msgspec.structs.replace(project, memory=own.own, agent=own.in_order)

    def _worth_extracting(self, batch: Batch, project: Project) -> tuple[list[Turn], bool]:
        """The turns that fit into one run, and whether these are all.

        Those not worth extracting leave the table.
        """
        kept: list[Turn] = []
        taken_chars, most_turns = 0, batching.most_turns(batch, self._limits)
        # One by one: an import may bring thousands, and only a few fit.
        for turn in map(self._turns.turn, batch.turn_ids):
            if turn is None:
                continue
            if reason := self._skip_reason(project, turn):
                self._turns.skip(turn, reason, self._now())
                log.info("extraction-skipped", project=project.root, turn=turn.id, reason=reason)
                continue
            taken_chars += size_of(turn)
            if kept and (taken_chars > self._limits.batch_chars or len(kept) >= most_turns):
                return kept, False
            pasted = self._pastes.of(turn.session_id, turn.cwd)
            kept.append(as_said(turn, pasted, counts_scripts=self._counts_scripts))
        return kept, True

    def _skip_reason(self, project: Project, turn: Turn) -> str:
        if not project.switch.enabled:
            return f"memory off: {project.switch.reason}"
        if off := self._off_for(turn.session_id):
            return f"memory off: {off}"
        mode = self._mode_of(project.root)
        if mode == "off":
            return "extraction off"
        if mode == "review" and turn.agent:  # the inbox is for what a person said
            return "agent, and only a person's words are reviewed"
        reason = skip_reason(turn, counts_scripts=self._counts_scripts)
        if reason:
            self._attribution.attribute(project, turn)
        return reason

    def _begin(self, batch: Batch, project: Project, turns: list[Turn]) -> ExtractionTask:
        now = self._now()
        first_began = self._turns.begin(batch.turn_ids, now)
        if first_began is None:  # later, a change may be another's
            for turn in turns:
                self._attribution.attribute(project, turn)
        return ExtractionTask(
            project=project,
            session_id=batch.session_id,
            turns=tuple(turns),
            began=now if first_began is None else first_began,
            is_repeated=first_began is not None,
            before=self._turns.last_words(batch.session_id),
        )

    async def _extract(self, batch: Batch, task: ExtractionTask) -> ExtractionOutcome:
        try:
            return await self._extractor.extract(task)
        except StorageError as error:
            return ExtractionOutcome("disk", "disk", error.message)
        except MemorydError as error:
            return ExtractionOutcome("failed", error.kind, error.message)
        except anyio.get_cancelled_exc_class():
            with anyio.CancelScope(shield=True), suppress(StorageError):
                await anyio.to_thread.run_sync(self._turns.let_go, batch.turn_ids)
            raise

    def _conclude(self, batch: Batch, task: ExtractionTask, outcome: ExtractionOutcome) -> None:
        match outcome.verdict:
            case "done":
                self._turns.finish(task.turns, outcome.reason, self._now())
                self._problems.pop(batch.project, None)
                self._problems.pop(EVERYWHERE, None)
                self._pause = None
            case "failed":
                self._fail(batch, outcome.words or outcome.reason)
            case "unfinished":
                self._leave_unfinished(batch, outcome)
            case "paused":
                self._pause = outcome.pause
                self._problems[EVERYWHERE] = f"{outcome.words}; {outcome.hint}"
                self._turns.let_go(batch.turn_ids)
            case "disk":
                self._pause_for_disk(batch.project, outcome.words)
                self._turns.let_go(batch.turn_ids)

    def _fail(self, batch: Batch, reason: str) -> None:
        now = self._now()
        setback = batching.after_failure(batch, now)
        self._project_pauses[batch.project] = setback.pause
        self._turns.fail(batch.turn_ids, setback.parked, reason, now)
        if setback.parked:
            log.error("turns-parked", reason=reason, turns=setback.parked)

    def _leave_unfinished(self, batch: Batch, outcome: ExtractionOutcome) -> None:
        left = batching.after_limit(batch, has_saved=outcome.has_saved)
        runs = max(left.unfinished.values())
        reason = f"not finished after {runs} runs; the last one ended at its {outcome.reason}"
        self._turns.leave_unfinished(left.unfinished, left.parked, reason)
        log.warning(
            "extraction-unfinished",
            project=batch.project,
            limit=outcome.reason,
            turns=len(batch.turns),
            has_saved=outcome.has_saved,
        )
        if left.parked:
            log.error("turns-parked", reason=reason, turns=left.parked)

    def _pause_for_disk(self, project: str, words: str) -> None:
        now = self._now()
        self._project_pauses[project] = Pause("disk", now, now + DISK_PAUSE_SECONDS)
        self._problems[project] = f"degraded: {words}" if words else "degraded: storage error"
        log.warning("extraction-waits-for-disk", project=project, error=words)

    def _announce(self, task: ExtractionTask, outcome: ExtractionOutcome, ms: int) -> None:
        usage = outcome.usage
        self._notices.announce(
            ExtractionFinished(
                project=task.project.root,
                session_id=task.session_id,
                verdict=outcome.verdict,
                reason=outcome.reason,
                files=list(outcome.files),
                tokens=usage.prompt_tokens + usage.output_tokens,
                usd=round(outcome.usd, 6),
                ms=ms,
                turns=len(task.turns),
                messages=sum(len(turn.parts) for turn in task.turns),
                model_turns=outcome.model_turns,
                input_tokens=usage.prompt_tokens,
                output_tokens=usage.output_tokens,
                cached_tokens=usage.cache_read_tokens,
                cache_hit_percent=round(usage.cache_hit_percent, 1),
            )
        )
