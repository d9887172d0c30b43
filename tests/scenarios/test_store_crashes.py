"""A writer of memories that is killed, or whose disk fails, at every system call."""

import errno
import itertools
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from memoryd.base.errors import (
    MemorydError,
    StorageError,
)
from memoryd.memories.records import MemoryDirectory
from memoryd.memories.rules import index, retirement, topics
from memoryd.memories.rules.topics import Topic
from memoryd.memories.store import Store
from tests.memories.test_store import a_topic, index_of, names_in
from tests.support.fault_injection import FULL_AND_BROKEN, count_calls, failing_at, killed_at
from tests.support.thinning import thinned


def changes(store: Store, directory: MemoryDirectory) -> dict[str, Callable[[], object]]:
    """The ways to change a directory, each against the state that `prepare` makes."""
    fresh = MemoryDirectory(f"{directory.path}/slug/memory", "project")

    replacing = a_topic("Fresh", body="fresh " * 9000, supersedes=("user_old.md",))

    def overwrite() -> None:
        old = store.read(directory, "user_old.md")
        text = old.text.replace("old body", "new body")
        store.write(directory, "user_old.md", text, over=old.version, cause="user")

    return {
        "first": lambda: store.save(fresh, a_topic("Fresh", body="fresh " * 9000), cause="user"),
        "save": lambda: store.save(directory, a_topic("Fresh", body="fresh " * 9000), cause="user"),
        "overwrite": overwrite,
        "forget": lambda: store.forget(directory, "user_old.md", cause="user"),
        "replace": lambda: store.save(directory, replacing, cause="user"),
        "retire": lambda: store.retire(directory, "user_old.md", cause="user"),
        "bring back": lambda: store.bring_back(directory, ".retired/user_gone.md"),
    }


def prepare(store: Store, directory: MemoryDirectory) -> None:
    root = Path(directory.path)
    root.mkdir(exist_ok=True)
    shutil.rmtree(root / "slug", ignore_errors=True)
    shutil.rmtree(root / ".retired", ignore_errors=True)
    for path in root.iterdir():
        path.unlink()
    old = topics.render(Topic(name="Old", description="d", type="user", body="old body\n" * 5000))
    (root / "user_old.md").write_text(old)
    (root / "MEMORY.md").write_text("- [Old](user_old.md) — d\n")
    (root / ".retired").mkdir()
    gone = retirement.retired_text(old.replace("Old", "Gone"), superseded_by="", day="2026-01-01")
    (root / ".retired/user_gone.md").write_text(gone)
    store.scan(directory)


def check_whole(store: Store, directory: MemoryDirectory) -> set[str]:
    """Every file is old or new, none is torn, and a repair leaves nothing behind."""
    bodies = {b"old body": 5000, b"new body": 5000, b"fresh": 9000}
    root = Path(directory.path)
    for path in (*root.glob("*.md"), *root.glob(".retired/*.md")):
        if path.name != "MEMORY.md":
            raw = path.read_bytes()
            assert any(raw.count(word) in {count, 1} for word, count in bodies.items()), path
    store.repair(directory)
    files = {one.file for one in store.scan(directory)}
    assert not [name for name in names_in(directory) if name.endswith(".tmp")]
    pointed = set(index.whole_pointers(index_of(directory).splitlines()).values())
    assert pointed == files
    # What moves is afterwards in one place, never in both and never in none.
    assert (root / "user_gone.md").exists() != (root / ".retired/user_gone.md").exists()
    assert not ((root / "user_old.md").exists() and (root / ".retired/user_old.md").exists())
    return files


def check_nothing_is_lost(change: str, directory: MemoryDirectory) -> None:
    """A memory that was replaced is retired, and one that was not replaced is current."""
    root = Path(directory.path)
    is_retired = (root / ".retired/user_old.md").exists()
    if change == "replace":
        assert is_retired == (root / "feedback_fresh.md").exists()
    if change != "forget":
        assert is_retired != (root / "user_old.md").exists()


def has_happened(change: str, directory: MemoryDirectory) -> bool:
    root = Path(directory.path)
    if change == "first":
        return (root / "slug/memory/feedback_fresh.md").exists()
    if change in {"save", "replace"}:
        return (root / "feedback_fresh.md").exists()
    if change == "forget":
        return not (root / "user_old.md").exists()
    if change == "retire":
        return (root / ".retired/user_old.md").exists() and not (root / "user_old.md").exists()
    if change == "bring back":
        return (root / "user_gone.md").exists()
    return b"new body" in (root / "user_old.md").read_bytes()


def test_a_writer_killed_at_any_point_tears_and_loses_nothing(
    store: Store, directory: MemoryDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    points = 0
    for name, change in changes(store, directory).items():
        prepare(store, directory)
        calls = count_calls(monkeypatch, change)
        kills = list(itertools.product(range(1, calls + 1), (False, True)))
        points += len(kills)
        for number, after in thinned(kills):
            prepare(store, directory)
            acknowledged = killed_at(monkeypatch, number, change, after=after)
            check_whole(store, directory)
            assert has_happened(name, directory) or not acknowledged
            check_nothing_is_lost(name, directory)
    assert points >= 200


@pytest.mark.parametrize("code", FULL_AND_BROKEN, ids=errno.errorcode.__getitem__)
def test_a_full_or_broken_disk_is_reported_and_tears_nothing(
    store: Store, directory: MemoryDirectory, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    for name, change in changes(store, directory).items():
        prepare(store, directory)
        for number in thinned(range(1, count_calls(monkeypatch, change) + 1)):
            prepare(store, directory)
            error = failing_at(monkeypatch, number, code, change)
            assert error is None or isinstance(error, MemorydError)
            assert has_happened(name, directory) or isinstance(error, StorageError), (name, number)
            left = [one for one in names_in(directory) if one.endswith(".tmp")]
            assert left == [] or error is None
            check_whole(store, directory)
