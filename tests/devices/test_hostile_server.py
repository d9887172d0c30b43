"""What a server may try: old, cut, swapped, changed and lost rows."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from memoryd.devices.row_seals import NOT_OURS, OLDER
from tests.support.own_clones import OwnClone, machines
from tests.support.postgres import TeamDatabase

Pair = tuple[OwnClone, OwnClone]


@pytest.fixture
async def pair(shared: TeamDatabase, tmp_path: Path) -> AsyncIterator[Pair]:
    async with machines(tmp_path, shared, "desk", "lap") as (desk, lap):
        yield desk, lap


async def test_an_old_row_that_is_put_back_is_refused_and_replaced(
    pair: Pair, shared: TeamDatabase
) -> None:
    desk, lap = pair
    desk.write("a.md", "one")
    await desk.sync()
    await lap.sync()
    shared.sql("create table kept as select * from memoryd.private_rows")
    desk.write("a.md", "two")
    await desk.sync()
    await lap.sync()
    shared.sql(
        "update memoryd.private_rows r set sealed = k.sealed, tie = r.tie + 1,"
        " device = k.device from kept k where k.name = r.name"
    )
    answer = await lap.sync()
    assert lap.says() == {"a.md": "two"}
    assert answer.pushed == ["remote:example.com/acme/shop: a.md"]
    await desk.sync()
    assert desk.says() == {"a.md": "two"}


async def test_a_new_machine_is_not_given_an_older_state_than_its_inviter_saw(
    pair: Pair, shared: TeamDatabase, tmp_path: Path
) -> None:
    desk, lap = pair
    desk.write("a.md", "one")
    await desk.sync()
    shared.sql("create table kept as select * from memoryd.private_rows")
    desk.write("a.md", "two")
    await desk.sync()
    code = await desk.add()
    shared.sql(
        "update memoryd.private_rows r set sealed = k.sealed, stamp = k.stamp, tie = k.tie"
        " from kept k where k.name = r.name"
    )
    new = OwnClone(tmp_path / "new", shared)
    await new.add(code)
    assert new.says() == {}
    (refused,) = (await new.status()).refused
    assert refused.reason == OLDER
    await desk.sync()  # which has the newer one
    await new.sync()
    assert new.says() == {"a.md": "two"}
    await new.close()
    await lap.sync()


TAMPERINGS = {
    "swapped": "update memoryd.private_rows r set sealed = o.sealed, tie = r.tie + 1 from"
    " memoryd.private_rows o where o.name != r.name and r.name in (select min(name) from"
    " memoryd.private_rows)",
    "cut": "update memoryd.private_rows set sealed = substr(sealed, 1, 500), tie = tie + 1",
    "changed": "update memoryd.private_rows set sealed = set_byte(sealed, 99,"
    " (get_byte(sealed, 99) + 1) % 256), tie = tie + 1",
    "of another machine": "update memoryd.private_rows set device = 'ab', tie = tie + 1",
    "empty": "update memoryd.private_rows set sealed = '', tie = tie + 1",
}


@pytest.mark.parametrize("how", TAMPERINGS)
async def test_a_row_that_the_server_changed_is_refused_named_and_replaced(
    pair: Pair, shared: TeamDatabase, how: str
) -> None:
    desk, lap = pair
    desk.write("a.md", "one")
    desk.write("b.md", "two")
    await desk.sync()
    shared.sql(TAMPERINGS[how])
    answer = await lap.sync()  # never had it: it can only refuse
    assert NOT_OURS in {one.reason for one in answer.refused}
    assert lap.says().items() <= {"a.md": "one", "b.md": "two"}.items()
    await desk.sync()
    await lap.sync()
    assert desk.says() == lap.says() == {"a.md": "one", "b.md": "two"}
    assert (await lap.status()).refused == []


async def test_rows_that_the_server_lost_are_sent_again(pair: Pair, shared: TeamDatabase) -> None:
    desk, lap = pair
    desk.write("a.md", "one")
    await desk.sync()
    await lap.sync()
    shared.sql("delete from memoryd.private_rows")
    assert len((await lap.sync()).pushed) == 1
    await desk.sync()
    assert desk.says() == lap.says() == {"a.md": "one"}
