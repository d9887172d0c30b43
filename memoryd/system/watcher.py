"""Hints from the operating system that something changed in the watched folders.

They are only hints: events get lost (a full queue, a new or recreated folder, a network disk), and
the library does not say so. Every new watch, every failure and every flood of events is therefore
reported as a doubt, and the listener then has to look itself.

- Each folder is watched by itself, not recursively: a recursive watch follows links out of the
  tree, and would watch what sub-agents write.
- When a folder itself comes or goes, all are watched again: another one may be in its place.
- The library is asked when the bell rings. Without a bell it is asked in steps: short ones while
  something happens, long ones after a minute of silence.
- A name that is not UTF-8 ends the watch, and so does a system limit. It is restarted after a pause
  that grows with each failure; `problem` says so meanwhile.
"""

from collections.abc import Callable, Mapping
from typing import Final

import anyio
import anyio.to_thread
import structlog
from watchfiles import Change
from watchfiles._rust_notify import RustNotify

from memoryd.base.file_stamp import Identity
from memoryd.system.bell import Bell

DEBOUNCE_MS: Final = 50
STEP_MS: Final = 10
# Without a bell. The library reports at its second step, so a first change is seen within a second.
ACTIVE_STEP_MS: Final = 20
IDLE_STEP_MS: Final = 450
IDLE_AFTER_SECONDS: Final = 60.0
# The bell may be quicker than the library: nothing is settled before both had time.
RUNG_MS: Final = 100
LATE_SECONDS: Final = 1.0
FLOOD_EVENTS: Final = 2000
FIRST_PAUSE_SECONDS: Final = 0.1
LONGEST_PAUSE_SECONDS: Final = 60.0
# debug, polling, its delay, recursive, and "ignore permission denied", which hides other errors too
_PLAIN: Final = (False, False, 0, False, False)

log = structlog.get_logger(__name__)


class Watcher:
    """Calls `hint` with the paths that changed, and `doubt` when others may have changed too."""

    def __init__(
        self,
        hint: Callable[[set[str]], None],
        doubt: Callable[[], None],
        hang_bell: Callable[[list[str]], Bell | None] = Bell.hang,
    ) -> None:
        self._hint = hint
        self._doubt = doubt
        self._hang_bell = hang_bell
        self._folders: Mapping[str, Identity] = {}
        self._folders_changed = anyio.Event()
        self._pause_seconds = FIRST_PAUSE_SECONDS
        self._warned = ""
        self.problem = ""

    def set_folders(self, folders: Mapping[str, Identity]) -> None:
        """Sets what to watch; a recreated folder counts as another one."""
        if folders != self._folders:
            self._folders = dict(folders)
            self._folders_changed.set()

    async def run(self) -> None:
        """Watches until cancelled."""
        while True:
            self._folders_changed = anyio.Event()
            error = await self._watch(list(self._folders)) if self._folders else None
            with anyio.move_on_after(None if error is None else self._failed(error)):
                await self._folders_changed.wait()

    async def _watch(self, folders: list[str]) -> Exception | None:
        """Returns None when the set of folders changed, or the error that ended the watch."""
        stop = anyio.Event()
        try:
            notify = await anyio.to_thread.run_sync(lambda: RustNotify(folders, *_PLAIN))
        except (OSError, RuntimeError) as error:  # its own error is a RuntimeError
            return error
        bell = await anyio.to_thread.run_sync(self._hang_bell, folders)
        self.problem = ""
        self._doubt()  # changes from before the watch started were missed
        try:
            with notify:
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(_set_when_done, stop, self._folders_changed)
                    failure = await self._listen(notify, bell, stop)
                    tasks.cancel_scope.cancel()
        finally:
            if bell is not None:
                bell.close()
        return failure

    async def _listen(
        self, notify: RustNotify, bell: Bell | None, stop: anyio.Event
    ) -> Exception | None:
        try:
            if bell is None:
                await self._listen_in_steps(notify, stop)
            else:
                await self._listen_to_bell(notify, bell, stop)
        except (OSError, RuntimeError) as error:
            return error
        return None

    async def _listen_to_bell(self, notify: RustNotify, bell: Bell, stop: anyio.Event) -> None:
        look_again_seconds: float | None = None
        while not stop.is_set():
            was_rung = await _rung_or_stopped(bell, stop, look_again_seconds)
            if bell.silence():
                self._doubt()
            found = await self._ask(notify, STEP_MS, RUNG_MS, stop)
            look_again_seconds = LATE_SECONDS if was_rung and not found else None

    async def _listen_in_steps(self, notify: RustNotify, stop: anyio.Event) -> None:
        heard_at = anyio.current_time()
        while not stop.is_set():
            is_idle = anyio.current_time() - heard_at > IDLE_AFTER_SECONDS
            step_ms = IDLE_STEP_MS if is_idle else ACTIVE_STEP_MS
            if await self._ask(notify, step_ms, round(IDLE_AFTER_SECONDS * 1000), stop):
                heard_at = anyio.current_time()

    async def _ask(
        self, notify: RustNotify, step_ms: int, timeout_ms: int, stop: anyio.Event
    ) -> bool:
        """Passes on what changed; false when nothing did."""
        batch = await anyio.to_thread.run_sync(notify.watch, DEBOUNCE_MS, step_ms, timeout_ms, stop)
        if isinstance(batch, str):
            return False
        self._pause_seconds = FIRST_PAUSE_SECONDS
        self._hint({path for _, path in batch})
        # It may have been recreated, with the identity it had.
        if any(path in self._folders for change, path in batch if change != Change.modified):
            self._folders_changed.set()
        if len(batch) >= FLOOD_EVENTS:
            self._doubt()
        return True

    def _failed(self, error: Exception) -> float:
        """Records the failure; returns how long to pause."""
        self._doubt()
        if isinstance(error, FileNotFoundError):  # a folder was removed after it was listed
            return FIRST_PAUSE_SECONDS
        reason = str(error).partition(" about [")[0]
        self.problem = f"cannot watch folders, checking them regularly instead: {reason}"
        if self._warned != reason:
            log.warning("watch-failed", error=reason, pause_seconds=self._pause_seconds)
            self._warned = reason
        pause_seconds = self._pause_seconds
        self._pause_seconds = min(pause_seconds * 4, LONGEST_PAUSE_SECONDS)
        return pause_seconds


async def _set_when_done(stop: anyio.Event, done: anyio.Event) -> None:
    """The library's thread cannot be cancelled; it checks `stop` every STEP_MS."""
    try:
        await done.wait()
    finally:
        stop.set()


async def _rung_or_stopped(bell: Bell, stop: anyio.Event, patience: float | None) -> bool:
    """Waits for the bell, for `stop`, or for as many seconds; true when it was the bell."""
    was_rung = False

    async def wait_for_stop() -> None:
        await stop.wait()
        tasks.cancel_scope.cancel()

    with anyio.move_on_after(patience):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(wait_for_stop)
            await bell.wait()
            was_rung = True
            tasks.cancel_scope.cancel()
    return was_rung
