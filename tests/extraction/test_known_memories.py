"""Memories are read once, and again when something about them has changed."""

import os
from pathlib import Path

import pytest

from memoryd.extraction.known_memories import KnownMemories
from memoryd.memories.records import MemoryDirectory
from memoryd.memories.rules.topics import Topic
from memoryd.memories.store import Store
from memoryd.memories.version_table import VersionTable
from memoryd.system.database import Database

NOW = 1_794_000_000.0


@pytest.fixture
def store(database: Database) -> Store:
    return Store(VersionTable(database), now=lambda: NOW)


@pytest.fixture
def directory(tmp_path: Path) -> MemoryDirectory:
    return MemoryDirectory(str(tmp_path / "memory"), "project")


def saved(store: Store, directory: MemoryDirectory, name: str, body: str) -> Path:
    topic = Topic(name=name, type="project", trust="user-said", body=f"{body}\n")
    path = Path(directory.path) / store.save(directory, topic, cause="extraction").file
    os.utime(path, (NOW - 3600, NOW - 3600))
    return path


def cores(memories: KnownMemories, directory: MemoryDirectory) -> dict[str, str]:
    return {one.stored.file: one.core for one in memories.of(directory)}


def test_a_file_that_changed_is_read_again(store: Store, directory: MemoryDirectory) -> None:
    one = saved(store, directory, "The queue", "The queue is drained by hand.")
    other = saved(store, directory, "The cache", "The cache lives in memory.")
    memories = KnownMemories(store)
    assert set(cores(memories, directory)) == {one.name, other.name}
    one.write_text(one.read_text().replace("by hand", "every night"))
    assert cores(memories, directory)[one.name] == "The queue is drained every night."
    other.unlink()
    assert set(cores(memories, directory)) == {one.name}


def test_who_wrote_a_file_may_become_known_later(
    store: Store, directory: MemoryDirectory, database: Database
) -> None:
    path = saved(store, directory, "The queue", "The queue is drained by hand.")
    text = path.read_text().replace("by hand", "at noon")
    path.write_text(text)
    memories = KnownMemories(store)
    assert [one.topic.trust for one in memories.of(directory)] == ["found"]
    VersionTable(database).origins.note(text.encode(), "user-said")
    assert [one.topic.trust for one in memories.of(directory)] == ["user-said"]
