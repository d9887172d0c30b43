"""The dreamer: decides when memories are dreamt over, one dream at a time, and answers for all.

- Each project has its dreams, and so has the person: see `ground`.

- Gates are looked at when a turn ends, and every half hour of real time, sleep of the machine
  included; ticks that were missed are not made up for, one look is enough.
- A person who asks with force passes the gates of time, rest and sessions; the switch and the lock
  hold for everybody. A dry run changes nothing and takes no lock.
"""

import time
import uuid
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Final

import anyio
import anyio.to_thread
import msgspec
import structlog
from anyio.abc import TaskGroup, TaskStatus

from memoryd.base.config import Settings
from memoryd.base.errors import MemorydError, NotFound, Refused, Unavailable
from memoryd.base.timestamps import iso_time
from memoryd.dreams.accept import Acceptance, kept_result
from memoryd.dreams.dream_table import Dream, DreamCause
from memoryd.dreams.lock import Before
from memoryd.dreams.rules.gates import Gate
from memoryd.dreams.run import DreamRun, Means, sweep_copies
from memoryd.dreams.schedule import RealTime, Schedule
from memoryd.dreams.target import DreamScope, DreamTarget, ground_of
from memoryd.memories.scopes import Scopes

TICK_SECONDS: Final = 1800.0
FIRST_LOOK_SECONDS: Final = 120.0
STEP_SECONDS: Final = 60.0

log = structlog.get_logger(__name__)


class Running(msgspec.Struct, frozen=True):
    dream: int
    phase: str
    files: int
    usd: float
    seconds: float


class DreamStatus(msgspec.Struct, frozen=True, omit_defaults=True):
    """Whether there may be a dream; the first closed gate says why not, and until when."""

    project: str
    directory: str
    message: str
    is_open: bool
    scope: str = "project"
    gate: str = ""
    reason: str = ""
    opens_at: str = ""
    last: str = ""
    running: Running | None = None


class Undone(msgspec.Struct, frozen=True):
    """`left` were changed by somebody since the dream, and stay as they are."""

    dream: int
    restored: list[str]
    left: list[str]


def real_seconds() -> float:
    """Time that nobody can set, and that passes while the machine sleeps where it can be asked."""
    if hasattr(time, "CLOCK_BOOTTIME"):
        return time.clock_gettime(time.CLOCK_BOOTTIME)
    return time.monotonic()


def boot_id() -> str:
    """What tells this run of the machine from others; elsewhere, this run of the daemon."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError):
        return uuid.uuid4().hex


class Dreamer:
    def __init__(
        self,
        means: Means,
        scopes: Scopes,
        settings: Settings,
        *,
        real: RealTime | None = None,
        sleep: Callable[[float], Awaitable[None]] = anyio.sleep,
    ) -> None:
        self._means = means
        self._scopes = scopes
        real = real or RealTime(real_seconds, boot_id())
        self._schedule = Schedule(means, settings, real)
        self._real = real.seconds
        self._sleep = sleep
        self._tasks: TaskGroup | None = None
        self._current: DreamRun | None = None
        self._considered: set[str] = set()

    # --- life ---------------------------------------------------------------------------------

    async def run(self, *, task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED) -> None:
        """Takes back what a kill left, then dreams when it is time, until cancelled."""
        await anyio.to_thread.run_sync(self._recover)
        async with anyio.create_task_group() as tasks:
            self._tasks = tasks
            task_status.started()
            await self._tick()

    async def _tick(self) -> None:
        await self._pause(FIRST_LOOK_SECONDS)
        while True:
            try:
                roots = await anyio.to_thread.run_sync(self._schedule.known)
            except MemorydError as error:
                log.warning("dreams-not-considered", error=error.message)
                roots = []
            for root in roots:
                await self._consider(root, "project")
            await self._consider("", "user")
            await self._pause(TICK_SECONDS)

    async def _pause(self, seconds: float) -> None:
        """In steps, since a timer may stand still while the machine sleeps."""
        due = self._real() + seconds
        while (left := due - self._real()) > 0:
            await self._sleep(min(left, STEP_SECONDS))

    def turn_ended(self, root: str) -> None:
        """Looks at the gates of a project in which something happened, and at the person's own."""
        if self._tasks is not None and root and root not in self._considered:
            self._considered.add(root)
            self._tasks.start_soon(self._consider_both, root)

    async def _consider_both(self, root: str) -> None:
        try:
            await self._consider(root, "project")
            await self._consider(root, "user")
        finally:
            self._considered.discard(root)

    async def _consider(self, root: str, scope: DreamScope) -> None:
        """Dreams if all gates are open, and waits for the end of it."""
        try:
            ground, gate = await anyio.to_thread.run_sync(self._last_gate, root, scope)
            if gate.is_open and self._current is None:
                run = DreamRun(self._means, ground, "schedule")
                if await self._begin(run, is_forced=False):
                    await run.ended.wait()
        except MemorydError as error:
            log.warning("dream-not-begun", project=root, scope=scope, error=error.message)
        except Exception:
            log.exception("dream-not-begun", project=root, scope=scope)

    def _last_gate(self, root: str, scope: DreamScope) -> tuple[DreamTarget, Gate]:
        """The first closed gate, or the last of all where every one is open."""
        ground = ground_of(self._scopes, root, scope)
        *_, gate = self._schedule.gates(ground)
        return ground, gate

    # --- requests -----------------------------------------------------------------------------

    async def _ground(self, cwd: str, scope: DreamScope) -> DreamTarget:
        return await anyio.to_thread.run_sync(ground_of, self._scopes, cwd, scope)

    async def start(
        self, cwd: str, *, force: bool, dry_run: bool, scope: DreamScope = "project"
    ) -> int:
        """Begins a dream and returns its number; Refused by a closed gate."""
        ground = await self._ground(cwd, scope)
        cause: DreamCause = "dry-run" if dry_run else "asked"
        run = DreamRun(self._means, ground, cause)
        await self._begin_if_allowed(run, is_forced=force or dry_run)
        return run.id

    async def accept(self, cwd: str, number: int | None, scope: DreamScope = "project") -> Dream:
        """Applies a dream that the guard refused, the last one if none is named; its own record."""
        ground = await self._ground(cwd, scope)
        refused = await anyio.to_thread.run_sync(self._refused, ground, number)
        run = Acceptance(self._means, ground, refused)
        await self._begin_if_allowed(run, is_forced=True)
        await run.ended.wait()
        return self._found(run.id, ground)

    def _refused(self, ground: DreamTarget, number: int | None) -> Dream:
        """One that can be accepted as things are now."""
        if number is not None:
            dream = self._found(number, ground)
        else:
            newest = self._means.book.newest_refused(ground.directory.path)
            if newest is None:
                raise NotFound(
                    "no dream waits for review", hint=f"{ground.command('log')} lists them all"
                )
            dream = newest
        kept_result(self._means, ground, dream)
        return dream

    async def _begin_if_allowed(self, run: DreamRun, *, is_forced: bool) -> None:
        if self._current is not None:
            raise Unavailable(
                f"dream {self._current.id} is running already",
                hint=f"watch it with: {self._current.ground.command('--follow')}",
            )
        gates = await anyio.to_thread.run_sync(
            lambda: list(self._schedule.gates(run.ground, is_forced=is_forced))
        )
        if not gates[-1].is_open:
            raise Refused(
                f"no dream now: {gates[-1].reason}", hint=_way_past(gates[-1], run.ground)
            )
        if not await self._begin(run, is_forced=is_forced):
            raise Refused("no dream now: somebody else has just dreamt")

    async def stop(self, cwd: str, scope: DreamScope = "project") -> Dream:
        """Ends the running dream with nothing applied; one that is being applied is finished."""
        ground = await self._ground(cwd, scope)
        run = self._running_over(ground)
        if run is None:
            raise NotFound(
                "no dream is running here", hint=f"{ground.command('log')} shows past ones"
            )
        run.stop()
        await run.ended.wait()
        return self._found(run.id, ground)

    def undo(self, cwd: str, scope: DreamScope = "project") -> Undone:
        ground = ground_of(self._scopes, cwd, scope)
        if self._running_over(ground) is not None:
            raise Unavailable("a dream is running", hint=f"stop it first: {ground.command('stop')}")
        dream = self._means.book.newest_undoable(ground.directory.path)
        if dream is None:
            raise NotFound(
                "there is no dream to undo", hint=f"{ground.command('log')} shows past ones"
            )
        restored, left = self._means.applier.undo(dream)
        log.info("dream-undone", dream=dream.id, restored=len(restored), left=len(left))
        return Undone(dream.id, restored, left)

    def status(self, cwd: str, scope: DreamScope = "project") -> DreamStatus:
        return self._status(ground_of(self._scopes, cwd, scope))

    def statuses(self) -> list[DreamStatus]:
        """Of all projects that are known by their root, and of the person where they have any."""
        grounds = [ground_of(self._scopes, root, "project") for root in self._schedule.known()]
        own = ground_of(self._scopes, "", "user")
        if Path(own.directory.path).is_dir():
            grounds.append(own)
        return [self._status(ground) for ground in grounds]

    def past(self, cwd: str, limit: int, scope: DreamScope = "project") -> list[Dream]:
        """Newest first, without the diffs."""
        ground = ground_of(self._scopes, cwd, scope)
        found = self._means.book.past(ground.directory.path, limit)
        return [_without_diffs(dream) for dream in found]

    def one(self, cwd: str, dream: int, scope: DreamScope = "project") -> Dream:
        return self._found(dream, ground_of(self._scopes, cwd, scope))

    def _found(self, number: int, ground: DreamTarget) -> Dream:
        dream = self._means.book.dream(number)
        if dream is None or dream.directory != ground.directory.path:
            raise NotFound(
                f"there is no dream {number} here", hint=f"{ground.command('log')} lists them"
            )
        return dream

    def _running_over(self, ground: DreamTarget) -> DreamRun | None:
        run = self._current
        is_here = run is not None and run.ground.directory.path == ground.directory.path
        return run if is_here else None

    # --- one dream ----------------------------------------------------------------------------

    async def _begin(self, run: DreamRun, *, is_forced: bool) -> bool:
        """Takes the lock and sets the dream going; False when the lock's time forbids it now."""
        if self._tasks is None or self._current is not None:
            raise Unavailable("memoryd cannot dream at this moment", hint="try again")
        self._current = run
        schedule, ground = self._schedule, run.ground

        def may_go_on(before: Before) -> bool:
            return is_forced or schedule.hours(ground, before).is_open

        try:
            with anyio.CancelScope(shield=True):
                await anyio.to_thread.run_sync(self._recover)
                since = await anyio.to_thread.run_sync(schedule.last, ground)
                is_begun = await anyio.to_thread.run_sync(run.begin, may_go_on, since or 0.0)
        except BaseException:
            self._current = None
            raise
        if is_begun:
            self._tasks.start_soon(self._go, run)
        else:
            self._current = None
        return is_begun

    async def _go(self, run: DreamRun) -> None:
        try:
            await run.run()
        finally:
            self._current = None
            try:
                self._schedule.note_end(run.ground, has_dreamt=run.state == "done")
            except MemorydError as error:  # the lock's time and the book know it still
                log.warning("dream-time-not-noted", dream=run.id, error=error.message)

    def _recover(self) -> None:
        for dream in self._means.applier.recover():
            log.warning("dream-recovered", dream=dream.id, folder=dream.directory)
        sweep_copies(self._means)

    def _status(self, ground: DreamTarget) -> DreamStatus:
        run = self._running_over(ground)
        # While a dream runs, the lock's time is that of its beginning.
        last = run.since if run is not None else self._schedule.last(ground)
        *_, gate = self._schedule.gates(ground)
        running = _running(run) if run is not None else None
        opens_at = iso_time(gate.opens_at) if gate.opens_at is not None else ""
        return DreamStatus(
            project=ground.project,
            directory=ground.directory.path,
            scope=ground.directory.scope,
            message=f"{ground.name}: {_words(gate, running, opens_at)}",
            is_open=gate.is_open,
            gate="" if gate.is_open else gate.name,
            reason="" if gate.is_open else gate.reason,
            opens_at=opens_at,
            last=iso_time(last) if last else "",
            running=running,
        )


def _running(run: DreamRun) -> Running | None:
    progress = run.progress
    if progress is None:
        return None
    return Running(
        run.id, progress.phase or "", len(progress.files), progress.usd, progress.seconds
    )


def _words(gate: Gate, running: Running | None, opens_at: str) -> str:
    if running is not None:
        return f"dream {running.dream} is running ({running.phase or 'it begins'})"
    if gate.is_open:
        return "will dream soon"
    return f"not now: {gate.reason}" + (f"; may dream after {opens_at}" if opens_at else "")


def _way_past(gate: Gate, ground: DreamTarget) -> str:
    if gate.name in {"hours", "rest", "sessions", "logs"}:
        return f"{ground.command('--now')} does not wait"
    return "memoryd on turns memory on" if gate.name == "switch" else ""


def _without_diffs(dream: Dream) -> Dream:
    files = tuple(msgspec.structs.replace(one, diff="") for one in dream.summary.files)
    summary = msgspec.structs.replace(dream.summary, files=files)
    return msgspec.structs.replace(dream, summary=summary)
