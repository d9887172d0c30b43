"""Hints that something changed in the watched folders, from the operating system.

Hints only: events get lost (a full queue, a new folder, a recreated one, a network disk) and the
library says nothing about it. So every new watch, every failure and every flood of events is a
doubt, and the listener then looks for itself.

- Each folder is watched by itself and not recursively: a recursive watch follows links out of the
  tree, and would watch what sub-agents write.
- A name that is no UTF-8 ends the watch, and so does a limit of the system. It is begun again after
  a pause that grows while it keeps failing; `problem` says so meanwhile.
"""

from collections.abc import Callable, Mapping
from typing import Final

import anyio
import anyio.to_thread
import structlog
from watchfiles._rust_notify import RustNotify

from memoryd.base.file_stamp import Identity

DEBOUNCE_MS: Final = 50
STEP_MS: Final = 10
FLOOD_EVENTS: Final = 2000
FIRST_PAUSE_SECONDS: Final = 0.1
LONGEST_PAUSE_SECONDS: Final = 60.0
# debug, polling, its delay, recursive, and "ignore permission denied", which hides other errors too
_PLAIN: Final = (False, False, 0, False, False)

log = structlog.get_logger(__name__)


class Watcher:
    """Calls `hint` with the paths that changed, and `doubt` when there may be more than those."""

    def __init__(self, hint: Callable[[set[str]], None], doubt: Callable[[], None]) -> None:
        self._hint = hint
        self._doubt = doubt
        self._folders: Mapping[str, Identity] = {}
        self._folders_changed = anyio.Event()
        self._pause_seconds = FIRST_PAUSE_SECONDS
        self._warned = ""
        self.problem = ""

    def set_folders(self, folders: Mapping[str, Identity]) -> None:
        """What to watch from now on; a folder that was made anew is another one."""
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
        """Returns when the folders changed, or with what went wrong."""
        stop = anyio.Event()
        try:
            notify = await anyio.to_thread.run_sync(lambda: RustNotify(folders, *_PLAIN))
        except (OSError, RuntimeError) as error:  # its own kind of error is a RuntimeError
            return error
        self.problem = ""
        self._doubt()  # what happened before the watch stood was not seen
        with notify:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(_set_when_done, stop, self._folders_changed)
                failure = await self._listen(notify, stop)
                tasks.cancel_scope.cancel()
        return failure

    async def _listen(self, notify: RustNotify, stop: anyio.Event) -> Exception | None:
        while not stop.is_set():
            try:
                batch = await anyio.to_thread.run_sync(notify.watch, DEBOUNCE_MS, STEP_MS, 0, stop)
            except (OSError, RuntimeError) as error:
                return error
            if not isinstance(batch, str):
                self._pause_seconds = FIRST_PAUSE_SECONDS
                self._hint({path for _, path in batch})
                if len(batch) >= FLOOD_EVENTS:
                    self._doubt()
        return None

    def _failed(self, error: Exception) -> float:
        """How long to pause."""
        self._doubt()
        if isinstance(error, FileNotFoundError):  # a folder went since it was listed
            return FIRST_PAUSE_SECONDS
        reason = str(error).partition(" about [")[0]
        self.problem = f"transcripts are found by looking, not by watching: {reason}"
        if self._warned != reason:
            log.warning("watch-failed", error=reason, pause_seconds=self._pause_seconds)
            self._warned = reason
        pause_seconds = self._pause_seconds
        self._pause_seconds = min(pause_seconds * 4, LONGEST_PAUSE_SECONDS)
        return pause_seconds


async def _set_when_done(stop: anyio.Event, done: anyio.Event) -> None:
    """The library's thread cannot be cancelled; it looks at `stop` every STEP_MS."""
    try:
        await done.wait()
    finally:
        stop.set()
