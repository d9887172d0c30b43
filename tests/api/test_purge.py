"""A purge beside other writers of the same directory."""

import os
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
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
    cwd = str(home)
    directory = services.scopes.project(cwd).memory
    saved = services.store.save(directory, SECRET, cause="user")
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
    params = MemoryPurgeParams(cwd=cwd, path=saved.path, by="user")

    async def answer() -> bool:
        return (await purge.answer(params)).gone

    with ThreadPoolExecutor() as threads:
        with services.store.together(directory):
            gone = threads.submit(anyio.run, answer)
            while not any(map(_waits_for_a_directory, sys._current_frames())):
                give_way()
            # What every writer does next: it records a version.
            asked = threads.submit(services.database.run, "select 1")
            assert asked.result(timeout=30) == [(1,)]
        assert gone.result(timeout=30)
    assert services.store.scan(directory) == []


def _waits_for_a_directory(thread: int) -> bool:
    frame = sys._current_frames().get(thread)
    return frame is not None and frame.f_code.co_name == "_locked"
