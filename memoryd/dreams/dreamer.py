"""The dreamer: decides when to dream, runs one dream at a time, and answers requests about dreams.

- Every memory directory has its own dreams: a project's, its team's, an agent's, the person's
  (`target`).
- Gates are checked when a turn ends, and every half hour of real time, including sleep of the
  machine; missed ticks are skipped, one check is enough.
- `force` skips the gates of time, rest and sessions, but never the switch and the lock. A dry run
  changes nothing and takes no lock.
"""

import threading
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Final

import anyio
import anyio.to_thread
import msgspec
import structlog
from anyio.abc import TaskGroup, TaskStatus

from memoryd.base.errors import MemorydError, NotFound, Refused, Unavailable
from memoryd.dreams.accept import accept_refused, kept_result
from memoryd.dreams.apply import Applier
from memoryd.dreams.consolidate import Consolidation
from memoryd.dreams.dream_table import Dream, DreamCause, DreamTable
from memoryd.dreams.estimates import DreamEstimates
from memoryd.dreams.lock import LockState
from memoryd.dreams.run import DreamRun, Work
from memoryd.dreams.schedule import RealTime, Schedule
from memoryd.dreams.status import DreamStatus, gate_hint, status_of
from memoryd.dreams.target import DreamScope, DreamTarget, scopes_of, target_of
from memoryd.dreams.working_copy import WorkingCopies
from memoryd.memories.scopes import Scopes
from memoryd.memories.store import Store
from memoryd.system.giving_way import giving_way
from memoryd.system.notices import Notices

TICK_SECONDS: Final = 1800.0
FIRST_LOOK_SECONDS: Final = 120.0
STEP_SECONDS: Final = 60.0
NEWS_SECONDS: Final = 86_400.0

log = structlog.get_logger(__name__)


class Undone(msgspec.Struct, frozen=True):
    """`left` were changed since the dream, and stay as they are."""

    dream: int
    restored: list[str]
    left: list[str]


class Dreamer:
    def __init__(
        self,
        *,
        scopes: Scopes,
        store: Store,
        table: DreamTable,
        applier: Applier,
        copies: WorkingCopies,
        schedule: Schedule,
        estimates: DreamEstimates,
        consolidation: Consolidation,
        notices: Notices,
        now: Callable[[], float],
        real_time: RealTime,
        sleep: Callable[[float], Awaitable[None]] = anyio.sleep,
    ) -> None:
        self._scopes = scopes
        self._store = store
        self._table = table
        self._applier = applier
        self._copies = copies
        self._schedule = schedule
        self._estimates = estimates
        self._consolidation = consolidation
        self._notices = notices
        self._now = now
        self._real_seconds = real_time.seconds
        self._sleep = sleep
        self._tasks: TaskGroup | None = None
        self._current: DreamRun | None = None
        self._checking: set[str] = set()
        self._told: set[int] = set()
        self.quiet: threading.Event | None = None
        """Set while nobody waits for an answer: otherwise dreams give way."""

    # --- on schedule ----------------------------------------------------------------------------

    async def run(self, *, task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED) -> None:
        """Reverts what a kill left unfinished, then dreams on schedule until cancelled."""
        await anyio.to_thread.run_sync(self._recover)
        async with anyio.create_task_group() as tasks:
            self._tasks = tasks
            task_status.started()
            await self._tick()

    async def _tick(self) -> None:
        await self._pause(FIRST_LOOK_SECONDS)
        while True:
            try:
                roots = await anyio.to_thread.run_sync(self._schedule.known_roots)
            except MemorydError as error:
                log.warning("dream-projects-not-listed", error=error.message)
                roots = []
            await self._check(*roots, "")
            await self._pause(TICK_SECONDS)

    async def _pause(self, seconds: float) -> None:
        """In steps, since a timer may stand still while the machine sleeps."""
        due = self._real_seconds() + seconds
        while (left := due - self._real_seconds()) > 0:
            await self._sleep(min(left, STEP_SECONDS))

    def turn_ended(self, root: str) -> None:
        """Checks the gates of the project's memories, and of the person's own."""
        if self._tasks is not None and root and root not in self._checking:
            self._checking.add(root)
            self._tasks.start_soon(self._check_both, root)

    async def _check_both(self, root: str) -> None:
        try:
            await self._check(root, "")
        finally:
            self._checking.discard(root)

    async def _check(self, *roots: str) -> None:
        """Dreams over every memory directory of these projects whose gates are open.

        An empty root stands for the person. One call looks at all: it is done for every turn.
        """
        looked_at: set[tuple[str, DreamScope]] = set()
        while due := await anyio.to_thread.run_sync(self._next_due, roots, looked_at):
            await self._dream_now(due)

    def _next_due(
        self, roots: Sequence[str], looked_at: set[tuple[str, DreamScope]]
    ) -> DreamTarget | None:
        for root in roots:
            try:
                scopes = self._scopes_of(root)
            except MemorydError as error:
                log.warning("dream-not-started", project=root, error=error.message)
                continue
            for scope in scopes:
                if (root, scope) not in looked_at:
                    looked_at.add((root, scope))
                    if (target := self._target_if_due(root, scope)) is not None:
                        return target
        return None

    def _target_if_due(self, root: str, scope: DreamScope) -> DreamTarget | None:
        try:
            target = target_of(self._scopes, root, scope)
            return target if self._schedule.deciding_gate(target).is_open else None
        except MemorydError as error:
            log.warning("dream-not-started", project=root, scope=str(scope), error=error.message)
        except Exception:
            log.exception("dream-not-started", project=root, scope=str(scope))
        return None

    async def _dream_now(self, target: DreamTarget) -> None:
        """Dreams, unless a dream runs already, and waits for the end."""
        if self._current is not None:
            return
        try:
            run = self._new_run(target, "schedule")
            if await self._begin(run, self._consolidation.dream, is_forced=False):
                await run.ended.wait()
        except MemorydError as error:
            log.warning("dream-not-started", project=target.name, error=error.message)
        except Exception:
            log.exception("dream-not-started", project=target.name)

    def _scopes_of(self, root: str) -> list[DreamScope]:
        return list(scopes_of(self._scopes.places, self._scopes, root))

    # --- requests -------------------------------------------------------------------------------

    async def start(
        self, cwd: str, *, force: bool, dry_run: bool, scope: DreamScope = "project"
    ) -> int:
        """Starts a dream and returns its number; Refused by a closed gate."""
        run = self._new_run(await self._target(cwd, scope), "dry-run" if dry_run else "asked")
        work = self._consolidation.dream
        await self._begin_or_refuse(run, work, is_forced=force or dry_run)
        return run.id

    async def accept(self, cwd: str, number: int | None, scope: DreamScope = "project") -> Dream:
        """Applies a refused dream, by default the last; returns the acceptance's own record."""
        target = await self._target(cwd, scope)
        refused = await anyio.to_thread.run_sync(self._acceptable, target, number)
        run = self._new_run(target, "accepted")
        work = partial(
            accept_refused,
            refused=refused,
            store=self._store,
            table=self._table,
            copies=self._copies,
        )
        await self._begin_or_refuse(run, work, is_forced=True)
        await run.ended.wait()
        return await anyio.to_thread.run_sync(self._found, run.id, target)

    def _acceptable(self, target: DreamTarget, number: int | None) -> Dream:
        if number is not None:
            dream: Dream | None = self._found(number, target)
        else:
            dream = self._table.newest_refused(target.directory.path)
        if dream is None:
            raise NotFound("no dream waits for review", hint=_list_hint(target))
        kept_result(dream, target, self._store, self._table)
        return dream

    async def stop(self, cwd: str, scope: DreamScope = "project") -> Dream:
        """Stops the running dream; one that is already being applied is completed."""
        target = await self._target(cwd, scope)
        run = self._running_over(target)
        if run is None:
            raise NotFound("no dream is running here", hint=_list_hint(target))
        run.stop()
        await run.ended.wait()
        return await anyio.to_thread.run_sync(self._found, run.id, target)

    async def undo(self, cwd: str, scope: DreamScope = "project") -> Undone:
        target = await self._target(cwd, scope)
        run = self._running_over(target)
        if run is not None and run.state == "running":
            raise Unavailable("a dream is running", hint=f"stop it first: {target.command('stop')}")
        if run is not None:  # it is recorded as done, and only its clean-up is left
            await run.ended.wait()
        return await anyio.to_thread.run_sync(self._undo, target)

    def _undo(self, target: DreamTarget) -> Undone:
        dream = self._table.newest_undoable(target.directory.path)
        if dream is None:
            raise NotFound("there is no dream to undo", hint=_list_hint(target))
        restored, left = self._applier.undo(dream)
        log.info("dream-undone", dream=dream.id, restored=len(restored), left=len(left))
        return Undone(dream.id, restored, left)

    @property
    def is_dreaming(self) -> bool:
        """Whether a dream runs, over whichever memories."""
        return self._current is not None

    def status(self, cwd: str, scope: DreamScope = "project") -> DreamStatus:
        return self._status(target_of(self._scopes, cwd, scope))

    def statuses(self) -> list[DreamStatus]:
        """Of all memory directories of known projects, and of the person's if there are any."""
        targets = [
            target_of(self._scopes, root, scope)
            for root in (*self._schedule.known_roots(), "")
            for scope in self._scopes_of(root)
        ]
        shown = [one for one in targets if one.project or Path(one.directory.path).is_dir()]
        return [self._status(target) for target in shown]

    def news(self, cwd: str) -> str:
        """What the last dream of a project changed, in one line; only once, and only while new."""
        target = target_of(self._scopes, cwd, "project")
        last = next(iter(self._table.past(target.directory.path, 1)), None)
        if last is None or last.state != "done" or not last.summary.files or last.id in self._told:
            return ""
        if self._now() - (last.finished or 0.0) > NEWS_SECONDS:
            return ""
        self._told.add(last.id)
        return f"A dream (memoryd) has put the memories in order. {last.summary.words}"

    def past(self, cwd: str, limit: int, scope: DreamScope = "project") -> list[Dream]:
        """Newest first, without the diffs."""
        target = target_of(self._scopes, cwd, scope)
        found = self._table.past(target.directory.path, limit)
        return [_without_diffs(dream) for dream in found]

    def one(self, cwd: str, dream: int, scope: DreamScope = "project") -> Dream:
        return self._found(dream, target_of(self._scopes, cwd, scope))

    def _found(self, number: int, target: DreamTarget) -> Dream:
        dream = self._table.dream(number)
        if dream is None or dream.directory != target.directory.path:
            raise NotFound(f"there is no dream {number} here", hint=_list_hint(target))
        return dream

    async def _target(self, cwd: str, scope: DreamScope) -> DreamTarget:
        return await anyio.to_thread.run_sync(target_of, self._scopes, cwd, scope)

    def _running_over(self, target: DreamTarget) -> DreamRun | None:
        run = self._current
        is_here = run is not None and run.target.directory.path == target.directory.path
        return run if is_here else None

    def _status(self, target: DreamTarget) -> DreamStatus:
        run = self._running_over(target)
        # While a dream runs, the lock's time is that of its start.
        last = run.since if run is not None else self._schedule.last(target)
        estimate = self._estimates.of(target, last or 0.0) if run is None else None
        return status_of(target, self._schedule.deciding_gate(target), last, run, estimate)

    # --- one dream ------------------------------------------------------------------------------

    def _new_run(self, target: DreamTarget, cause: DreamCause) -> DreamRun:
        return DreamRun(
            target,
            cause,
            table=self._table,
            applier=self._applier,
            notices=self._notices,
            now=self._now,
        )

    async def _begin_or_refuse(self, run: DreamRun, work: Work, *, is_forced: bool) -> None:
        if self._current is not None:
            raise Unavailable(
                f"dream {self._current.id} is already running",
                hint=f"watch it: {self._current.target.command('--follow')}",
            )
        gate = await anyio.to_thread.run_sync(
            partial(self._schedule.deciding_gate, run.target, is_forced=is_forced)
        )
        if not gate.is_open:
            raise Refused(f"no dream now: {gate.reason}", hint=gate_hint(gate, run.target))
        if not await self._begin(run, work, is_forced=is_forced):
            raise Refused("no dream now: another one has just finished")

    async def _begin(self, run: DreamRun, work: Work, *, is_forced: bool) -> bool:
        """Takes the lock and starts the work; False if the lock's time forbids a dream now."""
        if self._tasks is None or self._current is not None:
            raise Unavailable("memoryd cannot dream right now", hint="try again")
        self._current = run
        try:
            with anyio.CancelScope(shield=True):
                is_begun = await anyio.to_thread.run_sync(self._prepare, run, is_forced)
        except BaseException:
            self._current = None
            raise
        if is_begun:
            self._tasks.start_soon(self._finish, run, work)
        else:
            self._current = None
        return is_begun

    def _prepare(self, run: DreamRun, is_forced: bool) -> bool:
        self._recover()
        since = self._schedule.last(run.target) or 0.0

        def may_start(lock: LockState) -> bool:
            return is_forced or self._schedule.hours(run.target, lock).is_open

        return run.begin(may_start, since)

    async def _finish(self, run: DreamRun, work: Work) -> None:
        try:
            with giving_way(self.quiet):
                await run.run(work)
        finally:
            with anyio.CancelScope(shield=True):
                await anyio.to_thread.run_sync(self._note_end, run)
            self._current = None
            run.announce_end()
            run.ended.set()

    def _note_end(self, run: DreamRun) -> None:
        try:
            self._schedule.note_end(run.target, has_dreamt=run.state == "done")
        except MemorydError as error:  # the lock's time and the table still have it
            log.warning("dream-time-not-saved", dream=run.id, error=error.message)

    def _recover(self) -> None:
        """Only while no dream is running: an unfinished one in the table was killed."""
        for dream in self._applier.recover():
            log.warning("dream-recovered", dream=dream.id, folder=dream.directory)
        self._copies.sweep(self._table)


def _list_hint(target: DreamTarget) -> str:
    return f"list all dreams: {target.command('log')}"


def _without_diffs(dream: Dream) -> Dream:
    files = tuple(msgspec.structs.replace(one, diff="") for one in dream.summary.files)
    summary = msgspec.structs.replace(dream.summary, files=files)
    return msgspec.structs.replace(dream, summary=summary)
