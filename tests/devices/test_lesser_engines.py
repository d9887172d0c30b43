"""Engines that keep the protocol but not everything else, shown on plain Postgres."""

from pathlib import Path
from tempfile import TemporaryDirectory

from memoryd.team.postgres import TeamServer
from memoryd.team.rules.address import address_in
from tests.support.lesser_engine import lesser, losing, tries
from tests.support.own_clones import machines
from tests.support.postgres import OWNER, TeamDatabase
from tests.support.team import PROJECT
from tests.support.team_servers import members, push


async def test_without_listen_and_advisory_locks_everything_works_by_polling(
    shared: TeamDatabase, tmp_path: Path
) -> None:
    with TemporaryDirectory(dir="/tmp") as sockets:
        async with (
            lesser(shared, Path(sockets)) as engine,
            machines(tmp_path, engine, "desk", "lap") as (desk, lap),
        ):
            desk.write("a.md", "one")
            await desk.sync()
            await lap.sync()
            assert lap.says() == {"a.md": "one"}
            for one in (desk, lap):
                state = await one.status()
                assert (state.is_connected, state.listens, state.reason) == (True, False, "")
            owner = await TeamServer.open(address_in(engine.dsn(OWNER)))
            assert await owner.set_up(PROJECT, ["alice"], []) > 0
            assert not await owner.listen(PROJECT, lambda: None)
            await owner.notify(PROJECT)
            await owner.close()


async def test_transactions_that_the_engine_loses_are_tried_again(
    shared: TeamDatabase, tmp_path: Path
) -> None:
    async with machines(tmp_path, shared, "desk", "lap", "old") as (desk, lap, _):
        losing(shared, "private_rows", "private_keys", "entries")
        for number in range(5):
            desk.write(f"{number}.md", f"number {number}")
            await desk.sync()
        await lap.sync()
        await desk.service.revoke("old")
        await lap.sync()
        assert len(lap.says()) == 5
        assert lap.says() == desk.says()
        assert lap.keyring().keys.epoch == 2
        before = tries(shared)
        assert before > 10
    async with members(shared, "alice") as (alice,):
        (head,) = await alice.push(PROJECT, [push("a.md", "one")])
        assert await alice.heads(PROJECT) == [head]
        assert tries(shared) > before
