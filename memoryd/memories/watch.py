"""Sees what others do to the memories: the agent, an editor, git, another machine.

- The folders in which memories lie, or may come to lie, are watched. A file that changes there has
  its directory looked at; a folder that comes or goes has all of them found anew.
- Whatever the watch may have missed is found by looking everywhere: when the watch is in doubt, and
  every half a minute in any case, or every second where nothing can be watched.
- What is found becomes versions and events, some at a time, as subscribers can take it; recall
  follows.
- An index is mended only once its directory has been quiet for a minute: the agent writes a topic
  first and its line a moment later, and must not find its index changed in between. What belongs to
  a repository, the memory of its agents, is looked at and never mended.
"""

import os
import time
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from math import inf
from pathlib import Path
from posixpath import basename, dirname
from typing import Final, ParamSpec, TypeVar

import anyio
import anyio.to_thread
import msgspec
import structlog

from memoryd.base.errors import MemorydError
from memoryd.base.paths import Places
from memoryd.memories.directories import Layout, layout
from memoryd.memories.leftovers import clear_leftovers
from memoryd.memories.records import MemoryDirectory
from memoryd.memories.rules.topics import INDEX_FILE
from memoryd.memories.scopes import Scopes
from memoryd.memories.store import Store
from memoryd.system.watcher import Watcher

# The first look reads everything; whoever asks for recall at once must not wait behind it.
FIRST_LOOK_SECONDS: Final = 1.0
SWEEP_SECONDS: Final = 30.0
UNWATCHED_SECONDS: Final = 1.0
QUIET_SECONDS: Final = 60.0
SLOWEST_SUBSCRIBER_SECONDS: Final = 0.5

P = ParamSpec("P")
R = TypeVar("R")

log = structlog.get_logger(__name__)


class Hints(msgspec.Struct, frozen=True):
    """What changed paths mean: directories to look at, and whether there may be other ones now."""

    directories: list[MemoryDirectory]
    folders_changed: bool


class MemoryWatch:
    """`give_way` returns when the subscribers have what was told."""

    def __init__(
        self,
        places: Places,
        scopes: Scopes,
        store: Store,
        give_way: Callable[[], Awaitable[None]],
    ) -> None:
        self._places = places
        self._scopes = scopes
        self._store = store
        self._give_way = give_way
        self._watcher = Watcher(self._hint, self._doubt)
        self._layout = Layout({}, {})
        self._above: frozenset[str] = frozenset()
        self._hints: set[str] = set()
        self._folders_are_news = False
        self._is_in_doubt = False
        self._woken = anyio.Event()
        self._warned: dict[str, str] = {}
        self._mended_at = -inf
        self._started = time.time()

    def folders_changed(self) -> None:
        """There may be a memory directory that was not known before; on the event loop."""
        self._folders_are_news = True
        self._woken.set()

    async def run(self) -> None:
        """Looks until cancelled."""
        first_look_at = anyio.current_time() + FIRST_LOOK_SECONDS
        await self._look_around()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._watcher.run)
            tasks.start_soon(_in_thread, self._clear_leftovers)
            with anyio.move_on_after(first_look_at - anyio.current_time()):
                while True:
                    await self._woken.wait()
                    await self._follow_hints()
            while True:
                took_seconds = await self._look_everywhere()
                looked_at = anyio.current_time()
                await self._mend_all()
                with anyio.move_on_after(self._pause_seconds(took_seconds)):
                    await self._follow_until_in_doubt()
                # Doubts that come in a storm share a look.
                await anyio.sleep_until(looked_at + min(took_seconds, UNWATCHED_SECONDS))

    async def _follow_until_in_doubt(self) -> None:
        while not self._is_in_doubt:
            await self._woken.wait()
            if not self._is_in_doubt:
                await self._follow_hints()

    def _pause_seconds(self, took_seconds: float) -> float:
        if self._watcher.problem:
            return min(max(UNWATCHED_SECONDS, 20 * took_seconds), SWEEP_SECONDS)
        return SWEEP_SECONDS

    def _hint(self, paths: set[str]) -> None:
        self._hints |= paths
        self._woken.set()

    def _doubt(self) -> None:
        self._is_in_doubt = True
        self._woken.set()

    async def _follow_hints(self) -> None:
        """Looks at what is said to have changed."""
        self._woken = anyio.Event()
        hints, self._hints = self._hints, set()
        are_news, self._folders_are_news = self._folders_are_news, False
        meant = await _in_thread(meaning_of, hints, self._layout, self._above)
        if are_news or meant.folders_changed:
            await self._look_around()
        for directory in meant.directories:
            await self._look(directory)

    async def _look_everywhere(self) -> float:
        """How many seconds it took."""
        began = anyio.current_time()
        self._woken = anyio.Event()
        self._hints, self._folders_are_news, self._is_in_doubt = set(), False, False
        await self._look_around()
        for directory in list(self._layout.directories.values()):
            await self._look(directory)
        return anyio.current_time() - began

    async def _look_around(self) -> None:
        """Finds out anew where memories lie, and looks once more where none lie any longer."""
        before = self._layout.directories
        self._layout = await _in_thread(
            layout, self._places, self._scopes.memory_paths(), self._scopes.roots()
        )
        self._above = folders_above(self._layout.folders)
        self._watcher.set_folders(self._layout.folders)
        for path in before.keys() - self._layout.directories.keys():
            await self._look(before[path])

    async def _look(self, directory: MemoryDirectory) -> None:
        changes = self._store.noticing(directory)
        count = 0
        try:
            while (some := await _in_thread(next, changes, None)) is not None:
                count += len(some)
                if some:
                    with anyio.move_on_after(SLOWEST_SUBSCRIBER_SECONDS):
                        await self._give_way()
        except (MemorydError, OSError) as error:
            self._warn("memories-unreadable", directory, error)
        if count:
            log.info("changed-outside", folder=directory.path, files=count)

    async def _mend_all(self) -> None:
        if anyio.current_time() - self._mended_at < SWEEP_SECONDS:
            return
        self._mended_at = anyio.current_time()
        for directory in list(self._layout.directories.values()):
            if directory.scope != "agent":
                await _in_thread(self._mend, directory)

    def _mend(self, directory: MemoryDirectory) -> None:
        try:
            is_quiet = time.time() - Path(directory.path).stat().st_mtime > QUIET_SECONDS
            if is_quiet and self._store.repair(directory):
                log.info("index-mended", folder=directory.path)
        except FileNotFoundError:
            return
        except (MemorydError, OSError) as error:
            self._warn("index-not-mended", directory, error)

    def _clear_leftovers(self) -> None:
        for directory in self._layout.directories.values():
            if directory.scope != "agent":
                with suppress(MemorydError, OSError):
                    self._store.clear_leftovers(directory)
        if removed := clear_leftovers(self._places, self._started):
            log.info("leftovers-removed", files=removed)

    def _warn(self, event: str, directory: MemoryDirectory, error: Exception) -> None:
        """Once for each reason: the next look finds it again."""
        if self._warned.get(directory.path) != str(error):
            self._warned[directory.path] = str(error)
            log.warning(event, folder=directory.path, reason=str(error))


def meaning_of(hints: set[str], known: Layout, above: frozenset[str]) -> Hints:
    """What these paths are to us; looks at those that may be folders."""
    directories: dict[str, MemoryDirectory] = {}
    folders_changed = False
    for path in hints:
        if path in known.folders or path in above or os.path.isdir(path):  # noqa: PTH112 - many
            folders_changed = True
        elif path.endswith(".md") and basename(path) != INDEX_FILE:
            directory = directory_of(path, known)
            if directory is not None:
                directories[directory.path] = directory
    return Hints(list(directories.values()), folders_changed)


def directory_of(path: str, known: Layout) -> MemoryDirectory | None:
    """The nearest memory directory above a path."""
    while path not in {"", "/"}:
        path = dirname(path)
        if path in known.directories:
            return known.directories[path]
    return None


def folders_above(folders: Iterable[str]) -> frozenset[str]:
    """All that these folders lie in: whatever happens to one of those, happens to them."""
    above: set[str] = set()
    for folder in folders:
        path = dirname(folder)
        while path not in above and path != "/":
            above.add(path)
            path = dirname(path)
    return frozenset(above)


async def _in_thread(work: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    return await anyio.to_thread.run_sync(lambda: work(*args, **kwargs), abandon_on_cancel=True)
