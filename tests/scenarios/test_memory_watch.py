"""Changes by other programs are noticed at once, also in folders that appear later."""

import asyncio
import ctypes
import json
import os
import shutil
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest

from memoryd.base import paths
from memoryd.base.file_stamp import Identity
from memoryd.memories import directories, watch
from memoryd.memories.directories import layout
from memoryd.memories.records import DirectoryFound, MemoryChanged, MemoryDirectory
from memoryd.memories.scopes import Scopes
from memoryd.memories.store import Store
from memoryd.memories.version_table import VersionTable
from memoryd.memories.watch import MemoryWatch, folders_above, meaning_of
from memoryd.system.database import Database
from memoryd.system.notices import Notices

WAIT_SECONDS = 60
NEVER_SECONDS = 3600.0


@pytest.fixture(autouse=True)
def nothing_is_found_by_chance(monkeypatch: pytest.MonkeyPatch) -> None:
    """The regular full scan is off, so that only the watch finds changes."""
    monkeypatch.setattr(watch, "SWEEP_SECONDS", NEVER_SECONDS)
    monkeypatch.setattr(watch, "UNWATCHED_SECONDS", NEVER_SECONDS)


class Watched:
    """A home whose memories are watched; every posted change is kept."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.project = home / "app"
        self.project.mkdir()
        self.places = paths.places({"HOME": str(home)}, "linux", 0, str(home))
        self.database = Database.open(self.places.state_db)
        self.table = VersionTable(self.database)
        notices = Notices()
        self.scopes = Scopes(self.places, {}, self.database, notices)
        notices.on(MemoryChanged, self._tell)
        self.store = Store(self.table, now=lambda: 1_800_000_000.0, notices=notices)
        self.posted: list[MemoryChanged] = []
        self.gave_way = 0
        self._heard = anyio.Event()
        self._loop = asyncio.get_running_loop()
        self.watch = MemoryWatch(
            self.places, self.scopes, self.store, self._give_way, self.database.let_go
        )
        notices.on(DirectoryFound, lambda _: self.watch.folders_changed())

    def _tell(self, change: MemoryChanged) -> None:
        self._loop.call_soon_threadsafe(self._hear, change)

    def _hear(self, change: MemoryChanged) -> None:
        self.posted.append(change)
        self._heard.set()

    async def _give_way(self) -> None:
        self.gave_way += 1

    async def until_posted(self, path: Path, *, gone: bool = False) -> MemoryChanged:
        with anyio.fail_after(WAIT_SECONDS):
            while True:
                for change in self.posted:
                    is_it = f"{change.directory.path}/{change.file}" == str(path)
                    if is_it and change.cause == "outside" and (change.version == "") is gone:
                        return change
                self._heard = anyio.Event()
                await self._heard.wait()


def write(path: Path, body: str = "zirconium") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"---\nname: {path.stem}\ndescription: d\ntype: project\n---\n\n{body}\n")
    return path


@asynccontextmanager
async def watching(home: Path) -> AsyncIterator[Watched]:
    """Returns after the first scan, which finds everything."""
    made = Watched(home)
    first = write(home / ".claude/projects/-first/memory/first.md")
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(made.watch.run)
        await made.until_posted(first)
        yield made
        tasks.cancel_scope.cancel()
    made.database.close()


PLACES = [
    ".claude/projects/-first/memory/second.md",
    ".claude/projects/-first/memory/sub/a.md",
    ".claude/projects/-first/memory/team/t.md",
    ".claude/projects/-first/memory/team/sub/t.md",
    ".claude/projects/-new/memory/a.md",
    ".claude/projects/-new/memory/w/x/y/z/a.md",
    ".claude/projects/-new/memory/team/t.md",
    ".claude/memory/u.md",
    ".claude/memory/sub/u.md",
    ".claude/agent-memory/reviewer/r.md",
    ".claude/agent-memory/reviewer/sub/r.md",
    "app/.claude/agent-memory/reviewer/r.md",
    "app/.claude/agent-memory-local/reviewer/r.md",
]


@pytest.mark.parametrize("place", PLACES)
async def test_a_memory_in_a_new_folder_is_found_and_so_are_its_changes(
    home: Path, place: str
) -> None:
    async with watching(home) as seen:
        seen.scopes.project(str(seen.project))
        seen.watch.folders_changed()
        path = write(home / place)
        change = await seen.until_posted(path)
        (version,) = seen.table.versions(change.directory.path, change.file)
        assert version.cause == "outside"
        again = write(path.with_name("next.md"))
        await seen.until_posted(again)
        again.unlink()
        await seen.until_posted(again, gone=True)


async def test_a_project_with_a_configured_directory_is_watched_once_it_is_looked_up(
    home: Path,
) -> None:
    elsewhere = home / "notes/of/mine"
    settings = {"autoMemoryDirectory": str(elsewhere)}
    (home / ".claude/settings.json").write_text(json.dumps(settings))
    async with watching(home) as seen:
        assert seen.scopes.project(str(seen.project)).memory.path == str(elsewhere)
        await seen.until_posted(write(elsewhere / "a.md"))
        await seen.until_posted(write(elsewhere / "team/t.md"))


async def test_folders_that_are_moved_in_and_out_take_their_memories_with_them(
    home: Path,
) -> None:
    async with watching(home) as seen:
        memory = home / ".claude/projects/-first/memory"
        for number in range(2):
            write(home / f"checkout/a{number}.md")
        memory.rename(home / "away")
        await seen.until_posted(memory / "first.md", gone=True)
        (home / "checkout").rename(memory)
        await seen.until_posted(memory / "a0.md")
        await seen.until_posted(memory / "a1.md")
        (home / ".claude/projects/-first").rename(home / ".claude/projects/-renamed")
        await seen.until_posted(memory / "a0.md", gone=True)
        await seen.until_posted(home / ".claude/projects/-renamed/memory/a0.md")


async def test_the_memory_of_a_new_agent_is_found(home: Path) -> None:
    shutil.rmtree(home / ".claude")
    made = Watched(home)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(made.watch.run)
        await made.until_posted(write(home / ".claude/projects/-new/memory/a.md"))
        tasks.cancel_scope.cancel()
    made.database.close()


async def test_without_a_working_watch_memories_are_found_by_scanning(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def limited(*_: object) -> object:
        raise OSError('OS file watch limit reached. about ["/a/path"]')

    monkeypatch.setattr("memoryd.system.watcher.RustNotify", limited)
    monkeypatch.setattr(watch, "UNWATCHED_SECONDS", 0.01)
    async with watching(home) as seen:
        await seen.until_posted(write(home / ".claude/memory/sub/u.md"))


async def test_many_changes_are_posted_in_batches(home: Path) -> None:
    async with watching(home) as seen:
        count = 180
        folder = home / "checkout"
        for number in range(count):
            write(folder / f"m{number}.md")
        before = seen.gave_way
        folder.rename(home / ".claude/memory")
        for number in range(count):
            await seen.until_posted(home / f".claude/memory/m{number}.md")
        assert seen.gave_way - before >= count // 50


def rewritten(path: Path, metal: str = "zirconium") -> None:
    """In place, by one write, so that no reader sees half of it."""
    text = path.read_bytes().replace(b"copper", metal.encode())
    with path.open("r+b", buffering=0) as file:
        file.write(text)


def rewritten_under_its_old_times(path: Path) -> None:
    before = path.stat()
    rewritten(path, "nickel")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert path.stat().st_size == before.st_size


def twin_of(path: Path, metal: str) -> Path:
    """Another file of the same size and the same times."""
    twin, times = path.with_suffix(".twin"), path.stat()
    twin.write_bytes(path.read_bytes().replace(b"copper", metal.encode()))
    os.utime(twin, ns=(times.st_atime_ns, times.st_mtime_ns))
    return twin


def replaced(path: Path) -> None:
    twin_of(path, "silver").replace(path)


def swapped(path: Path) -> None:
    exchange, here = 2, -100  # RENAME_EXCHANGE, AT_FDCWD
    names = [os.fsencode(one) for one in (twin_of(path, "cobalt"), path)]
    done = ctypes.CDLL(None).renameat2(here, names[0], here, names[1], exchange)
    assert done == 0


def added(path: Path) -> None:
    write(path.with_suffix(".aside")).rename(path)


CHANGES: list[Callable[[Path], None]] = [rewritten, rewritten_under_its_old_times, replaced, added]
CHANGES += [swapped] if sys.platform == "linux" else [replaced]


async def test_of_fifty_changes_by_others_none_is_missed_and_each_kind_can_be_undone(
    home: Path,
) -> None:
    folder = home / ".claude/projects/-first/memory"
    done = {folder / f"m{number}.md": CHANGES[number % len(CHANGES)] for number in range(50)}
    before = {path: write(path, "copper").read_bytes() for path in done if done[path] is not added}
    async with watching(home) as seen:
        for path in before:
            await seen.until_posted(path)
        seen.posted.clear()
        for path, make in done.items():
            make(path)
        for path in done:
            change = await seen.until_posted(path)
            versions = seen.table.versions(str(folder), path.name)
            assert [one.cause for one in versions] == ["outside"] * (1 + (path in before))
            texts = [seen.table.content(str(folder), path.name, one.version) for one in versions]
            assert texts == [path.read_bytes(), *([before[path]] if path in before else [])]
        for path in list(before)[: len(CHANGES)]:
            versions = seen.table.versions(str(folder), path.name)
            old = seen.table.content(str(folder), path.name, versions[-1].version)
            now = seen.store.read(change.directory, path.name).version
            seen.store.restore(change.directory, path.name, old, over=now)
            assert path.read_bytes() == before[path]


# --- the rules ------------------------------------------------------------------------------------


def test_no_link_below_a_project_is_followed(home: Path) -> None:
    app, outside = home / "app", home / "outside"
    write(outside / "reviewer/r.md")
    write(outside / "t.md")
    (app / ".claude").mkdir(parents=True)
    (app / ".claude/agent-memory").symlink_to(outside)
    (app / ".claude/agent-memory-local").mkdir()
    (app / ".claude/agent-memory-local/reviewer").symlink_to(outside)
    memory = home / ".claude/projects/-app/memory"
    write(memory / "a.md")
    (memory / "team").symlink_to(outside)
    (memory / "sub").symlink_to(outside)
    places = paths.places({"HOME": str(home)}, "linux", 0, str(home))
    found = layout(places, set(), {str(app)})
    assert set(found.directories) == {str(memory)}
    assert not any(path.startswith((str(outside), f"{memory}/")) for path in found.folders)
    assert str(app / ".claude") in found.folders
    assert str(app / ".claude/agent-memory") not in found.folders


@pytest.mark.parametrize("root", ["/", "/tmp/", "//", "relative/root", "."])
def test_a_project_with_an_odd_root_does_not_break_the_search(home: Path, root: str) -> None:
    places = paths.places({"HOME": str(home)}, "linux", 0, str(home))
    found = layout(places, {"relative/memory"}, {root})
    assert str(home / ".claude/projects") in found.folders
    assert "/" not in found.folders


def test_only_so_many_folders_are_watched(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(directories, "MOST_FOLDERS", 5)
    memory = home / ".claude/projects/-app/memory"
    for number in range(9):
        (memory / f"sub{number}").mkdir(parents=True)
    places = paths.places({"HOME": str(home)}, "linux", 0, str(home))
    found = layout(places, set(), set())
    assert len(found.folders) == 5
    assert str(memory) in found.folders


def test_other_files_beside_memories_are_ignored(tmp_path: Path) -> None:
    memory, here = MemoryDirectory("/p/memory", "project"), str(tmp_path)
    folders: dict[str, Identity] = {"/p/memory": (1, 1), "/p/memory/sub": (1, 2), here: (1, 3)}
    known = directories.Layout({memory.path: memory}, folders)

    def meant(*hints: str) -> tuple[list[str], bool]:
        found = meaning_of(set(hints), known, folders_above(folders))
        files = sorted(f"{at.path}: {file}" for at, own in found.files.items() for file in own)
        return files, found.folders_changed

    both = ["/p/memory: a.md", "/p/memory: sub/b.md"]
    assert meant("/p/memory/a.md", "/p/memory/sub/b.md") == (both, False)
    assert meant("/p/memory/MEMORY.md", "/p/memory/.x.tmp", f"{here}/x.jsonl") == ([], False)
    assert meant("/q/a.md") == ([], False)
    assert meant("/p/memory/sub") == ([], True)
    assert meant("/p") == ([], True)
    (tmp_path / "new").mkdir()
    assert meant(f"{here}/new") == ([], True)
