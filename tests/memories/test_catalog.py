"""What lists say, also when they follow each other."""

import json
from pathlib import Path

import msgspec

from memoryd.base.remembered import forget
from memoryd.memories.catalog import Catalog
from memoryd.memories.encoded_list import EncodedList
from memoryd.memories.records import Listed, MemoryDirectory
from memoryd.memories.rules.topics import Topic
from memoryd.memories.scopes import Project
from memoryd.memories.store import Store
from memoryd.memories.version_table import VersionTable
from memoryd.system.database import Database
from tests.support.times import NOW

DAY = 86_400.0


class NoProjects:
    """None is asked for here."""

    def project(self, cwd: str) -> Project:
        raise AssertionError(cwd)


class Clock:
    def __init__(self) -> None:
        self.now = NOW

    def __call__(self) -> float:
        return self.now


def listed(number: int, days: float) -> Listed:
    topic = Topic(name=f"Näme {number}", description='says "so"', type="user")
    directory = MemoryDirectory("/m", "project")
    return Listed(directory, f"{number}.md", topic, NOW - days * DAY, 10)


def test_an_encoded_list_is_that_of_its_headers_however_often_and_whenever(tmp_path: Path) -> None:
    clock, state = Clock(), Database.open(str(tmp_path / "state.db"))
    catalog = Catalog(NoProjects(), Store(VersionTable(state), now=clock), clock)
    found = [listed(number, days) for number, days in enumerate((0.0, 0.5, 1.0, 1.99, 30, -2))]
    for later in (0.0, 0.1, 0.4, 0.5, 0.51, 1.0, 3.2, 3.2, -1.0, -0.5):
        clock.now = NOW + later * DAY
        changed = [msgspec.structs.replace(found[0], bytes=11), *found[1:]]
        some_lists = [found, changed, found[2:], [], found[::-1], found, found]
        for some in some_lists[:: -1 if later > 1 else 1]:  # the last one is used in parts
            headers = msgspec.to_builtins(catalog.headers(some))
            assert json.loads(catalog.encoded(some)) == headers
    state.close()


def test_what_lists_have_in_common_is_encoded_once_until_it_is_forgotten() -> None:
    found, asked = [listed(1, 0.5), listed(2, 0.5)], list[str]()

    def header(one: Listed, _: float) -> Topic:
        asked.append(one.file)
        return one.topic

    lists = EncodedList(header)
    first = lists.encoded(found, NOW)
    assert lists.encoded([*found], NOW + 1) is first
    assert asked == ["1.md", "2.md"]
    lists.encoded([found[0], listed(3, 0.5)], NOW + 1)
    assert asked == ["1.md", "2.md", "3.md"]
    assert forget()
    lists.encoded(found[:1], NOW + 1)
    assert asked == ["1.md", "2.md", "3.md", "1.md"]
