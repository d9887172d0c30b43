"""A memory that moves to another scope takes its history, its author and its counts along."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from memoryd.base.errors import InvalidInput, Refused
from memoryd.memories.moving import Mover, MoveTable, PlannedMove
from memoryd.memories.records import MemoryDirectory, Stored
from memoryd.memories.rules.topics import Topic
from memoryd.memories.store import Store
from memoryd.memories.version_table import VersionTable
from memoryd.system.database import Database
from memoryd.system.folder import version_of
from memoryd.system.notices import Notices

NOW = 1_794_000_000.0


class World:
    def __init__(self, folder: Path) -> None:
        self.database = Database.open(str(folder / "state.db"))
        self.versions = VersionTable(self.database)
        self.store = Store(self.versions, now=lambda: NOW)
        self.mover = Mover(self.store, self.versions, self.database, Notices(), lambda: NOW)
        self.project = MemoryDirectory(str(folder / "project"), "project")
        self.user = MemoryDirectory(str(folder / "user"), "user")

    def saved(self, directory: MemoryDirectory | None = None, body: str = "Be brief.") -> Stored:
        topic = Topic(
            name="Brief", description="length", type="feedback", body=body, trust="user-said"
        )
        return self.store.save(directory or self.project, topic, cause="extraction", session_id="s")

    def causes(self, directory: MemoryDirectory, file: str) -> list[str]:
        return [one.cause for one in self.versions.versions(directory.path, file)]

    def files(self, directory: MemoryDirectory) -> list[str]:
        return [one.file for one in self.store.scan(directory)]

    def index(self, directory: MemoryDirectory) -> str:
        return Path(directory.path, "MEMORY.md").read_text()


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path)
    yield made
    made.database.close()


def test_bytes_author_history_and_index_follow_and_come_back(world: World) -> None:
    old = world.saved()
    moved = world.mover.move(world.project, old.file, world.user)
    assert (moved.data, moved.modified, moved.origin) == (old.data, moved.modified, "user-said")
    assert world.files(world.project) == []
    assert world.causes(world.project, old.file) == []
    assert world.causes(world.user, moved.file) == ["move", "extraction"]
    assert old.file in world.index(world.user)
    assert old.file not in world.index(world.project)
    back = world.mover.move(world.user, moved.file, world.project)
    assert (back.path, back.data, back.origin) == (old.path, old.data, "user-said")
    assert world.causes(world.project, old.file) == ["move", "move", "extraction"]
    assert [one for change in world.store.find_changes(world.user) for one in change] == []


def test_a_taken_name_gets_a_number_and_nothing_is_overwritten(world: World) -> None:
    there = world.saved(world.user, "Another one.")
    old = world.saved()
    assert there.file == old.file
    moved = world.mover.move(world.project, old.file, world.user)
    assert moved.file != there.file
    assert sorted(world.files(world.user)) == sorted([there.file, moved.file])
    forgotten = world.saved(body="Third.")
    world.store.forget(world.user, moved.file, cause="user")
    again = world.mover.move(world.project, forgotten.file, world.user)
    assert again.file not in {there.file, moved.file}  # a forgotten one can still be restored


def test_a_link_that_would_name_another_memory_is_dropped(world: World) -> None:
    first = world.saved()
    topic = Topic(
        name="Briefer",
        description="length",
        type="feedback",
        body="Be briefer.",
        trust="user-said",
        supersedes=(first.file,),
    )
    new = world.store.save(world.project, topic, cause="user")
    assert new.topic.supersedes == (f".retired/{first.file}",)
    alike = world.saved(world.user, "Not to be retired.")
    world.store.retire(world.user, alike.file, cause="user")
    world.saved(world.user, "Not to be retired either.")
    moved = world.mover.move(world.project, new.file, world.user)
    assert moved.topic.supersedes == ()
    assert moved.origin == "user-said"
    alive = [one for one in world.store.scan(world.user) if not one.retired]
    assert len(alive) == 2


def test_what_is_there_already_or_retired_is_not_moved(world: World) -> None:
    old = world.saved()
    with pytest.raises(InvalidInput, match="already"):
        world.mover.move(world.project, old.file, world.project)
    retired = world.store.retire(world.project, old.file, cause="user")
    with pytest.raises(Refused, match="retired"):
        world.mover.move(world.project, retired, world.user)


@pytest.mark.parametrize("step", ["noted", "copied", "removed"])
def test_a_move_that_was_killed_is_whole_after_the_next_start(world: World, step: str) -> None:
    old = world.saved()
    planned = PlannedMove(world.project, old.file, world.user, old.file, version_of(old.data))
    MoveTable(world.database).begin(planned)
    if step in {"copied", "removed"}:
        Path(world.user.path).mkdir(mode=0o700)
        Path(world.user.path, old.file).write_bytes(old.data)
    if step == "removed":
        Path(old.path).unlink()
    assert world.mover.finish_interrupted() == 1
    home = world.project if step == "noted" else world.user
    other = world.user if step == "noted" else world.project
    assert world.files(home) == [old.file]
    assert world.files(other) == []
    assert "extraction" in world.causes(home, old.file)
    assert world.causes(other, old.file) == []
    assert world.mover.finish_interrupted() == 0


def test_an_original_that_was_changed_meanwhile_stays(world: World) -> None:
    old = world.saved()
    planned = PlannedMove(world.project, old.file, world.user, old.file, version_of(old.data))
    MoveTable(world.database).begin(planned)
    Path(world.user.path).mkdir(mode=0o700)
    Path(world.user.path, old.file).write_bytes(old.data)
    Path(old.path).write_text("A person's new words.\n")
    world.mover.finish_interrupted()
    assert Path(old.path).read_text() == "A person's new words.\n"
    assert world.files(world.user) == [old.file]
