"""Notices what other programs do to the memories: the agent, an editor, git, another machine.

- The folders where memories are, or may appear, are watched. A file that changes is looked at by
  itself, its directory only if many do; when a folder comes or goes, the list of directories is
  rebuilt.
- What the watch misses is found by a full scan: when the watcher reports doubt, every 30 seconds in
  any case, and every second if nothing can be watched.
- Changes become versions and events in batches, as fast as subscribers take them.
- An index is repaired only after its directory has been quiet for a minute: the agent writes a
  topic first and its line a moment later, and must not find its index changed in between. Agent
  memory inside a repository is scanned but never repaired.
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
from memoryd.base.remembered import forget
from memoryd.memories.directories import Layout, layout
from memoryd.memories.leftovers import clear_leftovers
from memoryd.memories.records import MemoryDirectory
from memoryd.memories.rules.topics import INDEX_FILE
from memoryd.memories.scopes import Scopes
from memoryd.memories.store import Store
from memoryd.system.bell import Bell
from memoryd.system.heap import give_back
from memoryd.system.watcher import Watcher

# The first scan reads everything; a recall right after the start must not wait for it.
FIRST_SCAN_SECONDS: Final = 1.0
SWEEP_SECONDS: Final = 30.0
UNWATCHED_SECONDS: Final = 1.0
QUIET_SECONDS: Final = 60.0
SLOWEST_SUBSCRIBER_SECONDS: Final = 0.5
# More than so many at once are found sooner by a scan.
FEW_FILES: Final = 50

P = ParamSpec("P")
R = TypeVar("R")

log = structlog.get_logger(__name__)


class Hints(msgspec.Struct, frozen=True):
    """What changed paths mean: files to look at, and whether there may be new directories."""

    files: dict[MemoryDirectory, set[str]]
    folders_changed: bool


class MemoryWatch:
    """`give_way` returns when the subscribers have received what was posted.

    `let_go` frees, in a thread, what is held in memory for work that is done now.
    """

    def __init__(
        self,
        places: Places,
        scopes: Scopes,
        store: Store,
        give_way: Callable[[], Awaitable[None]],
        let_go: Callable[[], None],
    ) -> None:
        self._places = places
        self._scopes = scopes
        self._store = store
        self._give_way = give_way
        self._let_go = let_go
        self._watcher = Watcher(self._hint, self._doubt, self._hang_bell)
        self._layout = Layout({}, {})
        self._above: frozenset[str] = frozenset()
        self._hints: set[str] = set()
        self._folders_changed = False
        self._is_in_doubt = False
        self._woken = anyio.Event()
        self._warned: dict[str, str] = {}
        self._repaired_at = -inf
        self._has_scanned = False
        self._started = time.time()

    def folders_changed(self) -> None:
        """There may be a new memory directory; to be called on the event loop."""
        self._folders_changed = True
        self._woken.set()

    async def run(self) -> None:
        """Watches until cancelled."""
        first_scan_at = anyio.current_time() + FIRST_SCAN_SECONDS
        await self._find_directories()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._watcher.run)
            tasks.start_soon(_in_thread, self._clear_leftovers)
            with anyio.move_on_after(first_scan_at - anyio.current_time()):
                while True:
                    await self._woken.wait()
                    await self._follow_hints()
            while True:
                took_seconds = await self._scan_everything()
                scanned_at = anyio.current_time()
                await self._repair_all()
                # The first scan leaves most behind.
                if forget() or not self._has_scanned:
                    self._has_scanned = True
                    await _in_thread(self._let_go)
                    await _in_thread(give_back)
                with anyio.move_on_after(self._pause_seconds(took_seconds)):
                    await self._follow_until_in_doubt()
                # Many doubts in a row share one scan.
                await anyio.sleep_until(scanned_at + min(took_seconds, UNWATCHED_SECONDS))

    async def _follow_until_in_doubt(self) -> None:
        while not self._is_in_doubt:
            await self._woken.wait()
            if not self._is_in_doubt:
                await self._follow_hints()

    def _pause_seconds(self, took_seconds: float) -> float:
        if self._watcher.problem:
            return min(max(UNWATCHED_SECONDS, 20 * took_seconds), SWEEP_SECONDS)
        return SWEEP_SECONDS

    def _hang_bell(self, folders: list[str]) -> Bell | None:
        """Where only a new directory may appear, as among transcripts, writing rings no bell."""
        known = self._layout
        return Bell.hang(
            folders, {one for one in folders if directory_of(f"{one}/", known) is None}
        )

    def _hint(self, paths: set[str]) -> None:
        self._hints |= paths
        self._woken.set()

    def _doubt(self) -> None:
        self._is_in_doubt = True
        self._woken.set()

    async def _follow_hints(self) -> None:
        """Scans what the watcher says has changed."""
        self._woken = anyio.Event()
        hints, self._hints = self._hints, set()
        folders_changed, self._folders_changed = self._folders_changed, False
        meant = await _in_thread(meaning_of, hints, self._layout, self._above)
        if folders_changed or meant.folders_changed:
            await self._find_directories()
        for directory, files in meant.files.items():
            await self._scan(directory, files if len(files) <= FEW_FILES else None)

    async def _scan_everything(self) -> float:
        """Returns how many seconds it took."""
        began = anyio.current_time()
        self._woken = anyio.Event()
        self._hints, self._folders_changed, self._is_in_doubt = set(), False, False
        await self._find_directories()
        for directory in list(self._layout.directories.values()):
            await self._scan(directory)
        return anyio.current_time() - began

    async def _find_directories(self) -> None:
        """Rebuilds the list of directories, and scans once more those that are gone."""
        before = self._layout.directories
        self._layout = await _in_thread(
            layout, self._places, self._scopes.memory_paths(), self._scopes.roots()
        )
        self._above = folders_above(self._layout.folders)
        self._watcher.set_folders(self._layout.folders)
        for path in before.keys() - self._layout.directories.keys():
            await self._scan(before[path])

    async def _scan(self, directory: MemoryDirectory, files: set[str] | None = None) -> None:
        changes = self._store.find_changes(directory, files)
        count = 0
        try:
            while (batch := await _in_thread(next, changes, None)) is not None:
                count += len(batch)
                if batch:
                    with anyio.move_on_after(SLOWEST_SUBSCRIBER_SECONDS):
                        await self._give_way()
        except (MemorydError, OSError) as error:
            self._warn("memories-unreadable", directory, error)
        if count:
            log.info("changed-outside", folder=directory.path, files=count)

    async def _repair_all(self) -> None:
        if anyio.current_time() - self._repaired_at < SWEEP_SECONDS:
            return
        self._repaired_at = anyio.current_time()
        for directory in list(self._layout.directories.values()):
            if directory.scope != "agent":
                await _in_thread(self._repair, directory)

    def _repair(self, directory: MemoryDirectory) -> None:
        try:
            is_quiet = time.time() - Path(directory.path).stat().st_mtime > QUIET_SECONDS
            if is_quiet and self._store.repair(directory):
                log.info("index-repaired", folder=directory.path)
        except FileNotFoundError:
            return
        except (MemorydError, OSError) as error:
            self._warn("index-not-repaired", directory, error)

    def _clear_leftovers(self) -> None:
        for directory in self._layout.directories.values():
            if directory.scope != "agent":
                with suppress(MemorydError, OSError):
                    self._store.clear_leftovers(directory)
        if removed := clear_leftovers(self._places, self._started):
            log.info("leftovers-removed", files=removed)

    def _warn(self, event: str, directory: MemoryDirectory, error: Exception) -> None:
        """Logs each reason once: every scan finds it again."""
        if self._warned.get(directory.path) != str(error):
            self._warned[directory.path] = str(error)
            log.warning(event, folder=directory.path, reason=str(error))


def meaning_of(hints: set[str], known: Layout, above: frozenset[str]) -> Hints:
    """What changed paths mean for us; asks the disk which of them are folders."""
    files: dict[MemoryDirectory, set[str]] = {}
    folders_changed = False
    for path in hints:
        if path in known.folders or path in above or os.path.isdir(path):  # noqa: PTH112 - many
            folders_changed = True
        elif path.endswith(".md") and basename(path) != INDEX_FILE:
            directory = directory_of(path, known)
            if directory is not None:
                files.setdefault(directory, set()).add(path.removeprefix(f"{directory.path}/"))
    return Hints(files, folders_changed)


def directory_of(path: str, known: Layout) -> MemoryDirectory | None:
    """The nearest memory directory above a path."""
    while path not in {"", "/"}:
        path = dirname(path)
        if path in known.directories:
            return known.directories[path]
    return None


def folders_above(folders: Iterable[str]) -> frozenset[str]:
    """All folders that contain these: a change to one of them affects those inside."""
    above: set[str] = set()
    for folder in folders:
        path = dirname(folder)
        while path not in above and path != "/":
            above.add(path)
            path = dirname(path)
    return frozenset(above)


async def _in_thread(work: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    return await anyio.to_thread.run_sync(lambda: work(*args, **kwargs), abandon_on_cancel=True)
