"""A purge beside other writers of the same directory."""

import os
import sys
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import anyio
import pytest

from memoryd.api.purge.service import Purge
from memoryd.api.rules.memory_params import MemoryPurgeParams
from memoryd.base import paths
from memoryd.base.config import Settings
from memoryd.daemon.build import open_services
from memoryd.daemon.environment import Environment
from memoryd.daemon.supervisor import Supervisor
from memoryd.memories.catalog import Catalog
from memoryd.memories.records import Stored
from memoryd.memories.rules.topics import Topic
from memoryd.memories.services import Services
from memoryd.memories.versions import Versions
from tests.support.running import give_way

SECRET = Topic(name="Heron", description="the merger", type="project", body="It closes in March.")


@pytest.fixture
def services(home: Path) -> Iterator[Services]:
    env = {"XDG_RUNTIME_DIR": str(home / "run")}
    places = paths.places(env, "linux", os.getuid(), str(home))
    environment = Environment(places, Settings(), env, "0", Supervisor({}, os.getpid()))
    with ExitStack() as stack:
        made = open_services(environment, stack)
        stack.callback(made.background._send.close)
        stack.callback(made.background._receive.close)
        yield made


def test_a_purge_that_waits_for_a_writer_does_not_keep_the_database_from_it(
    services: Services, home: Path
) -> None:
    directory = services.scopes.project(str(home)).memory
    saved = services.store.save(directory, SECRET, cause="user")
    with ThreadPoolExecutor() as threads:
        with services.store.together(directory):
            gone = threads.submit(purged, services, saved)
            wait_until_it_waits(gone)
            # What every writer does next: it records a version.
            asked = threads.submit(services.database.run, "select 1")
            assert asked.result(timeout=30) == [(1,)]
        assert gone.result(timeout=30)
    assert services.store.scan(directory) == []


def test_a_purge_removes_what_was_written_and_retired_while_it_waited(
    services: Services, home: Path
) -> None:
    directory = services.scopes.project(str(home)).memory
    saved = services.store.save(directory, SECRET, cause="user")
    quoted = "It closes in March, and the price is forty."
    with ThreadPoolExecutor() as threads:
        with services.store.together(directory):
            gone = threads.submit(purged, services, saved)
            wait_until_it_waits(gone)
            text = saved.text.replace(SECRET.body, quoted)
            services.store.write(directory, saved.file, text, over=saved.version, cause="user")
            sql = "insert into last_words (session_id, text, at) values ('s', ?, 1e12)"
            services.database.run(sql, quoted)
            services.store.retire(directory, saved.file, cause="user")
        assert gone.result(timeout=30)
    assert services.store.scan(directory) == services.store.retired(directory) == []
    assert services.database.run("select * from last_words") == []


def purged(services: Services, memory: Stored) -> bool:
    catalog = Catalog(services.scopes, services.store, services.now)
    purge = Purge(
        services.places,
        services.database,
        services.store,
        Versions(services.scopes, catalog, services.store, services.versions),
        services.versions,
        scrub_log=lambda _: 0,
        forget_followers=lambda: None,
    )
    cwd = str(services.places.home)
    params = MemoryPurgeParams(cwd=cwd, path=memory.path, by="user")

    async def answer() -> bool:
        return (await purge.answer(params)).gone

    return anyio.run(answer)


def wait_until_it_waits(purge: "Future[bool]") -> None:
    while not any(map(_waits_for_a_directory, sys._current_frames())):
        assert not purge.done()
        give_way()


def _waits_for_a_directory(thread: int) -> bool:
    frame = sys._current_frames().get(thread)
    return frame is not None and frame.f_code.co_name == "_locked"
