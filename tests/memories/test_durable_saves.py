"""When a save returns, its topic and its index are durable; when they are not, it fails."""

import errno
import os
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from stat import S_ISDIR

import pytest

from memoryd.base.errors import StorageError
from memoryd.memories.records import MemoryDirectory
from memoryd.memories.rules.topics import Topic
from memoryd.memories.store import Store
from memoryd.memories.version_table import VersionTable
from memoryd.system.database import Database
from tests.support.times import NOW


def topic(name: str, supersedes: tuple[str, ...] = ()) -> Topic:
    return Topic(name=name, type="project", body="Use tabs.\n", supersedes=supersedes)


@contextmanager
def synced(directory: MemoryDirectory, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[set[str]]]:
    """What was in the folder at each sync of it."""
    real, found = os.fsync, list[set[str]]()

    def noted(handle: int) -> None:
        if os.path.samestat(os.fstat(handle), Path(directory.path).stat()):
            found.append({path.name for path in Path(directory.path).iterdir()})
        real(handle)

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", noted)
        yield found


@contextmanager
def failing_syncs(monkeypatch: pytest.MonkeyPatch, most: int) -> Iterator[None]:
    """So many syncs of folders fail; the kernel tells of a lost write only once."""
    real, left = os.fsync, [None] * most

    def failing(handle: int) -> None:
        if left and S_ISDIR(os.fstat(handle).st_mode):
            left.pop()
            raise OSError(errno.EIO, "not synced")
        real(handle)

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", failing)
        yield


def test_a_topic_is_synced_before_its_index_and_both_before_the_end(
    store: Store, directory: MemoryDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.save(directory, topic("First"), cause="user")
    with synced(directory, monkeypatch) as found:
        file = store.save(directory, topic("Second"), cause="user").file
    assert all(file in names for names in found)
    assert found[-1] == {"MEMORY.md", "project_first.md", file}


def test_a_topic_is_synced_where_its_index_cannot_be_written(
    store: Store, directory: MemoryDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    (Path(directory.path) / "MEMORY.md").mkdir(parents=True)
    with synced(directory, monkeypatch) as found:
        file = store.save(directory, topic("First"), cause="user").file
    assert file in found[-1]


def test_a_topic_is_synced_where_there_is_no_index(
    database: Database, directory: MemoryDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path(directory.path).mkdir()
    store = Store(VersionTable(database), now=lambda: NOW, skip_index=True)
    with synced(directory, monkeypatch) as found:
        file = store.save(directory, topic("First"), cause="user").file
    assert file in found[-1]


def test_a_topic_is_synced_where_its_version_cannot_be_recorded(
    store: Store, database: Database, directory: MemoryDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.save(directory, topic("First"), cause="user")
    refuse = "begin select raise(abort, 'no room'); end"
    database.run(f"create trigger full before insert on versions {refuse}")
    with synced(directory, monkeypatch) as found:
        file = store.save(directory, topic("Second"), cause="user").file
    assert file in found[-1]


def test_what_is_superseded_is_removed_after_its_successor_was_synced(
    store: Store, directory: MemoryDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = store.save(directory, topic("First"), cause="user").file
    with synced(directory, monkeypatch) as found:
        new = store.save(directory, topic("Second", supersedes=(old,)), cause="user").file
    assert {old, new} <= found[next(at for at, names in enumerate(found) if new in names)]


@pytest.mark.parametrize("times", [1, 100])
def test_a_save_that_cannot_be_synced_fails_and_is_not_announced(
    store: Store, directory: MemoryDirectory, monkeypatch: pytest.MonkeyPatch, times: int
) -> None:
    store.save(directory, topic("First"), cause="user")
    with failing_syncs(monkeypatch, times), pytest.raises(StorageError):
        store.save(directory, topic("Second"), cause="user")
    assert "project_second.md" not in (Path(directory.path) / "MEMORY.md").read_text()
    assert store.save(directory, topic("Third"), cause="user").number == 1


def test_saves_that_wait_are_synced_before_any_of_them_returns(
    store: Store, directory: MemoryDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.save(directory, topic("First"), cause="user")
    began = threading.Event()

    def save(name: str) -> tuple[str, set[str]]:
        assert began.wait(60)
        file = store.save(directory, topic(name), cause="user").file
        return file, set.union(*found)

    with synced(directory, monkeypatch) as found, ThreadPoolExecutor(8) as pool:
        saves = [pool.submit(save, f"Number {at}") for at in range(8)]
        began.set()
        assert all(file in names for file, names in (one.result(60) for one in saves))
