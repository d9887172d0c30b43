"""One dream, from the lock to the last word in the book.

The order is what makes it safe against a kill at any point:

1. it is entered in the book, with the lock file as it is; then the lock is taken
2. the copy is made, and everything happens there
3. the result is judged; one that loses too much is kept aside and not applied
4. what will change is entered in the book; then it is applied
5. done: the book first, then the lock. Came to nothing: the lock first, then the book. So a lock
   that says "dreamt just now" never stands without a dream that is done.
"""

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final

import anyio
import anyio.to_thread
import msgspec
import structlog

from memoryd.base import paths
from memoryd.base.errors import MemorydError, Unavailable
from memoryd.base.events import DreamFinished, DreamStarted, Event
from memoryd.dreams.apply import Applier, LostLock, changed_files, undoable
from memoryd.dreams.distil_logs import distil
from memoryd.dreams.dream_table import DreamCause, DreamState, DreamTable, Summary
from memoryd.dreams.lock import Before, ConsolidateLock, look
from memoryd.dreams.recent_sessions import ProjectSessions
from memoryd.dreams.rules import plan as dream_plan
from memoryd.dreams.rules import review as dream_review
from memoryd.dreams.rules.similarity import Similarity
from memoryd.dreams.steps import (
    DreamModel,
    DreamProgress,
    believed_notes,
    dream_by_rules,
    dream_with_model,
    said_at_the_end,
    settle_dates,
    tidy_up,
)
from memoryd.dreams.target import DreamTarget
from memoryd.dreams.working_copy import Files, WorkingCopy, remove_stage
from memoryd.memories import daily_logs
from memoryd.memories.rules.topics import INDEX_FILE, iso_time
from memoryd.memories.store import Store
from memoryd.memories.version_table import VersionTable
from memoryd.text.masking.mask import presentable

REFUSED_COPIES_KEPT: Final = 5
LOGGED_FILES: Final = 100
STOPPED: Final = "it was stopped; everything is as it was before"

log = structlog.get_logger(__name__)


class Means(msgspec.Struct, frozen=True, kw_only=True):
    """All that dreams are made with; `tell` may be called from any thread."""

    store: Store
    history: VersionTable
    book: DreamTable
    sessions: ProjectSessions
    dreams_folder: str
    max_loss_percent: float
    now: Callable[[], float]
    tell: Callable[[Event], None]
    mind: DreamModel | None = None
    similarity: Callable[[], Similarity | None] = lambda: None
    closed: tuple[str, ...] = ()
    skip_index: bool = False

    @property
    def applier(self) -> Applier:
        return Applier(self.store, self.book, self.now)


class DreamRun:
    def __init__(self, means: Means, ground: DreamTarget, cause: DreamCause) -> None:
        self.ground = ground
        self.cause: DreamCause = cause
        self.id = 0
        self.state: DreamState = "running"
        self.progress: DreamProgress | None = None
        self._scope = anyio.CancelScope()
        self.ended = anyio.Event()
        self.since = 0.0
        self._means = means
        self._lock: ConsolidateLock | None = None
        self._stage: WorkingCopy | None = None
        self._summary = Summary(how="model" if means.mind else "embedded")

    def begin(self, may_go_on: Callable[[Before], bool], since: float) -> bool:
        """Enters the dream and takes the lock; False when the lock's own time forbids it now.

        Blocking. `since` is when the last dream was. Unavailable when somebody has the lock.
        """
        self.since = since
        means, ground = self._means, self.ground
        path = paths.consolidate_lock(ground.directory.path)
        self.id = means.book.begin(
            ground.directory, ground.project, cause=self.cause, at=means.now(), lock=look(path)
        )
        self.progress = DreamProgress(self.id, ground, means.tell)
        if self.cause == "dry-run":
            return True
        self._lock = ConsolidateLock.take(path, means.now())
        if self._lock is None:
            means.book.drop(self.id)
            raise Unavailable(
                "another dream is running over these memories",
                hint="it may be the agent's own; try again in a while",
            )
        try:
            means.book.hold(self.id, self._lock.before)
            if may_go_on(self._lock.before):
                return True
        except BaseException:
            self._let_go()
            raise
        self._let_go()
        means.book.drop(self.id)
        return False

    def stop(self) -> None:
        """A person wants no more of it; what is being applied already is finished."""
        self._scope.cancel()

    async def run(self) -> None:
        """Dreams to the end, whatever that is; only a cancellation is raised."""
        try:
            with self._scope:
                await self._dream()
                return
            await self._give_up("stopped", STOPPED)
        except MemorydError as error:
            await self._give_up("failed", error.message)
        except Exception:
            log.exception("dream-broke", dream=self.id)
            await self._give_up("failed", "memoryd made a mistake; memoryd logs shows it")
        except BaseException:
            await self._give_up("failed", "the daemon ended; everything is as it was before")
            raise
        finally:
            self.ended.set()

    async def _dream(self) -> None:
        stage = self._stage = await anyio.to_thread.run_sync(self._lay_out)
        await self._work(stage)
        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(self._conclude, stage)

    def _lay_out(self) -> WorkingCopy:
        means, progress = self._means, self._running
        stage = WorkingCopy.lay_out(
            f"{means.dreams_folder}/{self.id}",
            means.store,
            self.ground.directory,
            now=means.now,
            tell=progress.wrote,
            skip_index=means.skip_index,
        )
        memories = len(stage.before.keys() - {INDEX_FILE})
        self._add(memories=memories, daily_logs=stage.daily_logs)
        self._tell_start()
        return stage

    def _tell_start(self) -> None:
        summary = self._summary
        told = {"how": summary.how, "cause": self.cause, "memories": summary.memories}
        log.info("dream-started", dream=self.id, **self._whose(), **told)
        self._means.tell(
            DreamStarted(
                project=self.ground.project,
                dream=self.id,
                scope=self.ground.directory.scope,
                how=summary.how,
                cause=self.cause,
                memories=summary.memories,
            )
        )

    async def _work(self, stage: WorkingCopy) -> None:
        means, progress, source = self._means, self._running, self.ground.directory
        await anyio.to_thread.run_sync(self._distil, stage)
        if means.mind is None:
            await anyio.to_thread.run_sync(
                lambda: dream_by_rules(stage, source, means.history, self._similarity(), progress)
            )
            return
        await anyio.to_thread.run_sync(settle_dates, stage, source, means.history)
        sessions, folders = await anyio.to_thread.run_sync(
            lambda: (
                means.sessions.touched(self.ground.project, self.since, means.now()),
                means.sessions.folders(self.ground.project),
            )
        )
        report = await dream_with_model(
            means.mind,
            stage,
            self.ground,
            progress,
            transcripts=folders,
            sessions=sessions,
            closed=means.closed,
            is_still_ours=self._is_ours,
            now=means.now(),
        )
        self._add(said=said_at_the_end(report))
        await anyio.to_thread.run_sync(tidy_up, stage, progress)

    def _distil(self, stage: WorkingCopy) -> None:
        directory = self.ground.directory
        marks = self._means.book.logs_read(directory.path)
        unread = daily_logs.unread(directory, marks, self.since)
        distil(stage, unread.entries)
        self._add(logs_read=unread.marks)

    def _similarity(self) -> Similarity | None:
        try:
            return self._means.similarity()
        except Unavailable as error:
            log.warning("dream-without-vectors", dream=self.id, error=error.message)
            return None

    def _conclude(self, stage: WorkingCopy) -> None:
        """Judges the copy, and applies it or not."""
        means, today = self._means, iso_time(self._means.now())[:10]
        after = stage.after()
        before_texts, after_texts = _texts(stage.before), _texts(after)
        loss = dream_review.loss(before_texts, after_texts, today)
        self._add(
            files=dream_review.diffs(before_texts, after_texts, today),
            flags=dream_plan.flags(believed_notes(stage), after_texts.get(INDEX_FILE, "")),
            lost=loss.lost,
        )
        if self.cause == "dry-run":
            self._end("previewed")
        elif loss.is_too_much(means.max_loss_percent):
            self._keep_for_review(stage, after)
            self._end(
                "refused",
                f"it would lose {len(loss.lost)} of {loss.memories} memories,"
                f" more than {means.max_loss_percent:g} percent; nothing was changed",
            )
        else:
            self._apply(stage.before, after)

    def _keep_for_review(self, stage: WorkingCopy, after: Files) -> None:
        """The copy stays, and the book knows what it was made from."""
        self._let_go()
        self._add(kept_at=stage.directory.path)
        files = {one.file for one in self._summary.files} | {*changed_files(stage.before, after)}
        rows = [undoable(file, stage.before, after) for file in sorted(files)]
        self._means.book.note_files(self.id, rows)

    def _apply(self, before: Files, after: Files) -> None:
        applier, directory = self._means.applier, self.ground.directory
        if not self._is_ours():
            raise LostLock
        left = applier.apply(self.id, directory, before, after, self._is_ours)
        self._add(left_alone=left)
        try:
            self._end("done")
        except MemorydError:
            applier.take_back(self.id, directory)
            self._means.book.note_taken_back(self.id)
            raise
        self._let_go(dreamt_at=self._means.now())

    def _is_ours(self) -> bool:
        """A dry run changes nothing and needs no lock."""
        return self.cause == "dry-run" if self._lock is None else self._lock.is_ours()

    def _let_go(self, dreamt_at: float | None = None) -> None:
        """Of the lock, whose time then says when the dream was, or what it said before."""
        lock, self._lock = self._lock, None
        if lock is None:
            return
        with suppress(OSError):
            if dreamt_at is None:
                lock.roll_back()
            else:
                lock.finish(dreamt_at)

    async def _give_up(self, state: DreamState, reason: str) -> None:
        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(self._roll_back, state, reason)

    def _roll_back(self, state: DreamState, reason: str) -> None:
        self._let_go()
        try:
            self._end(state, reason)
        except MemorydError as error:  # the next dream, or the next start, will end this one
            log.warning("dream-not-booked", dream=self.id, error=error.message)
            self._tell_end(state, reason)

    def _end(self, state: DreamState, reason: str = "") -> None:
        means, progress = self._means, self._running
        self._add(
            model_turns=progress.model_turns,
            input_tokens=progress.usage.prompt_tokens,
            output_tokens=progress.usage.output_tokens,
            usd=progress.usd,
            seconds=progress.seconds,
        )
        means.book.end(self.id, state, at=means.now(), reason=reason, summary=self._summary)
        if self._stage is not None:
            self._stage.close(keep=state == "refused")
        sweep_copies(means)
        self._tell_end(state, reason)

    def _tell_end(self, state: DreamState, reason: str) -> None:
        summary = self._summary
        deeds = [one.deed for one in summary.files]
        finished = DreamFinished(
            project=self.ground.project,
            dream=self.id,
            scope=self.ground.directory.scope,
            state=state,
            reason=reason,
            new=deeds.count("new"),
            changed=deeds.count("changed"),
            retired=deeds.count("retired"),
            removed=deeds.count("removed"),
            left_alone=len(summary.left_alone),
            flagged=len(summary.flags),
            model_turns=summary.model_turns,
            tokens=summary.input_tokens + summary.output_tokens,
            usd=summary.usd,
            seconds=summary.seconds,
        )
        self.state = state
        if state == "done":
            self._log_files()
        counts = msgspec.structs.asdict(finished) | {"usd": round(summary.usd, 6)}
        for name in ("dream", "project", "scope"):
            del counts[name]
        said = {name: value for name, value in counts.items() if value or name == "state"}
        log.info("dream-finished", dream=self.id, **self._whose(), **said)
        self._means.tell(finished)

    def _log_files(self) -> None:
        """What became of each file; which were only touched in the copy, nobody needs to know."""
        files = [one for one in self._summary.files if one.file not in self._summary.left_alone]
        for one in files[:LOGGED_FILES]:
            lines = {"added": one.added, "removed": one.removed} if one.diff else {}
            log.info("dream-applied", dream=self.id, file=one.file, deed=one.deed, **lines)
        if len(files) > LOGGED_FILES:
            log.info("dream-applied", dream=self.id, more_files=len(files) - LOGGED_FILES)

    def _whose(self) -> dict[str, str]:
        return {"project": self.ground.project} if self.ground.project else {"scope": "user"}

    def _add(self, **fields: object) -> None:
        self._summary = msgspec.structs.replace(self._summary, **fields)

    @property
    def _running(self) -> DreamProgress:
        if self.progress is None:
            raise AssertionError("a dream begins before it runs")
        return self.progress


def sweep_copies(means: Means) -> None:
    """Removes every copy but the newest ones that wait for review, and that of a dream at work."""
    kept = 0
    folders = [one for one in Path(means.dreams_folder).glob("*") if one.name.isdigit()]
    for folder in sorted(folders, key=lambda one: -int(one.name)):
        dream = means.book.dream(int(folder.name))
        is_kept = dream is not None and dream.state in {"refused", "running", "applying"}
        kept += is_kept
        if not is_kept or kept > REFUSED_COPIES_KEPT:
            remove_stage(str(folder))


def _texts(files: Files) -> dict[str, str]:
    """As they may be shown; a secret that was masked on the way is no loss, and in no diff."""
    return {file: presentable(stored.text) for file, stored in files.items()}
