"""A machine that cannot be added through a server: everything is as it was before."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

import memoryd.devices.service as devices
from memoryd.team.rules.problems import TeamProblem
from tests.support.own_clones import OwnClone, machines
from tests.support.postgres import OWNER, PostgresServer, TeamDatabase, new_database
from tests.support.team_servers import connected


@asynccontextmanager
async def locked(database: TeamDatabase) -> AsyncIterator[None]:
    """The tables are there, and a question for the machines waits for ever."""
    async with connected(database, OWNER) as owner:
        await owner.set_up("", ["alice"], [])
        async with owner._connection.transaction():
            await owner._connection.execute("lock table memoryd.private_devices")
            yield


async def test_a_first_address_that_fails_is_not_used_again(
    shared: TeamDatabase, tmp_path: Path
) -> None:
    new = OwnClone(tmp_path / "new", None)
    with pytest.raises(TeamProblem, match="has no tables"):
        await new.service.add(str(new.root), dsn=shared.dsn("alice"))
    assert new.addresses.shown == ""
    with pytest.raises(TeamProblem, match="is named"):
        await new.add()
    await new.close()


async def test_after_a_server_that_never_answers_the_one_before_is_asked(
    shared: TeamDatabase, postgres: PostgresServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with machines(tmp_path, shared, "desk", "lap") as (desk, lap):
        desk.write("a.md", "one")
        await desk.sync()
        async with locked(other := new_database(postgres)):
            monkeypatch.setattr(devices, "ASKED_SECONDS", 2.0)
            with pytest.raises(TeamProblem, match="takes too long") as told:
                await lap.service.add(str(lap.root), dsn=other.dsn("alice"))
            assert told.value.reason == "busy"
            assert "try again" in told.value.hint
            monkeypatch.undo()
            await lap.sync()
        assert lap.addresses.shown == desk.addresses.shown
        assert lap.says() == {"a.md": "one"}
