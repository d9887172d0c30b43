"""Connections to a team's database, opened as the daemon opens them."""

import hashlib
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager

from memoryd.team.postgres import TeamServer
from memoryd.team.rules.address import address_in
from memoryd.team.rules.entries import EntryPush
from memoryd.team.rules.plan import EntryVersion
from tests.support.postgres import OWNER, TeamDatabase
from tests.support.team import PROJECT


@asynccontextmanager
async def connected(database: TeamDatabase, role: str) -> AsyncIterator[TeamServer]:
    server = await TeamServer.open(address_in(database.dsn(role)))
    try:
        yield server
    finally:
        await server.close()


@asynccontextmanager
async def members(database: TeamDatabase, *roles: str) -> AsyncIterator[list[TeamServer]]:
    """The tables are made, and each of these people is connected."""
    await set_up(database, roles)
    async with AsyncExitStack() as stack:
        yield [await stack.enter_async_context(connected(database, role)) for role in roles]


async def set_up(database: TeamDatabase, roles: Sequence[str], project: str = PROJECT) -> int:
    async with connected(database, OWNER) as owner:
        return await owner.set_up(project, roles, ())


def push(name: str, text: str | None, base: EntryVersion | None = None) -> EntryPush:
    data = None if text is None else text.encode()
    return EntryPush(name, "" if data is None else hashlib.sha256(data).hexdigest(), data, base)
