"""The database as the daemon uses it: real statements on a real server."""

import anyio
import pytest

from memoryd.team.postgres import TeamServer
from memoryd.team.rules.address import address_in
from memoryd.team.rules.plan import fingerprint
from memoryd.team.rules.problems import TeamProblem
from memoryd.team.schema import SCHEMA_VERSION
from tests.support.postgres import OWNER, TeamDatabase
from tests.support.team import PROJECT
from tests.support.team_servers import connected, members, push, set_up


async def test_setting_up_twice_and_by_two_at_once_is_the_same(shared: TeamDatabase) -> None:
    before: list[int] = []

    async def once() -> None:
        before.append(await set_up(shared, ["alice"]))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(once)
        tasks.start_soon(once)
    assert sorted(before) == [0, SCHEMA_VERSION]
    assert await set_up(shared, ["alice", "bob"]) == SCHEMA_VERSION
    assert shared.sql("select string_agg(member, ',' order by member) from memoryd.members") == (
        "alice,bob"
    )


async def test_what_is_pushed_is_read_back_byte_for_byte(shared: TeamDatabase) -> None:
    text = "Grüße\x00 und \u2028 mehr\n"
    async with members(shared, "alice", "bob") as (alice, bob):
        (head,) = await alice.push(PROJECT, [push("a.md", text)])
        assert (head.author, head.bytes) == ("alice", len(text.encode()))
        assert await bob.heads(PROJECT) == [head]
        (found,) = await bob.texts(PROJECT, [head])
        assert found.text == text.encode()
        assert (found.version, found.sha256, found.author) == (
            head.version,
            head.sha256,
            "alice",
        )
        assert await bob.fingerprint(PROJECT) == fingerprint([head])


async def test_only_a_push_over_the_current_version_is_taken(shared: TeamDatabase) -> None:
    async with members(shared, "alice", "bob") as (alice, bob):
        (first,) = await alice.push(PROJECT, [push("a.md", "one")])
        (second,) = await bob.push(PROJECT, [push("a.md", "two", first.version)])
        assert second.version > first.version
        assert await alice.push(PROJECT, [push("a.md", "mine", first.version)]) == []
        assert await alice.push(PROJECT, [push("a.md", "new")]) == []
        assert await alice.heads(PROJECT) == [second]
        (gone,) = await alice.push(PROJECT, [push("a.md", None, second.version)])
        assert gone.sha256 == ""
        (back,) = await bob.push(PROJECT, [push("a.md", "two", gone.version)])
        log = await alice.log(PROJECT, 10)
        assert [(one.author, one.sha256 != "") for one in log] == [
            ("bob", True),
            ("alice", False),
            ("bob", True),
            ("alice", True),
        ]
        assert log[0].version == back.version


async def test_a_server_clock_that_falls_back_does_not_make_a_version_older(
    shared: TeamDatabase,
) -> None:
    async with members(shared, "alice") as (alice,):
        (first,) = await alice.push(PROJECT, [push("a.md", "one")])
        ahead = first.version.stamp + 30_000_000  # the clock was half a minute ahead then
        shared.sql(f"update memoryd.entries set stamp = {ahead}")
        (head,) = await alice.heads(PROJECT)
        (second,) = await alice.push(PROJECT, [push("a.md", "two", head.version)])
        assert second.version.stamp == ahead + 1


async def test_of_many_who_push_at_once_one_wins_each_entry(shared: TeamDatabase) -> None:
    names = [f"e{number}.md" for number in range(20)]
    async with members(shared, "alice", "bob", "carol") as people:
        won: list[str] = []

        async def add(server: TeamServer, order: list[str]) -> None:
            made = await server.push(
                PROJECT, [push(name, f"{name} {server.address.user}") for name in order]
            )
            won.extend(one.name for one in made)

        async with anyio.create_task_group() as tasks:
            for number, server in enumerate(people):
                tasks.start_soon(add, server, names[number:] + names[:number])
        assert sorted(won) == sorted(names)
        assert len(await people[0].log(PROJECT, 100)) == len(names)


async def test_a_serializable_engine_loses_transactions_and_no_push(shared: TeamDatabase) -> None:
    people = ("alice", "bob", "carol")
    for role in people:
        shared.sql(
            f"alter role {role} in database {shared.name}"
            " set default_transaction_isolation = 'serializable'"
        )
    async with members(shared, *people) as servers:

        async def add(server: TeamServer) -> None:
            for number in range(15):
                name = f"{server.address.user}{number}.md"
                await server.fingerprint(PROJECT)
                assert await server.push(PROJECT, [push(name, name), push("same.md", "x")])

        async with anyio.create_task_group() as tasks:
            for server in servers:
                tasks.start_soon(add, server)
        assert len(await servers[0].heads(PROJECT)) == 46


async def test_newer_heads_can_be_asked_for_alone(shared: TeamDatabase) -> None:
    async with members(shared, "alice") as (alice,):
        await alice.push(PROJECT, [push("a.md", "one")])
        (later,) = await alice.push(PROJECT, [push("b.md", "two")])
        assert await alice.heads(PROJECT, later.version.stamp) == [later]


async def test_those_who_listen_hear_of_a_push_and_nobody_reads_what(shared: TeamDatabase) -> None:
    async with members(shared, "alice", "bob") as (alice, bob):
        heard = anyio.Event()
        assert await bob.listen(PROJECT, heard.set)
        await alice.push(PROJECT, [push("a.md", "one")])
        await alice.notify(PROJECT)
        with anyio.fail_after(30):
            await heard.wait()


async def test_an_entry_that_is_too_large_for_the_table_is_refused(shared: TeamDatabase) -> None:
    async with members(shared, "alice") as (alice,):
        with pytest.raises(TeamProblem):
            await alice.push(PROJECT, [push("a.md", "x" * 300_000)])
        assert await alice.heads(PROJECT) == []


# --- what goes wrong ----------------------------------------------------------------------------


async def checked(dsn: str) -> None:
    server = await TeamServer.open(address_in(dsn))
    try:
        await server.check(PROJECT)
    finally:
        await server.close()


async def reason_of(dsn: str) -> str:
    with pytest.raises(TeamProblem) as caught:
        await checked(dsn)
    assert caught.value.hint
    assert "wrong" not in caught.value.message
    return caught.value.reason


async def test_each_way_to_fail_has_its_word(shared: TeamDatabase) -> None:
    sockets = shared.server.sockets
    assert await reason_of(shared.dsn("alice")) == "schema"
    wrong = f"postgresql://locked:wrong@/{shared.name}?host={sockets}"
    assert await reason_of(wrong) == "password"
    assert await reason_of(f"postgresql://locked@/{shared.name}?host={sockets}") == "password"
    assert await reason_of(f"postgresql://alice@/nowhere?host={sockets}") == "database"
    assert await reason_of(f"postgresql://nobody@/{shared.name}?host={sockets}") == "password"
    assert await reason_of("postgresql://alice@/x?host=/nowhere") == "unreachable"
    assert await reason_of("postgresql://alice@127.0.0.1:1/x") == "unreachable"
    await set_up(shared, ["alice"])
    assert await reason_of(shared.dsn("mallory")) == "privileges"
    await set_up(shared, ["bob"], "another/project")
    assert await reason_of(shared.dsn("bob")) == "privileges"
    shared.sql("update memoryd.schema_version set version = 0")
    assert await reason_of(shared.dsn("alice")) == "schema"
    shared.sql("update memoryd.schema_version set version = 999")
    assert await reason_of(shared.dsn("alice")) == "schema"


async def test_a_role_that_does_not_exist_and_one_that_may_not_set_up_are_told_so(
    shared: TeamDatabase,
) -> None:
    with pytest.raises(TeamProblem) as caught:
        await set_up(shared, ["nobody_at_all"])
    assert caught.value.reason == "role"
    async with connected(shared, "alice") as alice:
        with pytest.raises(TeamProblem) as caught:
            await alice.set_up(PROJECT, ["alice"], ())
    assert caught.value.reason == "privileges"
    async with connected(shared, OWNER) as owner:
        await owner.set_up(PROJECT, ["alice"], ())
        await owner.set_up(PROJECT, [], ["alice"])
    assert await reason_of(shared.dsn("alice")) == "privileges"


async def test_a_read_only_server_is_named_as_one(shared: TeamDatabase) -> None:
    async with members(shared, "alice"):
        pass
    setting = f"alter role alice in database {shared.name} set"
    shared.sql(f"{setting} default_transaction_read_only = on")
    async with connected(shared, "alice") as alice:
        with pytest.raises(TeamProblem) as caught:
            await alice.push(PROJECT, [push("a.md", "one")])
    assert caught.value.reason == "read-only"


async def test_a_full_disk_of_the_server_is_named_as_one(shared: TeamDatabase) -> None:
    async with members(shared, "alice") as (alice,):
        shared.sql(
            "create function memoryd.full() returns trigger language plpgsql as"
            " $$ begin raise exception 'no room' using errcode = '53100'; end $$;"
            "create trigger full_now before insert on memoryd.versions"
            " for each row execute function memoryd.full()"
        )
        with pytest.raises(TeamProblem) as caught:
            await alice.push(PROJECT, [push("a.md", "one")])
        assert caught.value.reason == "disk"
        assert "no room" not in caught.value.message
        assert await alice.heads(PROJECT) == []


async def test_a_killed_backend_is_an_unreachable_server(shared: TeamDatabase) -> None:
    async with members(shared, "alice") as (alice,):
        shared.sql(
            "select pg_terminate_backend(pid) from pg_stat_activity where usename = 'alice'"
            f" and datname = '{shared.name}'"
        )
        with pytest.raises(TeamProblem) as caught:
            await alice.heads(PROJECT)
        assert caught.value.reason == "unreachable"
        assert alice.is_closed


async def test_a_superuser_is_known_to_stand_above_the_rules(shared: TeamDatabase) -> None:
    async with connected(shared, "root") as root, connected(shared, "alice") as alice:
        assert await root.bypasses_security()
        assert not await alice.bypasses_security()


async def test_who_sets_up_while_somebody_else_takes_long_at_it_is_told_so(
    shared: TeamDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with connected(shared, OWNER) as slow, slow._migration_lock():
        monkeypatch.setattr("memoryd.team.postgres.COMMAND_SECONDS", 0.5)
        async with connected(shared, OWNER) as owner:
            with pytest.raises(TeamProblem) as caught:
                await owner.set_up(PROJECT, ["alice"], ())
    assert caught.value.reason == "busy"
    assert await set_up(shared, ["alice"]) == 0
