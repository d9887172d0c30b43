"""Whatever was changed, by whomever, can be seen again and brought back."""

import os
from pathlib import Path

import pytest

from memoryd.base.errors import InvalidInput, NotFound
from memoryd.base.paths import places
from memoryd.memories.catalog import Catalog
from memoryd.memories.rules.topics import Topic, iso_time
from memoryd.memories.scopes import Scopes
from memoryd.memories.store import Store
from memoryd.memories.version_table import VersionTable
from memoryd.memories.versions import Versions
from memoryd.system.database import Database
from tests.support.times import NOW

DAY = 86_400.0


class World:
    """A store with a clock of its own."""

    def __init__(self, home: Path) -> None:
        self.now = NOW
        self.state = Database.open(str(home / "state.db"))
        self.history = VersionTable(self.state)
        self.store = Store(self.history, now=lambda: self.now)
        env = {"HOME": str(home)}
        self.scopes = Scopes(places(env, "linux", 1000, str(home)), env, self.state)
        self.memories = Catalog(self.scopes, self.store, lambda: self.now)
        self.versions = Versions(self.scopes, self.memories, self.store, self.history)
        self.cwd = str(home)
        self.directory = self.scopes.project(self.cwd).memory

    def save(self, name: str, body: str, supersedes: str | None = None) -> str:
        topic = Topic(name=name, description="d", type="project", body=body)
        saved = self.memories.save(self.cwd, topic, scope="project", supersedes=supersedes)
        self.now += DAY
        return Path(saved.path).name

    def edit(self, file: str, old: str, new: str) -> None:
        path = Path(self.directory.path) / file
        path.write_text(path.read_text().replace(old, new))

    def body(self, file: str) -> str:
        return self.store.read(self.directory, file).topic.body


@pytest.fixture
def world(home: Path) -> World:
    return World(home)


def test_every_change_is_a_version_newest_first(world: World) -> None:
    file = world.save("Database", "sqlite")
    world.edit(file, "sqlite", "postgres")
    world.store.notice(world.directory)
    world.memories.forget(world.cwd, file)
    causes = [(one.cause, one.sha256 != "") for one in world.versions.history(world.cwd, file)]
    assert causes == [("user", False), ("outside", True), ("user", True)]


def test_a_forget_can_be_undone(world: World) -> None:
    file = world.save("Database", "sqlite")
    world.memories.forget(world.cwd, file)
    world.versions.restore(world.cwd, file, None)
    assert world.body(file) == "sqlite"
    assert file in (Path(world.directory.path) / "MEMORY.md").read_text()


def test_without_a_version_a_restore_goes_one_step_back(world: World) -> None:
    file = world.save("Database", "sqlite")
    world.edit(file, "sqlite", "postgres")
    world.versions.restore(world.cwd, file, None)
    assert world.body(file) == "sqlite"
    world.versions.restore(world.cwd, file, None)
    assert world.body(file) == "postgres"


def test_any_version_can_be_named(world: World) -> None:
    file = world.save("Database", "one")
    for old, new in (("one", "two"), ("two", "three")):
        world.edit(file, old, new)
        world.store.notice(world.directory)
    oldest = world.versions.history(world.cwd, file)[-1]
    assert "one" in world.versions.text(world.cwd, file, oldest.version)
    world.versions.restore(world.cwd, file, oldest.version)
    assert world.body(file) == "one"


def test_what_has_no_past_says_so(world: World) -> None:
    file = world.save("Database", "one")
    with pytest.raises(InvalidInput):
        world.versions.restore(world.cwd, file, None)
    with pytest.raises(NotFound):
        world.versions.restore(world.cwd, file, 4711)
    with pytest.raises(NotFound):
        world.versions.history(world.cwd, "never.md")


def test_a_superseded_memory_is_recalled_again_after_a_restore(world: World) -> None:
    old = world.save("Old", "sqlite")
    new = world.save("New", "postgres", supersedes=old)
    assert [one.file for one in world.memories.list(world.cwd)] == [new]
    assert len(world.memories.list(world.cwd, retired=True)) == 2
    world.versions.restore(world.cwd, old, None)
    assert {one.file for one in world.memories.list(world.cwd)} == {old, new}


def test_what_was_believed_at_a_date_can_be_listed(world: World) -> None:
    began = world.now
    old = world.save("Old", "sqlite")
    new = world.save("New", "postgres", supersedes=old)
    world.memories.forget(world.cwd, old)

    def names(at: float) -> list[str]:
        found = world.memories.list(world.cwd, as_of=at)
        assert all(one.modified in {iso_time(began), iso_time(began + DAY)} for one in found)
        return [one.file for one in found]

    assert names(began - 1) == []
    assert names(began + DAY / 2) == [old]
    assert names(began + DAY * 1.5) == [new]
    assert names(world.now + 1) == [new]


def test_a_change_by_others_is_noticed_once_and_told(world: World) -> None:
    file = world.save("Database", "one")
    assert world.store.notice(world.directory) == []
    world.edit(file, "one", "two, at greater length")
    (Path(world.directory.path) / "theirs.md").write_text("---\nname: T\ntype: user\n---\nx")
    changes = world.store.notice(world.directory)
    assert sorted(change.file for change in changes) == sorted([file, "theirs.md"])
    assert world.store.notice(world.directory) == []
    (Path(world.directory.path) / "theirs.md").unlink()
    (gone,) = world.store.notice(world.directory)
    assert (gone.file, gone.version) == ("theirs.md", "")


def test_a_change_that_leaves_size_and_time_as_they_were_is_noticed(world: World) -> None:
    file = world.save("Database", "sqlite")
    path = Path(world.directory.path) / file
    while world.store.scan(world.directory)[0].mark is None:  # until it is no news
        world.store.notice(world.directory)
    for old, new in (("sqlite", "oracle"), ("oracle", "duckdb"), ("duckdb", "sqlite")):
        times = path.stat()
        world.edit(file, old, new)
        os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
        (change,) = world.store.notice(world.directory)
        assert (change.file, world.body(file)) == (file, new)
    assert len(world.versions.history(world.cwd, file)) == 4


def test_a_version_from_outside_is_attributed_once_its_author_is_known(world: World) -> None:
    file = world.save("Database", "one")
    world.edit(file, "one", "two")
    world.store.notice(world.directory)
    world.history.attribute(world.directory.path, file, cause="agent", session_id="s7")
    newest = world.versions.history(world.cwd, file)[0]
    assert (newest.cause, newest.session_id) == ("agent", "s7")


def test_old_versions_are_thinned_but_the_newest_stay(world: World) -> None:
    file = world.save("Counter", "n0")
    for number in range(30):
        world.edit(file, f"n{number}", f"n{number + 1}")
        world.store.notice(world.directory)
        world.now += DAY
    before = len(world.versions.history(world.cwd, file))
    assert world.history.thin_out(now=world.now, keep_days=365, keep_versions=20) == 0
    gone = world.history.thin_out(now=world.now + 400 * DAY, keep_days=365, keep_versions=20)
    kept = world.versions.history(world.cwd, file)
    assert (gone, len(kept)) == (before - 20, 20)
    assert "n30" in world.versions.text(world.cwd, file, kept[0].version)


@pytest.mark.parametrize("name", ["Release Notes.md", "ünïcode.md"])
def test_whatever_its_name_or_bytes_a_forgotten_file_comes_back_exactly(
    world: World, name: str
) -> None:
    data = (
        "token ghp_x7Kp2LmQ9vRt4WzB8nYc3HdF6jSg1TaE5uQo \u202e".encode() + b"\xff" + b"x" * 300_000
    )
    folder = Path(world.directory.path)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(data)
    world.memories.forget(world.cwd, name)
    world.versions.restore(world.cwd, name, None)
    assert (folder / name).read_bytes() == data
