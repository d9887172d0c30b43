"""What lists say, also when they follow each other."""

import json
from pathlib import Path

import msgspec

from memoryd.memories.catalog import Catalog
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
    for later in (0.0, 0.1, 0.4, 0.51, 1.0, 3.2, -1.0):
        clock.now = NOW + later * DAY
        changed = [msgspec.structs.replace(found[0], bytes=11), *found[1:]]
        for some in (found, changed, found[2:], []):
            headers = msgspec.to_builtins(catalog.headers(some))
            assert json.loads(catalog.encoded(some)) == headers
    state.close()
