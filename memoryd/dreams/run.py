"""One dream: its record in the dream table, its lock, and how it ends.

The order makes it safe against a kill at any point:

1. the dream is recorded, with the lock file as it is; then the lock is taken
2. the working copy is made, and all work happens there
3. the result is reviewed; one that loses too much is kept for review and not applied
4. the coming changes are recorded; then they are applied
5. success: first the record, then the lock. Failure: first the lock, then the record. So a lock
   that says "dreamt just now" always has a completed dream in the table.

The work itself, 2 to 4, is a function: `Consolidation.dream` or `accept_refused`.
"""

from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Final, TypeAlias

import anyio
import anyio.to_thread
import msgspec
import structlog

from memoryd.base import paths
from memoryd.base.errors import MemorydError, Unavailable
from memoryd.base.events import DreamFinished, DreamStarted
from memoryd.dreams.apply import Applier, LostLock
from memoryd.dreams.copied_files import Files
from memoryd.dreams.dream_table import DreamCause, DreamState, DreamTable, Summary
from memoryd.dreams.lock import ConsolidateLock, LockState, read_lock
from memoryd.dreams.progress import DreamProgress
from memoryd.dreams.rules.story import DreamCounts
from memoryd.dreams.target import DreamTarget
from memoryd.memories.inbox_table import Candidate
from memoryd.system.notices import Notices

LOGGED_FILES: Final = 100

Work: TypeAlias = Callable[["DreamRun"], Awaitable[None]]

log = structlog.get_logger(__name__)


class DreamRun:
    """One dream; `since` is when the previous one was, `own_since` the previous one of our own.

    `questions` are what a person is asked at the end,
    `ended_files` the memories whose own words say that they have ended.

    `announce_end` and `ended` are for the dreamer, when everything is cleaned up: a client that
    hears of the end may start or undo a dream at once.
    """

    def __init__(
        self,
        target: DreamTarget,
        cause: DreamCause,
        *,
        table: DreamTable,
        applier: Applier,
        notices: Notices,
        now: Callable[[], float],
    ) -> None:
        self.target = target
        self.cause: DreamCause = cause
        self.state: DreamState = "running"
        self.reason = ""
        self.summary = Summary()
        self.progress = DreamProgress(target, notices)
        self.since = 0.0
        self.own_since = 0.0
        self.questions: list[Candidate] = []
        self.ended_files: set[str] = set()
        self.ended = anyio.Event()
        self._table = table
        self._applier = applier
        self._notices = notices
        self._now = now
        self._lock: ConsolidateLock | None = None
        self._scope = anyio.CancelScope()

    @property
    def id(self) -> int:
        """0 until it is recorded."""
        return self.progress.dream

    def summarize(self, **fields: object) -> None:
        self.summary = msgspec.structs.replace(self.summary, **fields)

    def counts(self, *, left: int) -> DreamCounts:
        """What became of the memories, once the result was reviewed; `left` are current."""
        progress = self.progress
        actions = [one.action for one in self.summary.files]
        return DreamCounts(
            sessions=progress.sessions,
            read=progress.read,
            merged=progress.merged,
            retired=max(0, actions.count("retired") + actions.count("removed") - progress.merged),
            changed=actions.count("changed"),
            new=actions.count("new"),
            left=left,
            due=sum(one.concern == "due for review" for one in self.summary.flags),
            questions=len(self.questions),
            tool_calls=progress.tool_calls,
        )

    # --- start and stop -------------------------------------------------------------------------

    def begin(self, may_start: Callable[[LockState], bool], since: float) -> bool:
        """Records the dream and takes the lock; False if the lock's time forbids a dream now.

        Blocking. Unavailable when another process holds the lock.
        """
        self.since = since
        directory = self.target.directory
        self.own_since = self._table.last_success(directory.path) or 0.0
        path = paths.consolidate_lock(directory.path)
        self.progress.dream = self._table.begin(
            directory,
            self.target.project,
            cause=self.cause,
            at=self._now(),
            lock=read_lock(path),
        )
        if self.cause == "dry-run":
            return True
        self._lock = ConsolidateLock.take(path, self._now())
        if self._lock is None:
            self._table.delete(self.id)
            raise Unavailable(
                "another dream is running over these memories",
                hint="it may be the agent's own; try again in a while",
            )
        try:
            self._table.note_lock(self.id, self._lock.before)
            if may_start(self._lock.before):
                return True
        except BaseException:
            self.release_lock()
            raise
        self.release_lock()
        self._table.delete(self.id)
        return False

    async def run(self, work: Work) -> None:
        """Does the work and records how it ended; only a cancellation is raised."""
        try:
            with self._scope:
                await work(self)
                return
            await self._give_up("stopped", "stopped on request; nothing was changed")
        except MemorydError as error:
            await self._give_up("failed", error.message)
        except Exception:
            log.exception("dream-crashed", dream=self.id)
            await self._give_up("failed", "internal error; see memoryd logs")
        except BaseException:
            await self._give_up("failed", "the daemon stopped; nothing was changed")
            raise

    def stop(self) -> None:
        """Cancels the work; changes that are already being applied are completed."""
        self._scope.cancel()

    # --- the lock: blocking ---------------------------------------------------------------------

    def holds_lock(self) -> bool:
        """A dry run changes nothing and needs no lock."""
        return self.cause == "dry-run" if self._lock is None else self._lock.is_ours()

    def release_lock(self, dreamt_at: float | None = None) -> None:
        """Sets the lock file's time to `dreamt_at`; without it, restores the file."""
        lock, self._lock = self._lock, None
        if lock is None:
            return
        with suppress(OSError):
            if dreamt_at is None:
                lock.roll_back()
            else:
                lock.finish(dreamt_at)

    # --- how it ends: blocking ------------------------------------------------------------------

    def apply(self, before: Files, after: Files) -> None:
        """Applies the result to the memory directory; the dream is done."""
        directory = self.target.directory
        if not self.holds_lock():
            raise LostLock
        left_alone = self._applier.apply(self.id, directory, before, after, self.holds_lock)
        self.summarize(left_alone=left_alone)
        try:
            self.end("done")
        except MemorydError:
            self._applier.revert(self.id, directory)
            self._table.note_reverted(self.id)
            raise
        self.release_lock(dreamt_at=self._now())
        self._log_files()

    def end(self, state: DreamState, reason: str = "") -> None:
        progress = self.progress
        self.summarize(
            model_turns=progress.model_turns,
            input_tokens=progress.usage.prompt_tokens,
            output_tokens=progress.usage.output_tokens,
            usd=progress.usd,
            seconds=progress.seconds,
        )
        self._table.end(self.id, state, at=self._now(), reason=reason, summary=self.summary)
        self.state, self.reason = state, reason

    async def _give_up(self, state: DreamState, reason: str) -> None:
        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(self._roll_back, state, reason)

    def _roll_back(self, state: DreamState, reason: str) -> None:
        if self.state != "running":
            log.warning("dream-clean-up-failed", dream=self.id, reason=reason)
            return
        self.release_lock()
        try:
            self.end(state, reason)
        except MemorydError as error:  # the next dream, or the next start, will record the end
            log.warning("dream-not-recorded", dream=self.id, error=error.message)
            self.state, self.reason = state, reason

    # --- announcements --------------------------------------------------------------------------

    def announce_start(self) -> None:
        self._notices.announce(
            DreamStarted(
                project=self.target.project,
                dream=self.id,
                scope=self.target.directory.scope,
                how=self.summary.how,
                cause=self.cause,
                memories=self.summary.memories,
            )
        )

    def announce_end(self) -> None:
        summary = self.summary
        actions = [one.action for one in summary.files]
        self._notices.announce(
            DreamFinished(
                project=self.target.project,
                dream=self.id,
                scope=self.target.directory.scope,
                state=self.state,
                reason=self.reason,
                new=actions.count("new"),
                changed=actions.count("changed"),
                retired=actions.count("retired"),
                removed=actions.count("removed"),
                left_alone=len(summary.left_alone),
                flagged=len(summary.flags),
                model_turns=summary.model_turns,
                tokens=summary.input_tokens + summary.output_tokens,
                usd=round(summary.usd, 6),
                seconds=summary.seconds,
                words=summary.words if self.state in {"done", "previewed"} else "",
                sessions=summary.counts.sessions,
                read=summary.counts.read,
                merged=summary.counts.merged,
                left=summary.counts.left,
                questions=summary.counts.questions,
                tool_calls=summary.counts.tool_calls,
            )
        )

    def _log_files(self) -> None:
        """One line for each file that was changed in the memory directory."""
        files = [one for one in self.summary.files if one.file not in self.summary.left_alone]
        for one in files[:LOGGED_FILES]:
            lines = {"added": one.added, "removed": one.removed} if one.diff else {}
            log.info("dream-applied", dream=self.id, file=one.file, action=one.action, **lines)
        if len(files) > LOGGED_FILES:
            log.info("dream-applied", dream=self.id, more_files=len(files) - LOGGED_FILES)
