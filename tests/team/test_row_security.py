"""What a member, a former one, the owner and a thief try with a login of their own and psql."""

import pytest

from tests.support.postgres import OWNER, TeamDatabase
from tests.support.team import PROJECT
from tests.support.team_servers import connected, members, push, set_up

OTHER = "example.com/acme/secret"
NOW = "(extract(epoch from clock_timestamp()) * 1000000)::bigint"
TABLES = ("entries", "versions", "members")


async def filled(database: TeamDatabase) -> None:
    """Alice and Bob share one project, Carol has another one; Mallory is in none."""
    async with members(database, "alice", "bob") as (alice, _):
        await alice.push(PROJECT, [push("a.md", "ours")])
    await set_up(database, ["carol"], OTHER)
    async with connected(database, "carol") as carol:
        await carol.push(OTHER, [push("b.md", "hers alone")])
    database.sql(f"grant create on database {database.name} to mallory")


def row(project: str, author: str, *, entry: str = "new.md", stamp: str = NOW) -> str:
    return (
        "insert into memoryd.entries (project, entry, stamp, tie, sha256, bytes, author)"
        f" values ('{project}', '{entry}', {stamp}, 1, 'x', 1, '{author}')"
    )


async def test_nobody_reads_another_teams_rows(shared: TeamDatabase) -> None:
    await filled(shared)
    for table in TABLES:
        assert OTHER not in shared.sql(f"select * from memoryd.{table}", "alice")
        assert PROJECT not in shared.sql(f"select * from memoryd.{table}", "carol")
        assert "denied" in shared.fails(f"select * from memoryd.{table}", "mallory")
    assert shared.sql("select count(*) from memoryd.versions where content is not null", "bob") == (
        "1"
    )


@pytest.mark.parametrize(
    "before",
    [
        "set row_security = off;",
        "set memoryd.team = 'example.com/acme/secret';",
        "set role carol;",
        "set session authorization carol;",
        "set local role boss;",
        "reset session authorization;",
    ],
)
async def test_no_setting_and_no_role_opens_another_teams_rows(
    shared: TeamDatabase, before: str
) -> None:
    await filled(shared)
    done = shared.server.try_sql(
        f"{before} select * from memoryd.versions", role="alice", database=shared.name
    )
    assert "hers alone" not in done.stdout
    assert OTHER not in done.stdout


async def test_nobody_writes_moves_or_deletes_in_another_teams_rows(shared: TeamDatabase) -> None:
    await filled(shared)
    tried = [
        row(OTHER, "alice"),
        f"update memoryd.entries set project = '{OTHER}'",
        "update memoryd.entries set entry = 'moved.md'",
        "delete from memoryd.entries",
        "delete from memoryd.versions",
        "truncate memoryd.entries",
        "update memoryd.versions set content = 'forged'",
        f"insert into memoryd.members values ('{OTHER}', 'alice')",
        "delete from memoryd.members",
        "update memoryd.members set member = 'mallory'",
        "update memoryd.schema_version set version = 0",
        "alter table memoryd.entries disable row level security",
        "drop policy entries_read on memoryd.entries",
        "create table memoryd.mine (x text)",
        "drop table memoryd.versions",
    ]
    for statement in tried:
        shared.fails(statement, "alice")
    shared.sql(f"update memoryd.entries set tie = 5, author = 'alice' where project = '{OTHER}'")
    before = shared.sql("select * from memoryd.entries order by 1")
    shared.sql(
        f"update memoryd.entries set tie = 6, author = 'alice' where project = '{OTHER}'", "alice"
    )
    assert shared.sql("select * from memoryd.entries order by 1") == before


async def test_nobody_writes_under_another_name_or_in_the_future(shared: TeamDatabase) -> None:
    await filled(shared)
    assert "row-level security" in shared.fails(row(PROJECT, "bob"), "alice")
    forged = "update memoryd.entries set author = 'bob', tie = 9"
    assert "row-level security" in shared.fails(forged, "alice")
    ahead = row(PROJECT, "alice", stamp=f"{NOW} + 3600 * 1000000::bigint")
    assert "row-level security" in shared.fails(ahead, "alice")
    late = "update memoryd.entries set author = 'alice', stamp = 9223372036854775807"
    assert "row-level security" in shared.fails(late, "alice")
    version = "insert into memoryd.versions values"
    forged = f"{version} ('{PROJECT}', 'a.md', {NOW}, 3, 'x', 1, 'bob', 'x')"
    assert "row-level security" in shared.fails(forged, "alice")


async def test_the_owner_is_bound_too_and_manages_members_alone(shared: TeamDatabase) -> None:
    await filled(shared)
    for table in ("entries", "versions"):
        assert shared.sql(f"select count(*) from memoryd.{table}", OWNER) == "0"
    assert shared.sql("select count(*) from memoryd.members", OWNER) == "3"
    assert "row-level security" in shared.fails(row(PROJECT, OWNER), OWNER)


async def test_a_members_own_view_shows_a_colleague_nothing_more(shared: TeamDatabase) -> None:
    await filled(shared)
    shared.sql("create schema mine authorization mallory")
    shared.sql("grant usage on schema mine to public")
    shared.sql(f"insert into memoryd.members values ('{PROJECT}', 'mallory')")
    shared.sql("grant usage on schema memoryd to mallory")
    shared.sql("grant select on memoryd.versions, memoryd.members to mallory")
    shared.sql("create view mine.all_rows as select * from memoryd.versions", "mallory")
    shared.sql("grant select on mine.all_rows to carol", "mallory")
    # Row-level security asks who logged in, not whose view it is.
    texts = "select convert_from(content, 'utf8') from mine.all_rows"
    assert "ours" in shared.sql(texts, "mallory")
    assert "ours" not in shared.sql(texts, "carol")


async def test_who_is_no_member_any_more_sees_nothing(shared: TeamDatabase) -> None:
    await filled(shared)
    async with connected(shared, OWNER) as owner:
        await owner.set_up(PROJECT, (), ["bob"])
    assert shared.sql("select count(*) from memoryd.versions", "bob") == "0"
    assert "row-level security" in shared.fails(row(PROJECT, "bob"), "bob")


async def test_an_open_connection_loses_its_rows_with_the_membership(shared: TeamDatabase) -> None:
    await filled(shared)
    async with connected(shared, "bob") as bob:
        assert len(await bob.heads(PROJECT)) == 1
        async with connected(shared, OWNER) as owner:
            await owner.set_up(PROJECT, (), ["bob"])
        assert await bob.heads(PROJECT) == []


async def test_a_name_with_quotes_is_a_name_and_no_statement(shared: TeamDatabase) -> None:
    shared.sql('create role "o\'hara ""x" login')
    try:
        await set_up(shared, ["o'hara \"x"])
        assert shared.sql("select member from memoryd.members") == "o'hara \"x"
    finally:
        shared.sql('drop owned by "o\'hara ""x"; drop role "o\'hara ""x"')
