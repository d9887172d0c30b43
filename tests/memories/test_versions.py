"""Every earlier version can be shown and restored, no matter who changed it."""

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

import pytest

from memoryd.base.errors import InvalidInput, NotFound
from memoryd.base.file_stamp import FileStamp
from memoryd.base.paths import places
from memoryd.base.timestamps import iso_time
from memoryd.memories.catalog import Catalog
from memoryd.memories.outside_changes import EMPTY_SECONDS, OutsideChanges
from memoryd.memories.records import MemoryChanged, MemoryDirectory
from memoryd.memories.retired_files import RetiredFiles
from memoryd.memories.rules.topics import Topic
from memoryd.memories.scanner import Scanner
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
        self.now = 1_800_000_000.0
        self.database = Database.open(str(home / "state.db"))
        self.version_table = VersionTable(self.database)
        self.store = Store(self.version_table, now=lambda: self.now)
        env = {"HOME": str(home)}
        self.scopes = Scopes(places(env, "linux", 1000, str(home)), env, self.database)
        self.memories = Catalog(self.scopes, self.store, lambda: self.now)
        self.versions = Versions(self.scopes, self.memories, self.store, self.version_table)
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


def changes_found(store: Store, directory: MemoryDirectory) -> list[MemoryChanged]:
    return [change for batch in store.find_changes(directory) for change in batch]


@pytest.fixture
def world(home: Path) -> World:
    return World(home)


def test_every_change_is_a_version_newest_first(world: World) -> None:
    file = world.save("Database", "sqlite")
    world.edit(file, "sqlite", "postgres")
    changes_found(world.store, world.directory)
    world.memories.forget(world.cwd, file)
    causes = [(one.cause, one.sha256 != "") for one in world.versions.history(world.cwd, file)]
    assert causes == [("user", False), ("outside", True), ("user", True)]


def outside_changes(world: World, pause: Callable[[float], None]) -> OutsideChanges:
    retired = RetiredFiles(world.version_table, now=lambda: NOW)
    return OutsideChanges(Scanner(), world.version_table, retired, lambda: NOW, pause=pause)


@pytest.mark.parametrize("is_whole", [True, False])
def test_a_file_that_is_emptied_to_be_rewritten_has_no_empty_version(
    world: World, *, is_whole: bool
) -> None:
    file = world.save("Database", "sqlite")
    path = Path(world.directory.path) / file
    pauses: list[float] = []

    def fill(seconds: float) -> None:
        pauses.append(seconds)
        if len(pauses) == 2:
            path.write_text("Postgres.\n")

    looks = outside_changes(world, fill)
    if not is_whole:  # a single file is looked at only after its directory was
        assert list(looks.find(world.directory, lambda _: nullcontext())) == [[]]
    path.write_text("")
    found = looks.find(world.directory, lambda _: nullcontext(), files=None if is_whole else {file})
    assert [one.file for batch in found for one in batch] == [file]
    assert len(pauses) == 2
    assert [one.cause for one in world.versions.history(world.cwd, file)] == ["outside", "user"]
    assert world.store.read(world.directory, file).text == "Postgres.\n"


@pytest.mark.parametrize("is_whole", [True, False])
def test_a_file_that_is_emptied_while_it_is_looked_at_has_no_empty_version(
    world: World, *, is_whole: bool
) -> None:
    file = world.save("Database", "sqlite")
    path = Path(world.directory.path) / file
    looks = outside_changes(world, time.sleep)

    @contextmanager
    def emptied_meanwhile(_: MemoryDirectory) -> Iterator[None]:
        path.write_text("")
        yield

    files = None if is_whole else {file}
    assert list(looks.find(world.directory, lambda _: nullcontext())) == [[]]
    path.write_text("MySQL.\n")
    assert list(looks.find(world.directory, emptied_meanwhile, files=files)) == [[]]
    path.write_text("Postgres.\n")
    found = looks.find(world.directory, lambda _: nullcontext(), files=files)
    assert [one.file for batch in found for one in batch] == [file]
    assert [one.bytes for one in world.versions.history(world.cwd, file)][:1] == [10]
    assert 0 not in [one.bytes for one in world.versions.history(world.cwd, file)]


def test_an_empty_file_that_is_known_is_not_waited_for(world: World) -> None:
    file = world.save("Database", "sqlite")
    pauses: list[float] = []
    looks = outside_changes(world, pauses.append)
    path = Path(world.directory.path) / file
    path.write_text("")
    list(looks.find(world.directory, lambda _: nullcontext()))
    assert pauses
    while not FileStamp.of(path.stat()).is_settled(time.time()):
        time.sleep(0.01)
    list(looks.find(world.directory, lambda _: nullcontext()))
    pauses.clear()
    list(looks.find(world.directory, lambda _: nullcontext()))
    assert not pauses


def test_a_file_that_stays_empty_is_a_version_after_a_moment(world: World) -> None:
    files = [world.save(name, "sqlite") for name in ("One", "Two", "Three")]
    for file in files:
        (Path(world.directory.path) / file).write_text("")
    began = time.time()
    found = outside_changes(world, time.sleep).find(world.directory, lambda _: nullcontext())
    assert sorted(one.file for batch in found for one in batch) == sorted(files)
    assert time.time() >= began + EMPTY_SECONDS


@pytest.mark.parametrize("is_whole", [True, False])
def test_files_that_are_emptied_again_and_again_delay_nobody_for_long(
    world: World, *, is_whole: bool
) -> None:
    files = [world.save(name, "sqlite") for name in ("One", "Two", "Three")]
    paths = [Path(world.directory.path) / file for file in files]
    paused: list[float] = []

    def churn(seconds: float) -> None:
        paused.append(seconds)
        for path in paths:
            path.write_text("")
        time.sleep(seconds)

    looks = outside_changes(world, churn)
    list(looks.find(world.directory, lambda _: nullcontext()))
    churn(0)
    named = None if is_whole else files
    found = looks.find(world.directory, lambda _: nullcontext(), files=named)
    assert [one.file for batch in found for one in batch] == []
    assert sum(paused) <= EMPTY_SECONDS + 0.1
    for path in paths:
        path.write_text("Postgres.\n")
    found = looks.find(world.directory, lambda _: nullcontext(), files=named)
    assert sorted(one.file for batch in found for one in batch) == sorted(files)
    for file in files:
        assert 0 not in [one.bytes for one in world.versions.history(world.cwd, file)]


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


def test_any_version_can_be_shown_and_restored(world: World) -> None:
    file = world.save("Database", "one")
    for old, new in (("one", "two"), ("two", "three")):
        world.edit(file, old, new)
        changes_found(world.store, world.directory)
    oldest = world.versions.history(world.cwd, file)[-1]
    assert "one" in world.versions.text(world.cwd, file, oldest.version)
    world.versions.restore(world.cwd, file, oldest.version)
    assert world.body(file) == "one"


def test_a_memory_without_earlier_versions_says_so(world: World) -> None:
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


def test_the_memories_at_an_earlier_date_can_be_listed(world: World) -> None:
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


def test_a_change_by_another_program_is_found_and_posted_once(world: World) -> None:
    file = world.save("Database", "one")
    assert changes_found(world.store, world.directory) == []
    world.edit(file, "one", "two, at greater length")
    (Path(world.directory.path) / "theirs.md").write_text("---\nname: T\ntype: user\n---\nx")
    changes = changes_found(world.store, world.directory)
    assert sorted(change.file for change in changes) == sorted([file, "theirs.md"])
    assert changes_found(world.store, world.directory) == []
    (Path(world.directory.path) / "theirs.md").unlink()
    (gone,) = changes_found(world.store, world.directory)
    assert (gone.file, gone.version) == ("theirs.md", "")


def test_a_change_that_keeps_size_and_mtime_is_found(world: World) -> None:
    file = world.save("Database", "sqlite")
    path = Path(world.directory.path) / file
    while world.store.scan(world.directory)[0].stamp is None:  # until its stamp is trusted
        changes_found(world.store, world.directory)
    for old, new in (("sqlite", "oracle"), ("oracle", "duckdb"), ("duckdb", "sqlite")):
        times = path.stat()
        world.edit(file, old, new)
        os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
        (change,) = changes_found(world.store, world.directory)
        assert (change.file, world.body(file)) == (file, new)
    assert len(world.versions.history(world.cwd, file)) == 4


def test_a_version_from_outside_is_attributed_once_its_author_is_known(world: World) -> None:
    file = world.save("Database", "one")
    world.edit(file, "one", "two")
    changes_found(world.store, world.directory)
    world.version_table.attribute(world.directory.path, file, session_id="s7")
    newest = world.versions.history(world.cwd, file)[0]
    assert (newest.cause, newest.session_id) == ("agent", "s7")


def test_a_version_whose_text_is_damaged_is_left_out_and_said_to_be(world: World) -> None:
    file = world.save("Damaged", "one")
    other = world.save("Whole", "two")
    sql = "update blobs set packed = ? where sha256 = (select sha256 from versions where file = ?)"
    world.database.run(sql, b"x\x9cdamaged", file)
    assert [one.file for one in world.version_table.latest(5)] == [other]
    assert list(world.version_table.as_of(world.directory.path, world.now)) == [other]
    with pytest.raises(NotFound, match="damaged"):
        world.version_table.content(world.directory.path, file, 1)


def test_versions_are_numbered_per_memory(world: World) -> None:
    one, other = world.save("One", "a"), world.save("Other", "b")
    for file, old, new in ((one, "a\n", "c\n"), (other, "b\n", "d\n"), (one, "c\n", "e\n")):
        world.edit(file, old, new)
        changes_found(world.store, world.directory)
    assert [v.version for v in world.versions.history(world.cwd, one)] == [3, 2, 1]
    assert [v.version for v in world.versions.history(world.cwd, other)] == [2, 1]
    assert world.memories.get(world.cwd, other).version == 2
    assert world.memories.forget(world.cwd, other).version == 2
    assert world.versions.restore(world.cwd, other, 1).version == 4
    assert world.body(other) == "b"


def test_a_number_is_not_used_again_when_older_ones_are_pruned(world: World) -> None:
    file = world.save("Counter", "n0")
    for number in range(5):
        world.edit(file, f"n{number}", f"n{number + 1}")
        changes_found(world.store, world.directory)
    world.now += 400 * DAY
    assert world.version_table.prune(now=world.now, keep_days=365, keep_versions=2) == 4
    assert [v.version for v in world.versions.history(world.cwd, file)] == [6, 5]
    world.edit(file, "n5", "n6")
    assert [v.version for v in world.versions.history(world.cwd, file)] == [7, 6, 5]
    assert "n4" in world.versions.text(world.cwd, file, 5)


def test_old_versions_are_pruned_but_the_newest_stay(world: World) -> None:
    file = world.save("Counter", "n0")
    for number in range(30):
        world.edit(file, f"n{number}", f"n{number + 1}")
        changes_found(world.store, world.directory)
        world.now += DAY
    before = len(world.versions.history(world.cwd, file))
    assert world.version_table.prune(now=world.now, keep_days=365, keep_versions=20) == 0
    gone = world.version_table.prune(now=world.now + 400 * DAY, keep_days=365, keep_versions=20)
    kept = world.versions.history(world.cwd, file)
    assert (gone, len(kept)) == (before - 20, 20)
    assert "n30" in world.versions.text(world.cwd, file, kept[0].version)


def test_what_was_forgotten_long_ago_loses_its_texts_if_the_settings_say_so(world: World) -> None:
    gone, kept = world.save("Gone", "heron"), world.save("Kept", "egret")
    world.memories.forget(world.cwd, gone)
    assert world.version_table.drop_forgotten(world.now - DAY) == 0
    assert world.version_table.drop_forgotten(world.now + DAY) == 1
    (left,) = world.version_table.versions(world.directory.path, gone)
    assert (left.sha256, left.version) == ("", 2)
    assert len(world.version_table.versions(world.directory.path, kept)) == 1
    assert world.database.run("select count(*) from blobs where packed is not null") == [(1,)]


@pytest.mark.parametrize("name", ["Release Notes.md", "ünïcode.md"])
def test_a_forgotten_file_comes_back_exactly_with_any_name_and_bytes(
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
