"""Codes, revoked machines, wrong keys, and other people."""

from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest

from memoryd.base.errors import MemorydError
from memoryd.devices.members import _sealed_device
from memoryd.devices.private_server import RowPush
from memoryd.devices.row_seals import OLD_KEY
from memoryd.team.rules.problems import TeamProblem
from tests.support.own_clones import OwnClone, machines
from tests.support.postgres import TeamDatabase

Pair = tuple[OwnClone, OwnClone]


@pytest.fixture
async def pair(shared: TeamDatabase, tmp_path: Path) -> AsyncIterator[Pair]:
    async with machines(tmp_path, shared, "desk", "lap") as (desk, lap):
        yield desk, lap


async def test_a_code_works_once_and_not_for_long(
    pair: Pair, shared: TeamDatabase, tmp_path: Path
) -> None:
    desk, _ = pair
    new = OwnClone(tmp_path / "new", shared)
    code = await desk.add()
    shared.sql("update memoryd.private_invitations set expires = expires - 601000000")
    with pytest.raises(TeamProblem, match="has expired"):
        await new.add(code)
    code = await desk.add()
    with pytest.raises(MemorydError, match="character of the code is wrong"):
        await new.add(code[:-1] + ("0" if code[-1] != "0" else "1"))
    await new.add(code.lower().replace("-", " "))
    with pytest.raises(TeamProblem, match="was used"):
        await new.add(code)
    assert [one.name for one in new.keyring().others] == ["desk", "lap", "new"]
    await new.close()


async def test_a_machine_without_a_code_is_told_where_to_get_one(
    pair: Pair, shared: TeamDatabase, tmp_path: Path
) -> None:
    new = OwnClone(tmp_path / "new", shared)
    with pytest.raises(TeamProblem, match="2 other machines") as told:
        await new.add()
    assert "memoryd device add CODE" in told.value.hint
    with pytest.raises(TeamProblem, match="has not been added"):
        await new.sync()
    await new.add(start_over=True)
    with pytest.raises(TeamProblem, match="was revoked"):
        await pair[0].sync()
    await new.close()


async def test_a_revoked_machine_gets_nothing_and_what_it_sends_is_refused(
    shared: TeamDatabase, tmp_path: Path
) -> None:
    async with machines(tmp_path, shared, "desk", "lap", "thief") as (desk, lap, thief):
        desk.write("a.md", "one")
        for one in (desk, lap, thief):
            await one.sync()
        assert (await desk.service.revoke("thief")).devices == ["desk", "lap"]
        assert shared.sql("select distinct epoch from memoryd.private_rows") == "2"
        desk.write("b.md", "not for thieves")
        await desk.sync()
        with pytest.raises(TeamProblem, match="was revoked"):
            await thief.sync()
        assert thief.says() == {"a.md": "one"}
        # Its daemon is honest. Somebody who took the disk is not, and uses the old keys directly.
        await put_back(thief)
        thief.write("a.md", "planted")
        with pytest.raises(TeamProblem):
            await thief.sync()
        await push_anyway(thief)
        answer = await lap.sync()
        assert lap.says() == {"a.md": "one", "b.md": "not for thieves"}
        assert {one.reason for one in answer.refused} <= {OLD_KEY}
        await desk.sync()
        await lap.sync()
        assert desk.says() == lap.says()
        assert "planted" not in str(lap.history("a.md"))
        names = [one.name for one in lap.keyring().others]
        assert names == ["desk", "lap"]


async def put_back(thief: OwnClone) -> None:
    """The record of a revoked machine, as it was."""
    own = thief.keyring()
    (record,) = [one for one in own.others if one.device == own.device]
    async with thief.parts.worker._lock:
        server = await thief.parts.worker._connected()
        await server.put_device(_sealed_device(own.keys, record))


async def push_anyway(thief: OwnClone) -> None:
    """A sync that does not ask whether the machine still belongs to the person."""
    own = thief.keyring()
    server = await thief.parts.worker._connected()
    sync = thief.parts.worker._sync
    rows = sync._rows
    rows.use(own)
    rows.heads = {one.name: one for one in await server.heads()}
    rows.seen = thief.service._worker._sync._rows._table.seen()
    sync._here = {(one.directory.scope, one.project): one for one in thief.places.here()}
    for here in sync._here.values():
        for one in sync._files.found_in(here):
            name = rows.seals.name_of(one.place)
            payload = sync._files.payload(one, 99, 0.0)
            assert payload is not None
            head = rows.heads.get(name)
            push = RowPush(name, rows.seals.sealed(name, payload), head.version if head else None)
            assert await server.push(own.device, own.keys.epoch, [push])


async def test_a_machine_that_was_away_when_keys_were_rolled_twice_catches_up(
    shared: TeamDatabase, tmp_path: Path
) -> None:
    async with machines(tmp_path, shared, "desk", "lap", "x", "y") as (desk, lap, x, y):
        lap.write("mine.md", "written while away")
        await desk.service.revoke("x")
        desk.write("a.md", "one")
        await desk.sync()
        await desk.service.revoke("y")
        assert desk.keyring().keys.epoch == 3
        await lap.sync()
        await desk.sync()
        assert desk.says() == lap.says() == {"a.md": "one", "mine.md": "written while away"}
        assert lap.keyring().keys == desk.keyring().keys
        for one in (x, y):
            with pytest.raises(TeamProblem, match="was revoked"):
                await one.sync()


async def test_a_machine_with_another_key_is_told_so_and_changes_nothing(
    pair: Pair, shared: TeamDatabase
) -> None:
    desk, lap = pair
    desk.write("a.md", "one")
    await desk.sync()
    file = lap.service._members.file
    keyring = lap.keyring()
    keys = msgspec.structs.replace(keyring.keys, epochs={1: b"x" * 32})
    file.write(msgspec.structs.replace(keyring, keys=keys))
    before = shared.sql("select * from memoryd.private_rows")
    with pytest.raises(TeamProblem, match="key of this machine is not the one"):
        await lap.sync()
    assert shared.sql("select * from memoryd.private_rows") == before


async def test_nobody_else_sees_or_changes_a_persons_rows(
    pair: Pair, shared: TeamDatabase, tmp_path: Path
) -> None:
    desk, _ = pair
    desk.write("a.md", "one")
    await desk.sync()
    async with machines(tmp_path / "bob", shared, "bobs", role="bob") as (bobs,):
        assert bobs.says() == {}
        for table in ("rows", "devices", "keys", "invitations"):
            name = f"memoryd.private_{table}"
            count = f"select count(*) from {name}"
            seen = shared.sql(f"{count} where owner != 'bob'", role="bob")
            assert seen == "0", table
        assert (
            shared.sql(
                "with gone as (delete from memoryd.private_rows returning 1)"
                " select count(*) from gone",
                role="bob",
            )
            == "0"
        )
        shared.fails(
            "insert into memoryd.private_rows values ('alice', 'x', 1, 1, 'd', 1, 'x')", "bob"
        )
        assert shared.sql("select count(*) from memoryd.private_rows", role="boss") == "0"
    assert (await desk.sync()).pulled == []
    assert desk.says() == {"a.md": "one"}
