"""Sees what others do to the memories: the agent, an editor, git, another machine.

Every memory directory there is gets looked at when the system says that something changed there,
and every half a minute in any case. What is found becomes versions and events; recall follows.
An index is mended only once its directory has been quiet for a minute: the agent writes a topic
first and its line a moment later, and must not find its index changed in between.
"""

import os
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

import anyio
import anyio.to_thread
import structlog

from memoryd.errors import MemorydError
from memoryd.paths import Places, team_memory, user_memory
from memoryd.scopes import Scopes
from memoryd.store import Store
from memoryd.stored import MemoryDirectory
from memoryd.watch import Watcher
from memoryd.whereabouts import Identity

# The first look reads everything; whoever asks for recall at once must not wait behind it.
FIRST_LOOK_SECONDS: Final = 3.0
SWEEP_SECONDS: Final = 30.0
QUIET_SECONDS: Final = 60.0

log = structlog.get_logger(__name__)


class MemoryWatch:
    def __init__(self, places: Places, scopes: Scopes, store: Store) -> None:
        self._places = places
        self._scopes = scopes
        self._store = store
        self._watcher = Watcher(self._hint, self._doubt)
        self._known: dict[str, MemoryDirectory] = {}
        self._dirty: set[str] = set()
        self._woken = anyio.Event()

    async def run(self) -> None:
        """Looks until cancelled."""
        await anyio.to_thread.run_sync(self._clear_leftovers, abandon_on_cancel=True)
        await anyio.sleep(FIRST_LOOK_SECONDS)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._watcher.run)
            while True:
                self._woken = anyio.Event()
                folders = await anyio.to_thread.run_sync(self._sweep, abandon_on_cancel=True)
                self._watcher.set_folders(folders)
                with anyio.move_on_after(SWEEP_SECONDS):
                    await self._follow_hints()

    async def _follow_hints(self) -> None:
        """Looks at what is said to have changed, until somebody is in doubt."""
        while True:
            await self._woken.wait()
            self._woken = anyio.Event()
            dirty, self._dirty = self._dirty, set()
            if not dirty:
                return
            for path in dirty & self._known.keys():
                directory = self._known[path]
                await anyio.to_thread.run_sync(self._look, directory, abandon_on_cancel=True)

    def _hint(self, paths: set[str]) -> None:
        self._dirty |= {str(Path(path).parent) for path in paths} | paths
        self._woken.set()

    def _doubt(self) -> None:
        self._woken.set()

    def _sweep(self) -> dict[str, Identity]:
        """Looks everywhere; the folders that can be watched."""
        self._known = {one.path: one for one in self._directories()}
        folders: dict[str, Identity] = {}
        for directory in self._known.values():
            self._look(directory)
            try:
                facts = os.stat(directory.path)  # noqa: PTH116 - one look, beside the identity
            except OSError:
                continue
            folders[directory.path] = (facts.st_dev, facts.st_ino)
            if time.time() - facts.st_mtime > QUIET_SECONDS:
                self._mend(directory)
        return folders

    def _clear_leftovers(self) -> None:
        for directory in self._directories():
            with suppress(MemorydError, OSError):
                self._store.clear_leftovers(directory)

    def _look(self, directory: MemoryDirectory) -> None:
        try:
            changes = self._store.notice(directory)
        except (MemorydError, OSError) as error:
            log.warning("memories-unreadable", folder=directory.path, reason=str(error))
            return
        if changes:
            log.info("changed-outside", folder=directory.path, files=len(changes))

    def _mend(self, directory: MemoryDirectory) -> None:
        try:
            if self._store.repair(directory):
                log.info("index-mended", folder=directory.path)
        except (MemorydError, OSError) as error:
            log.warning("index-not-mended", folder=directory.path, reason=str(error))

    def _directories(self) -> Iterator[MemoryDirectory]:
        """Every memory directory on this machine that we may know of."""
        yield MemoryDirectory(user_memory(self._places), "user")
        found = {str(path) for path in Path(self._places.claude_dir).glob("projects/*/memory")}
        for path in sorted(filter(is_text, found | self._scopes.memory_paths())):
            yield MemoryDirectory(path, "project")
            team = team_memory(path)
            if Path(team).is_dir():
                yield MemoryDirectory(team, "team", beneath=path)


def is_text(path: str) -> bool:
    """Whether a path can be written down; one of bytes that are no UTF-8 cannot."""
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True
