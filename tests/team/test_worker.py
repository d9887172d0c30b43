"""What the worker tells people of a server that can be reached but not used."""

import threading
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from pathlib import Path

import anyio
import anyio.to_thread
import pytest
from anyio.lowlevel import checkpoint

from memoryd.base.config import TeamSettings
from memoryd.base.events import TeamTrouble
from memoryd.system.notices import Notices
from memoryd.team.addresses import Addresses
from memoryd.team.rules.address import ServerAddress
from memoryd.team.rules.problems import TeamProblem
from memoryd.team.team_table import JoinedProject
from memoryd.team.worker import TeamWorker
from tests.support.postgres import TeamDatabase
from tests.support.team import PROJECT
from tests.support.team_clones import Clone
from tests.support.team_servers import members


class Watched:
    """A worker of one machine, and the troubles that it announced, by their reason."""

    def __init__(self, clone: Clone, dsn: str, home: Path) -> None:
        self.clone = clone
        self.told: list[str] = []
        notices = Notices()
        notices.on(TeamTrouble, lambda one: self.told.append(one.reason))
        self.worker = TeamWorker(
            clone.table,
            notices,
            sync_of=clone.sync_of,
            addresses=Addresses(TeamSettings(dsn=dsn), {}, str(home)),
            poll_seconds=60,
            now=lambda: 1_800_000_000.0,
        )

    async def fails(self) -> None:
        with pytest.raises(TeamProblem, match="read-only"):
            await self.worker.sync_now(self.clone.project)


@pytest.fixture
async def watched(shared: TeamDatabase, tmp_path: Path, home: Path) -> AsyncIterator[Watched]:
    async with members(shared, "alice") as (alice,):
        made = Watched(Clone(tmp_path / "a", alice), shared.dsn("alice"), home)
        yield made
        await made.worker.reconnect()
        made.clone.close()


class SlowAddresses(Addresses):
    """The first who asks gets its answer when the test says so."""

    asked, may_go_on = threading.Event(), threading.Event()

    def needed(self) -> ServerAddress:
        found = super().needed()
        self.asked.set()
        assert self.may_go_on.wait(60)
        return found


def read_only(database: TeamDatabase, *, is_so: bool) -> None:
    """For connections from now on, as a replica is."""
    database.sql(
        f"alter role alice in database {database.name}"
        f" set default_transaction_read_only = {'on' if is_so else 'off'}"
    )


async def test_a_trouble_that_lasts_is_told_once_and_its_end_once(
    watched: Watched, shared: TeamDatabase
) -> None:
    watched.clone.write("a.md", "one")
    read_only(shared, is_so=True)
    for _ in range(3):
        await watched.fails()
    assert watched.told == ["read-only"]
    assert watched.worker.state.reason == "read-only"
    read_only(shared, is_so=False)
    for _ in range(2):
        await watched.worker.sync_now(watched.clone.project)
    assert watched.told == ["read-only", ""]
    assert watched.worker.state.message == ""


async def test_a_sync_by_another_address_never_uses_the_connection_of_before(
    watched: Watched, shared: TeamDatabase, home: Path
) -> None:
    addresses = SlowAddresses(TeamSettings(dsn=shared.dsn("alice")), {}, str(home))
    worker, project = watched.worker, watched.clone.project
    worker._addresses = addresses
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(worker.sync_now, project)  # still connecting when the address changes
        await anyio.to_thread.run_sync(addresses.asked.wait, 60)
        with addresses.trying(shared.dsn("mallory")):
            tasks.start_soon(_soon, addresses.may_go_on.set)
            await worker.reconnect()
            with pytest.raises(TeamProblem) as caught:
                await worker.sync_now(project)
    assert caught.value.reason == "privileges"


async def test_a_sync_that_is_cancelled_while_it_connects_leaves_nothing_half_done(
    watched: Watched, shared: TeamDatabase
) -> None:
    with shared.locked("memoryd.schema_version"), anyio.move_on_after(0.3) as scope:
        await watched.worker.sync_now(watched.clone.project)
    assert scope.cancelled_caught
    cancelled = watched.worker.state
    await watched.worker.sync_now(watched.clone.project)
    connected = watched.worker.state
    assert (cancelled.is_connected, connected.is_connected) == (False, True)
    assert connected.clock_warning  # it was read from the server
    assert watched.told == []


async def test_an_address_that_is_gone_does_not_break_a_sync_that_connects_by_it(
    watched: Watched, shared: TeamDatabase, home: Path
) -> None:
    """A join that is refused forgets the address that it had brought."""
    addresses = Addresses(TeamSettings(), {}, str(home))
    worker, project = watched.worker, watched.clone.project
    worker._addresses = addresses
    async with anyio.create_task_group() as tasks:
        with suppress(ConnectionError), addresses.trying(shared.dsn("alice")):
            with shared.locked("memoryd.schema_version"):
                tasks.start_soon(worker.sync_now, project)
                while worker._server is None:
                    await checkpoint()
            raise ConnectionError
        await worker._follow_table()
    assert project.folder in worker.reports
    assert not worker.state.is_connected


async def _soon(work: Callable[[], None]) -> None:
    for _ in range(100):
        await checkpoint()
    work()


async def test_a_project_that_has_nothing_to_send_does_not_end_the_trouble_of_another(
    watched: Watched, shared: TeamDatabase, tmp_path: Path
) -> None:
    (tmp_path / "other/team").mkdir(parents=True)
    other = JoinedProject(str(tmp_path / "other/team"), str(tmp_path / "other"), PROJECT, 0.0)
    watched.clone.table.join(other)
    watched.clone.write("a.md", "one")
    read_only(shared, is_so=True)
    for _ in range(2):
        await watched.fails()
        await watched.worker.sync_now(other)
    assert watched.told == ["read-only"]
    await watched.worker.leave(watched.clone.project.folder)
    await watched.worker.sync_now(other)
    assert watched.told == ["read-only", ""]
