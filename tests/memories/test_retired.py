"""Retired memories are out of the way, readable, and come back without hurting others."""

from pathlib import Path

import pytest

from memoryd.base.errors import Conflict, NotFound, Refused
from memoryd.memories.records import MemoryChanged
from memoryd.memories.rules import headers, topics
from memoryd.memories.rules.topics import Topic
from memoryd.memories.store import Store
from memoryd.system.notices import Notices
from tests.memories.test_versions import World, changes_found


@pytest.fixture
def world(home: Path) -> World:
    return World(home)


def root(world: World) -> Path:
    return Path(world.directory.path)


def replaced(world: World) -> tuple[str, str]:
    """A memory and the one that took its place."""
    old = world.save("Old", "sqlite")
    return old, world.save("New", "postgres", supersedes=old)


def text_of(name: str, body: str, **fields: str) -> str:
    topic = Topic(name=name, description="d", type="project", body=body)
    return headers.change(topics.render(topic), fields)


def test_it_is_in_no_scan_list_index_or_change(world: World) -> None:
    old, new = replaced(world)
    assert [one.file for one in world.store.scan(world.directory)] == [new]
    assert [one.file for one in world.memories.list(world.cwd)] == [new]
    assert old not in (root(world) / "MEMORY.md").read_text()
    assert [stored.file for stored in world.store.read_all(world.directory)] == [new]
    assert changes_found(world.store, world.directory) == []


def test_it_is_listed_on_request_and_readable_by_its_old_name(world: World) -> None:
    old, new = replaced(world)
    listed = {one.file: one for one in world.memories.list(world.cwd, retired=True)}
    assert listed[f".retired/{old}"].retired
    assert listed[f".retired/{old}"].superseded_by == new
    for named in (old, old.removesuffix(".md"), f".retired/{old}", "Old"):
        assert "sqlite" in world.memories.get(world.cwd, named).content


def test_its_history_goes_on_under_its_name(world: World) -> None:
    old, _ = replaced(world)
    causes = [(one.version, one.cause) for one in world.versions.history(world.cwd, old)]
    assert causes == [(2, "user"), (1, "user")]
    assert world.memories.get(world.cwd, old).version == 2
    assert "superseded_by" not in world.versions.text(world.cwd, old, 1)
    changes_found(world.store, world.directory)
    assert len(world.versions.history(world.cwd, old)) == 2


@pytest.mark.parametrize("data", [b"no header at all\n", b"---\r\nname: Old\r\n---\r\nx\r\n"])
def test_it_comes_back_byte_for_byte(world: World, data: bytes) -> None:
    root(world).mkdir(parents=True)
    (root(world) / "old.md").write_bytes(data)
    new = world.save("New", "postgres", supersedes="old.md")
    assert not (root(world) / "old.md").exists()
    world.versions.restore(world.cwd, "old.md", None)
    assert (root(world) / "old.md").read_bytes() == data
    assert not list(root(world).glob(".retired/*"))
    assert world.store.read(world.directory, new).topic.supersedes == ()
    assert "old.md" in (root(world) / "MEMORY.md").read_text()


def test_an_older_version_of_it_can_be_restored(world: World) -> None:
    old = world.save("Old", "sqlite")
    world.edit(old, "sqlite", "oracle")
    world.save("New", "postgres", supersedes=old)
    world.versions.restore(world.cwd, old, 1)
    assert world.body(old) == "sqlite"
    assert not list(root(world).glob(".retired/*"))
    world.versions.restore(world.cwd, old, None)
    assert world.body(old) == "oracle"


def test_neither_way_overwrites_another_file(world: World) -> None:
    old, new = replaced(world)
    (root(world) / old).write_text(text_of("Old", "written again"))
    world.save("Newer", "mariadb", supersedes=old)
    stem = old.removesuffix(".md")
    kept = {one.file for one in world.store.retired(world.directory)}
    assert kept == {f".retired/{old}", f".retired/{stem}~2.md"}
    (root(world) / old).write_text(text_of("Old", "and again"))
    world.versions.restore(world.cwd, f".retired/{old}", None)
    assert world.body(old) == "and again"
    assert world.body(f"{stem}_2.md") == "sqlite"
    assert world.store.read(world.directory, new).topic.supersedes == ()


def test_a_new_memory_of_the_same_name_is_current(world: World) -> None:
    old, new = replaced(world)
    (root(world) / old).write_text(text_of("Old", "another matter"))
    found = {one.file: one.retired for one in world.store.scan(world.directory)}
    assert found == {old: False, new: False}
    world.store.repair(world.directory)
    assert (root(world) / ".retired" / old).exists()
    assert "another matter" in (root(world) / old).read_text()


def test_our_own_new_memories_take_no_retired_name(world: World) -> None:
    old, _ = replaced(world)
    assert world.save("Old", "something else") == f"{old.removesuffix('.md')}_2.md"


def confirm(world: World, file: str) -> None:
    """As a person does with `memoryd trust`."""
    version = world.store.read(world.directory, file).version
    world.version_table.origins.note_hash(version, "confirmed")


def test_a_file_of_unknown_origin_retires_no_other(world: World) -> None:
    world.save("A", "first")
    (a,) = (one.file for one in world.store.scan(world.directory))
    (root(world) / "b.md").write_text(text_of("B", "second", supersedes=a))
    assert [one.retired for one in world.store.scan(world.directory)] == [False, False]
    confirm(world, "b.md")
    assert {one.file for one in world.store.scan(world.directory) if one.retired} == {a}


def test_what_a_replaced_memory_had_replaced_stays_replaced(world: World) -> None:
    root(world).mkdir(parents=True)
    (root(world) / "a.md").write_text(text_of("A", "first"))
    (root(world) / "b.md").write_text(text_of("B", "second", supersedes="a.md"))
    confirm(world, "b.md")
    world.save("C", "third", supersedes="b.md")
    assert {one.file for one in world.store.retired(world.directory)} == {
        ".retired/a.md",
        ".retired/b.md",
    }


def test_a_forgotten_retired_memory_comes_back_current(world: World) -> None:
    old, _ = replaced(world)
    world.memories.forget(world.cwd, old)
    assert not list(root(world).glob(".retired/*"))
    world.versions.restore(world.cwd, old, None)
    assert world.body(old) == "sqlite"
    assert world.store.read(world.directory, old).topic.retired == ""


def test_an_interrupted_move_is_finished_if_the_new_memory_names_the_copy(world: World) -> None:
    root(world).mkdir(parents=True)
    (root(world) / ".retired").mkdir()
    (root(world) / "old.md").write_text(text_of("Old", "sqlite"))
    copy = text_of("Old", "sqlite", superseded_by="new.md", retired="2026-01-01")
    (root(world) / ".retired/old.md").write_text(copy)
    (root(world) / "new.md").write_text(text_of("New", "pg", supersedes=".retired/old.md"))
    assert world.store.repair(world.directory)
    assert not (root(world) / "old.md").exists()
    assert (root(world) / ".retired/old.md").read_text() == copy
    assert world.store.repair(world.directory) is False


@pytest.mark.parametrize("superseded_by", ["new.md", ""])
def test_an_interrupted_move_that_nothing_asks_for_is_taken_back(
    world: World, superseded_by: str
) -> None:
    root(world).mkdir(parents=True)
    (root(world) / ".retired").mkdir()
    (root(world) / "old.md").write_text(text_of("Old", "sqlite"))
    copy = text_of("Old", "sqlite", superseded_by=superseded_by, retired="2026-01-01")
    (root(world) / ".retired/old.md").write_text(copy)
    assert world.store.repair(world.directory)
    assert (root(world) / "old.md").exists()
    assert not list(root(world).glob(".retired/*"))


def test_a_refused_write_retires_nothing(world: World) -> None:
    old = world.save("Old", "sqlite")
    (root(world) / "taken.md").write_text("theirs")
    with pytest.raises(Conflict):
        world.store.write(
            world.directory,
            "taken.md",
            text_of("New", "pg", supersedes=old),
            over=None,
            cause="user",
        )
    assert (root(world) / old).exists()
    assert not list(root(world).glob(".retired/*"))


def test_a_retired_file_cannot_be_written(world: World) -> None:
    old, _ = replaced(world)
    file = f".retired/{old}"
    version = world.store.read(world.directory, file).version
    with pytest.raises(Refused, match="retired"):
        world.store.write(world.directory, file, "x", over=version, cause="user")
    with pytest.raises(NotFound):
        world.store.retire(world.directory, "none.md", cause="user")


def test_recall_hears_that_it_is_gone_and_where_it_went(world: World) -> None:
    seen: list[MemoryChanged] = []
    notices = Notices()
    notices.on(MemoryChanged, seen.append)
    store = Store(world.version_table, now=lambda: world.now, notices=notices)
    old = world.save("Old", "sqlite")
    store.retire(world.directory, old, cause="extraction", session_id="s7")
    (change,) = seen
    assert (change.file, change.version) == (old, "")
    assert (change.retired_to, change.session_id) == (f".retired/{old}", "s7")


def test_a_link_instead_of_the_folder_is_not_followed(world: World, tmp_path: Path) -> None:
    old = world.save("Old", "sqlite")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (root(world) / ".retired").symlink_to(elsewhere)
    with pytest.raises(Refused):
        world.save("New", "postgres", supersedes=old)
    assert list(elsewhere.iterdir()) == []
    assert world.body(old) == "sqlite"
