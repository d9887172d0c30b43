"""What a session was given: known at once, written down behind the answer, whole after a stop."""

import anyio
import anyio.lowlevel

from memoryd.recall.surfaced import MOST_SESSIONS, Surfaced
from memoryd.system.database import Database
from tests.support.times import NOW


def surfaced(state: Database) -> Surfaced:
    return Surfaced(state, lambda: NOW)


async def stopped(one: Surfaced) -> None:
    """Begins to write and is told to stop at once."""
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(one.run)
        await anyio.lowlevel.checkpoint()
        tasks.cancel_scope.cancel()


async def test_a_stop_writes_down_what_was_not_yet_written(state: Database) -> None:
    one = surfaced(state)
    one.add("s", {"/m/a.md": 10, "/m/b.md": 20})
    assert await one.of("s") == {"/m/a.md": 10, "/m/b.md": 20}
    assert await surfaced(state).of("s") == {}
    await stopped(one)
    assert await surfaced(state).of("s") == {"/m/a.md": 10, "/m/b.md": 20}
    assert await surfaced(state).of("another") == {}


async def test_it_is_written_down_soon_while_others_go_on(state: Database) -> None:
    one = surfaced(state)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(one.run)
        for number in range(3):
            one.add("s", {f"/m/{number}.md": number})
            with anyio.fail_after(60):
                while len(await surfaced(state).of("s")) <= number:
                    await anyio.lowlevel.checkpoint()
        tasks.cancel_scope.cancel()


async def test_what_is_forgotten_stays_forgotten_and_may_be_given_again(state: Database) -> None:
    one = surfaced(state)
    one.add("s", {"/m/a.md": 10})
    one.forget("s")
    assert await one.of("s") == {}
    one.add("s", {"/m/b.md": 20})
    await stopped(one)
    assert await surfaced(state).of("s") == {"/m/b.md": 20}


async def test_no_session_is_given_nothing(state: Database) -> None:
    one = surfaced(state)
    one.add("", {"/m/a.md": 10})
    assert await one.of("") == {}


async def test_a_disk_that_takes_nothing_is_no_reason_to_forget(state: Database) -> None:
    one = surfaced(state)
    one.add("s", {"/m/a.md": 10})
    state.run("drop table surfaced")
    await stopped(one)
    assert await one.of("s") == {"/m/a.md": 10}


async def test_of_many_sessions_the_oldest_is_read_again(state: Database) -> None:
    one = surfaced(state)
    one.add("first", {"/m/a.md": 10})
    await stopped(one)
    for number in range(MOST_SESSIONS):
        await one.of(f"s{number}")
    assert await one.of("first") == {"/m/a.md": 10}
