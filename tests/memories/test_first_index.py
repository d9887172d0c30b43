"""The first line of an index in a directory that has many memories already."""

import os
from pathlib import Path

import pytest

from memoryd.memories.records import MemoryDirectory
from memoryd.memories.rules.topics import Topic
from memoryd.memories.scan import LARGE
from memoryd.memories.store import Store
from memoryd.memories.version_table import VersionTable
from memoryd.system.database import Database
from tests.support.times import NOW


def filled(directory: MemoryDirectory, count: int = LARGE) -> None:
    root = Path(directory.path)
    root.mkdir(parents=True, exist_ok=True)
    for number in range(count):
        file = root / f"m{number:03}.md"
        file.write_text(f"---\nname: Memory {number}\n---\nx\n")
        os.utime(file, (NOW - number, NOW - number))


def topic(name: str) -> Topic:
    return Topic(name=name, type="user", body="Use tabs.\n")


def files_in_index(directory: MemoryDirectory) -> list[str]:
    lines = (Path(directory.path) / "MEMORY.md").read_text().splitlines()
    return [line.partition("](")[2].partition(")")[0] for line in lines if "](" in line]


def in_order(store: Store, directory: MemoryDirectory) -> list[str]:
    return [one.file for one in store.scan(directory)]


def test_a_save_writes_its_own_line_and_a_repair_the_others_below(
    store: Store, database: Database, directory: MemoryDirectory
) -> None:
    filled(directory)
    saved = [store.save(directory, topic(name), cause="user").file for name in ("one", "two")]
    assert files_in_index(directory) == saved[::-1]
    after_a_crash = Store(VersionTable(database), now=lambda: NOW)
    assert after_a_crash.repair(directory)
    assert files_in_index(directory) == in_order(store, directory)
    assert not store.repair(directory)


def test_no_headers_are_read_to_write_it(store: Store, directory: MemoryDirectory) -> None:
    filled(directory)
    store.save(directory, topic("one"), cause="user")
    assert store._scanner.held(directory) is None


def test_where_a_person_wrote_into_it_the_whole_index_is_made_at_once(
    store: Store, directory: MemoryDirectory
) -> None:
    filled(directory)
    index = Path(directory.path) / "MEMORY.md"
    index.write_text("# My own words\n")
    store.save(directory, topic("one"), cause="user")
    assert index.read_text().startswith("# My own words\n")
    assert files_in_index(directory) == in_order(store, directory)


@pytest.mark.parametrize("nothing", ["", "\n", " \n\n"])
def test_a_blank_index_is_as_good_as_none(
    store: Store, directory: MemoryDirectory, nothing: str
) -> None:
    filled(directory)
    (Path(directory.path) / "MEMORY.md").write_text(nothing)
    file = store.save(directory, topic("one"), cause="user").file
    assert files_in_index(directory) == [file]
    assert store.repair(directory)
    assert files_in_index(directory) == in_order(store, directory)


def test_the_others_follow_below_also_when_an_agent_has_added_a_line(
    store: Store, directory: MemoryDirectory
) -> None:
    filled(directory)
    file = store.save(directory, topic("one"), cause="user").file
    agents = Path(directory.path) / "agents.md"
    agents.write_text("---\nname: Agents\n---\nx\n")
    os.utime(agents, (NOW + 1, NOW + 1))
    os.utime(Path(directory.path) / file, (NOW + 2, NOW + 2))
    with (Path(directory.path) / "MEMORY.md").open("a") as index:
        index.write("- [Agents](agents.md)\n")
    assert store.repair(directory)
    assert files_in_index(directory)[:2] == [file, "agents.md"]
    assert sorted(files_in_index(directory)) == sorted(in_order(store, directory))


@pytest.mark.parametrize(("scope", "count"), [("agent", LARGE), ("project", LARGE - 2)])
def test_where_nobody_repairs_it_and_where_it_takes_no_time_it_is_whole(
    store: Store, directory: MemoryDirectory, scope: str, count: int
) -> None:
    place = MemoryDirectory(directory.path, "agent" if scope == "agent" else "project")
    filled(place, count)
    store.save(place, topic("one"), cause="user")
    assert files_in_index(place) == in_order(store, place)
