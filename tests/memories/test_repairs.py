"""A repair that has nothing to do is told by stamps, and one that has something to do never is."""

import os
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from memoryd.memories.kept_files import LEAST_MEMORIES, KeptFiles
from memoryd.memories.records import MemoryDirectory
from memoryd.memories.rules.topics import Topic
from memoryd.memories.store import Store
from memoryd.memories.version_table import VersionTable
from memoryd.system.database import Database

NOON = 2_000_000_000.0  # of 2033-05-18, when every file here has long been settled


class Clock:
    def __init__(self) -> None:
        self.now = NOON

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    with closing(Database.open(str(tmp_path / "state.db"))) as opened:
        yield opened


def a_store(database: Database, clock: Clock, tmp_path: Path) -> Store:
    return Store(VersionTable(database), now=clock, kept=KeptFiles(str(tmp_path / "state")))


def filled(tmp_path: Path, **more: str) -> MemoryDirectory:
    root = tmp_path / "memory"
    root.mkdir()
    for number in range(LEAST_MEMORIES):
        (root / f"m{number}.md").write_text(f"---\nname: Memory {number}\n---\nx\n")
    for name, text in more.items():
        (root / f"{name}.md").write_text(text)
    return MemoryDirectory(str(root), "project")


def repaired(store: Store, directory: MemoryDirectory) -> bool:
    """As the watch does it: after a look at all files."""
    for _ in store.find_changes(directory):
        pass
    return store.repair(directory)


def holds_headers(store: Store, directory: MemoryDirectory) -> bool:
    return store._scanner.held(directory) is not None


@pytest.fixture
def store(database: Database, clock: Clock, tmp_path: Path) -> Store:
    return a_store(database, clock, tmp_path)


def test_headers_that_only_a_repair_wanted_are_let_go(store: Store, tmp_path: Path) -> None:
    directory = filled(tmp_path)
    assert repaired(store, directory)  # it makes the index
    assert not holds_headers(store, directory)
    assert not repaired(store, directory)
    assert not holds_headers(store, directory)
    fresh = Store(store._versions, now=store._now)
    assert not repaired(fresh, directory)
    assert not holds_headers(fresh, directory)
    assert not repaired(fresh, directory)  # nothing is read
    fresh.scan(directory)
    assert not repaired(fresh, directory)
    assert holds_headers(fresh, directory)
    (Path(directory.path) / "MEMORY.md").write_text("")
    assert repaired(fresh, directory)
    assert holds_headers(fresh, directory)


def test_a_save_does_not_wait_for_a_repair_that_reads_headers(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    directory = filled(tmp_path)
    is_reading, may_go_on, real = threading.Event(), threading.Event(), os.open

    def slow(path: str, *args: Any, **kwargs: Any) -> int:
        if threading.current_thread().name.startswith("repair") and path == "m7.md":
            is_reading.set()
            assert may_go_on.wait(60)
        return real(path, *args, **kwargs)

    with monkeypatch.context() as patched, ThreadPoolExecutor(1, "repair") as pool:
        patched.setattr(os, "open", slow)
        repair = pool.submit(store.repair, directory)
        try:
            assert is_reading.wait(60)
            topic = Topic(name="Meanwhile", type="user", body="x\n")
            with ThreadPoolExecutor(1) as other:
                # Its own line is all it writes, so it needs no header either.
                (tmp_path / "memory/MEMORY.md").write_text("- [Memory 1](m1.md)\n")
                saved = other.submit(store.save, directory, topic, cause="user").result(60)
        finally:
            may_go_on.set()
        assert repair.result(60)
    lines = (tmp_path / "memory/MEMORY.md").read_text()
    assert f"({saved.file})" in lines
    assert lines.count("\n") == LEAST_MEMORIES + 1


@pytest.mark.parametrize("is_new_store", [False, True])
def test_whatever_changes_is_repaired(
    store: Store, database: Database, clock: Clock, tmp_path: Path, *, is_new_store: bool
) -> None:
    directory = filled(tmp_path)
    repaired(store, directory)
    repaired(store, directory)
    assert not repaired(store, directory)

    def after_a_change() -> Store:
        return a_store(database, clock, tmp_path) if is_new_store else store

    index = tmp_path / "memory/MEMORY.md"
    whole = index.read_text()
    index.write_text(whole.partition("\n")[2])
    assert repaired(after_a_change(), directory)
    assert sorted(index.read_text().splitlines()) == sorted(whole.splitlines())
    repaired(after_a_change(), directory)
    (tmp_path / "memory/m7.md").unlink()
    assert repaired(after_a_change(), directory)
    assert "(m7.md)" not in index.read_text()
    repaired(after_a_change(), directory)
    (tmp_path / "memory/m8.md").write_text("---\nname: Memory 8\nretired: 2020-01-01\n---\nx\n")
    assert repaired(after_a_change(), directory)
    assert "(m8.md)" not in index.read_text()


def test_after_a_start_nothing_is_read_to_find_nothing(
    store: Store, database: Database, clock: Clock, tmp_path: Path
) -> None:
    directory = filled(tmp_path)
    repaired(store, directory)
    repaired(store, directory)
    again = a_store(database, clock, tmp_path)
    with os.scandir(tmp_path / "state/shelves") as entries:
        for entry in entries:
            if entry.name.endswith(".headers"):
                Path(entry.path).unlink()
    assert not repaired(again, directory)
    assert not list((tmp_path / "state/shelves").glob("*.headers"))


def test_a_damaged_note_counts_for_nothing(
    store: Store, database: Database, clock: Clock, tmp_path: Path
) -> None:
    directory = filled(tmp_path)
    repaired(store, directory)
    repaired(store, directory)
    (note,) = (tmp_path / "state/shelves").glob("*.repaired")
    data = bytearray(note.read_bytes())
    data[-1] ^= 1
    note.write_bytes(data)
    (tmp_path / "memory/MEMORY.md").write_text("- [Memory 1](m1.md)\n")
    assert repaired(a_store(database, clock, tmp_path), directory)


def test_a_memory_that_ends_by_its_date_loses_its_line_then(
    store: Store, clock: Clock, tmp_path: Path
) -> None:
    directory = filled(tmp_path, ending="---\nname: Ending\nvalid_until: 2033-05-20\n---\nx\n")
    repaired(store, directory)
    assert not repaired(store, directory)
    clock.now += 2 * 86_400
    assert not repaired(store, directory)
    assert "(ending.md)" in (tmp_path / "memory/MEMORY.md").read_text()
    clock.now += 86_400
    assert repaired(store, directory)
    assert "(ending.md)" not in (tmp_path / "memory/MEMORY.md").read_text()


def test_a_repair_right_after_a_file_was_put_back_gives_it_its_line(
    database: Database, clock: Clock, tmp_path: Path
) -> None:
    store, directory = a_store(database, clock, tmp_path), filled(tmp_path)
    while repaired(store, directory):
        pass
    moved = b"---\nname: Moved\n---\nx\n"
    store.put_back(directory, "moved.md", moved, over=None, cause="restore")
    assert store.repair(directory)
    assert "(moved.md)" in (Path(directory.path) / "MEMORY.md").read_text()


def test_a_repair_leaves_a_directory_alone_that_was_moved_away_meanwhile(
    database: Database, clock: Clock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, directory = a_store(database, clock, tmp_path), filled(tmp_path)
    while repaired(store, directory):
        pass
    memory, away = Path(directory.path), tmp_path / "away"
    before = (memory / "MEMORY.md").read_text()
    (memory / "new.md").write_text("---\nname: New\n---\nx\n")
    real = store._scanner.snapshot

    def moving(place: MemoryDirectory) -> Any:
        found = real(place)
        if not away.exists():
            memory.rename(away)
            memory.mkdir()
            (memory / "other.md").write_text("---\nname: Other\n---\nx\n")
        return found

    monkeypatch.setattr(store._scanner, "snapshot", moving)
    repaired(store, directory)
    assert (away / "MEMORY.md").read_text() == before
    assert (memory / "MEMORY.md").read_text() == "- [Other](other.md)\n"


def test_nothing_is_held_of_a_directory_that_is_gone(
    database: Database, clock: Clock, tmp_path: Path
) -> None:
    store, directory = a_store(database, clock, tmp_path), filled(tmp_path)
    while repaired(store, directory):
        pass
    Path(directory.path).rename(tmp_path / "away")
    assert not repaired(store, directory)
    assert (store._repairs._digests, store._repairs._repaired) == ({}, {})
    assert store._scanner._noted_from == {}
