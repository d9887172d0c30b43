"""A real Postgres that behaves like a lesser engine: no LISTEN, no locks, lost transactions.

`lesser` stands between a client and the server and misspells what such an engine does not have, so
that the server itself refuses it. `losing` makes the server abort transactions as a distributed
engine does (SQLSTATE 40001), one write of four.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
from anyio.abc import ByteStream, SocketStream

from tests.support.postgres import TeamDatabase

# Each of the same length, since the messages have a length.
MISSPELT = {
    b"LISTEN ": b"LISTEM ",
    b"pg_notify": b"pg_notifx",
    b"pg_advisory_lock": b"pg_advisory_loxx",
}


@asynccontextmanager
async def lesser(database: TeamDatabase, folder: Path) -> AsyncIterator[TeamDatabase]:
    """The same database behind a socket in `folder`."""
    real = f"{database.server.sockets}/.s.PGSQL.5432"
    listener = await anyio.create_unix_listener(folder / ".s.PGSQL.5432")

    async def serve(client: SocketStream) -> None:
        async with (
            client,
            await anyio.connect_unix(real) as server,
            anyio.create_task_group() as tasks,
        ):
            tasks.start_soon(_copied, server, client, {}, tasks.cancel_scope)
            tasks.start_soon(_copied, client, server, MISSPELT, tasks.cancel_scope)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(listener.serve, serve)
        yield _Behind(database, folder)
        tasks.cancel_scope.cancel()
    await listener.aclose()


class _Behind(TeamDatabase):
    def __init__(self, real: TeamDatabase, folder: Path) -> None:
        super().__init__(real.server, real.name)
        self._folder = folder

    def dsn(self, role: str) -> str:
        return f"postgresql://{role}@/{self.name}?host={self._folder}"


async def _copied(
    source: ByteStream, target: ByteStream, misspelt: dict[bytes, bytes], scope: anyio.CancelScope
) -> None:
    try:
        async for data in source:
            for word, other in misspelt.items():
                data = data.replace(word, other)  # noqa: PLW2901 - one after the other
            await target.send(data)
    except (anyio.BrokenResourceError, anyio.ClosedResourceError):
        pass
    scope.cancel()


def losing(database: TeamDatabase, *tables: str) -> None:
    """One of four writes to these tables ends as a serialization failure."""
    database.sql(
        "create sequence memoryd.tries; grant usage on memoryd.tries to public;"
        " create function memoryd.lose() returns trigger language plpgsql as $$ begin"
        " if nextval('memoryd.tries') % 4 = 1 then"
        " raise exception using errcode = '40001'; end if; return null; end $$"
    )
    for table in tables:
        database.sql(
            f"create trigger lose after insert or update on memoryd.{table}"
            " for each statement execute function memoryd.lose()"
        )


def tries(database: TeamDatabase) -> int:
    return int(database.sql("select last_value from memoryd.tries"))
