"""What a session was given: known at once, saved after the answer, complete after a stop."""

import anyio
import anyio.lowlevel

from memoryd.recall.surfaced import MOST_SESSIONS, Surfaced
from memoryd.system.database import Database


def surfaced(database: Database) -> Surfaced:
    return Surfaced(database, lambda: 1_800_000_000.0)


async def stopped(one: Surfaced) -> None:
    """Starts to save and is stopped at once."""
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(one.run)
        await anyio.lowlevel.checkpoint()
        tasks.cancel_scope.cancel()


async def test_a_stop_saves_what_was_not_saved_yet(database: Database) -> None:
    one = surfaced(database)
    one.add("s", {"/m/a.md": 10, "/m/b.md": 20})
    assert await one.of("s") == {"/m/a.md": 10, "/m/b.md": 20}
    assert await surfaced(database).of("s") == {}
    await stopped(one)
    assert await surfaced(database).of("s") == {"/m/a.md": 10, "/m/b.md": 20}
    assert await surfaced(database).of("another") == {}


async def test_it_is_saved_soon_while_other_tasks_run(database: Database) -> None:
    one = surfaced(database)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(one.run)
        for number in range(3):
            one.add("s", {f"/m/{number}.md": number})
            with anyio.fail_after(60):
                while len(await surfaced(database).of("s")) <= number:
                    await anyio.lowlevel.checkpoint()
        tasks.cancel_scope.cancel()


async def test_what_was_forgotten_may_be_given_again(database: Database) -> None:
    one = surfaced(database)
    one.add("s", {"/m/a.md": 10})
    one.forget("s")
    assert await one.of("s") == {}
    one.add("s", {"/m/b.md": 20})
    await stopped(one)
    assert await surfaced(database).of("s") == {"/m/b.md": 20}


async def test_without_a_session_nothing_is_kept(database: Database) -> None:
    one = surfaced(database)
    one.add("", {"/m/a.md": 10})
    assert await one.of("") == {}


async def test_a_failed_save_does_not_lose_what_is_in_memory(database: Database) -> None:
    one = surfaced(database)
    one.add("s", {"/m/a.md": 10})
    database.run("drop table surfaced")
    await stopped(one)
    assert await one.of("s") == {"/m/a.md": 10}


async def test_of_many_sessions_the_oldest_is_read_again(database: Database) -> None:
    one = surfaced(database)
    one.add("first", {"/m/a.md": 10})
    await stopped(one)
    for number in range(MOST_SESSIONS):
        await one.of(f"s{number}")
    assert await one.of("first") == {"/m/a.md": 10}
