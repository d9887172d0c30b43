"""The team's database: the statements that memoryd sends, and what they promise.

- One connection does everything, notifications included; there is no pool. Statements are not
  cached by name, so that a pooler may stand between.
- Every statement that writes is guarded by the version that it replaces, so read committed is
  enough; where the engine serialises instead, and loses a transaction, it is tried again.
- Heads (`entries`) and texts (`versions`) are written in one transaction: a kill leaves both or
  none. A push whose base is outdated changes nothing and is missing in the answer.
- LISTEN and NOTIFY are used where the engine has them; `listens` says so. A notification has no
  payload: any login of the database could hear it.
- Errors become `TeamProblem`s. The driver (`driver`) is imported at the first connection; without
  it there is a clear word, and the rest of the daemon is not concerned.
"""

import hashlib
import os
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any, Final, Self, TypeVar

import anyio

from memoryd.team import schema
from memoryd.team.driver import driver, our_problems, tls_of
from memoryd.team.rules import problems
from memoryd.team.rules.address import ServerAddress
from memoryd.team.rules.entries import EntryPush, EntryText, LoggedVersion
from memoryd.team.rules.plan import EntryVersion, Fingerprint, ServerEntry

CONNECT_SECONDS: Final = 10.0
COMMAND_SECONDS: Final = 60.0
CLOSE_SECONDS: Final = 2.0
TRIES: Final = 6
# Nothing can be there: passwords are found by `credentials`, not by the driver.
NO_FILE: Final = f"{os.devnull}/none"

_HEAD: Final = "entry, stamp, tie, sha256, author, bytes"
_ADD_HEADS: Final = f"""
    insert into memoryd.entries (project, entry, stamp, tie, sha256, bytes, author)
    select $1, w.entry, {schema.NOW_MICROSECONDS}, w.tie, w.sha256, w.bytes, session_user::text
    from unnest($2::text[], $3::bigint[], $4::text[], $5::integer[]) as w(entry, tie, sha256, bytes)
    on conflict (project, entry) do nothing
    returning {_HEAD}
"""  # noqa: S608 - fixed words
_CHANGE_HEADS: Final = f"""
    update memoryd.entries as e set
        stamp = greatest(e.stamp + 1, {schema.NOW_MICROSECONDS}), tie = w.tie,
        sha256 = w.sha256, bytes = w.bytes, author = session_user::text
    from unnest($2::text[], $3::bigint[], $4::text[], $5::integer[], $6::bigint[], $7::bigint[])
        as w(entry, tie, sha256, bytes, base_stamp, base_tie)
    where e.project = $1 and e.entry = w.entry and e.stamp = w.base_stamp and e.tie = w.base_tie
    returning e.entry, e.stamp, e.tie, e.sha256, e.author, e.bytes
"""  # noqa: S608 - fixed words
_ADD_VERSIONS: Final = """
    insert into memoryd.versions
        (project, entry, stamp, tie, sha256, bytes, author, content)
    select $1, w.entry, w.stamp, w.tie, w.sha256, w.bytes, session_user::text, w.content
    from unnest($2::text[], $3::bigint[], $4::bigint[], $5::text[], $6::integer[], $7::bytea[])
        as w(entry, stamp, tie, sha256, bytes, content)
"""
_TEXTS: Final = """
    select v.entry, v.stamp, v.tie, v.sha256, v.author, v.content
    from memoryd.versions v
    join unnest($2::text[], $3::bigint[], $4::bigint[]) as w(entry, stamp, tie)
        on v.entry = w.entry and v.stamp = w.stamp and v.tie = w.tie
    where v.project = $1
"""

Answer = TypeVar("Answer")
# Runs a statement with its values, inside a transaction.
Ask = Callable[..., Awaitable[list[Any]]]


class TeamServer:
    """One open connection; used by one task at a time."""

    def __init__(self, connection: Any, address: ServerAddress) -> None:  # noqa: ANN401 - no types
        self._connection = connection
        self.address = address
        self.listens = False

    @classmethod
    async def open(cls, address: ServerAddress) -> Self:
        """Connects, over TLS with a checked certificate unless it is a local socket."""
        asyncpg = driver()
        password = address.password.reveal() if address.password else None
        context = None if address.is_socket else tls_of(address)
        with our_problems(address):
            connection = await asyncpg.connect(
                host=address.host,
                port=address.port,
                user=address.user,
                database=address.database,
                password=password,
                passfile=NO_FILE,
                ssl=context if context is not None else False,
                timeout=CONNECT_SECONDS,
                command_timeout=COMMAND_SECONDS,
                statement_cache_size=0,
                server_settings={"application_name": "memoryd"},
            )
        return cls(connection, address)

    async def close(self) -> None:
        with anyio.move_on_after(CLOSE_SECONDS, shield=True), suppress(Exception):
            await self._connection.close()
        self._connection.terminate()

    @property
    def is_closed(self) -> bool:
        return bool(self._connection.is_closed())

    async def check(self, project: str = "") -> None:
        """TeamProblem unless the tables fit, and this person is a member of the project."""
        with our_problems(self.address):
            found = await self._connection.fetchval("select version from memoryd.schema_version")
        problem = problems.schema_problem(self.address, found or 0, schema.SCHEMA_VERSION)
        if problem is not None:
            raise problem
        if project and not await self.is_member(project):
            raise problems.not_a_member(self.address, project)

    async def is_member(self, project: str) -> bool:
        with our_problems(self.address):
            return bool(
                await self._connection.fetchval(
                    "select 1 from memoryd.members"
                    " where project = $1 and member = session_user::text",
                    project,
                )
            )

    async def has_members(self, project: str) -> bool:
        """Whether anybody belongs to a project, as far as this login sees; the owner sees all."""
        with our_problems(self.address):
            return bool(
                await self._connection.fetchval(
                    "select 1 from memoryd.members where project = $1 limit 1", project
                )
            )

    async def bypasses_security(self) -> bool:
        """Whether this login stands above row-level security, as a superuser does."""
        with our_problems(self.address):
            return bool(
                await self._connection.fetchval(
                    "select rolsuper or rolbypassrls from pg_catalog.pg_roles"
                    " where rolname = session_user"
                )
            )

    async def clock_seconds(self) -> float:
        with our_problems(self.address):
            return float(
                await self._connection.fetchval("select extract(epoch from clock_timestamp())")
            )

    # --- reading --------------------------------------------------------------------------------

    async def fingerprint(self, project: str) -> Fingerprint:
        with our_problems(self.address):
            row = await self._connection.fetchrow(
                "select count(*), coalesce(max(stamp), 0), coalesce(sum(tie), 0)::text"
                " from memoryd.entries where project = $1",
                project,
            )
        return Fingerprint(row[0], row[1], int(row[2]))

    async def heads(self, project: str, since: int = 0) -> list[ServerEntry]:
        """Every entry whose stamp is at least `since`."""
        with our_problems(self.address):
            rows = await self._connection.fetch(
                f"select {_HEAD} from memoryd.entries where project = $1 and stamp >= $2",  # noqa: S608 - fixed words
                project,
                since,
            )
        return [_head(row) for row in rows]

    async def texts(self, project: str, wanted: Sequence[ServerEntry]) -> list[EntryText]:
        """The texts of these versions; one that is not there is missing in the answer."""
        with our_problems(self.address):
            rows = await self._connection.fetch(
                _TEXTS,
                project,
                [one.name for one in wanted],
                [one.version.stamp for one in wanted],
                [one.version.tie for one in wanted],
            )
        return [
            EntryText(row[0], EntryVersion(row[1], row[2]), row[3], row[4], row[5]) for row in rows
        ]

    async def log(self, project: str, limit: int, entry: str = "") -> list[LoggedVersion]:
        """The versions of a project or of one entry, newest first."""
        with our_problems(self.address):
            rows = await self._connection.fetch(
                f"select {_HEAD} from memoryd.versions"  # noqa: S608 - fixed words
                " where project = $1 and ($2 = '' or entry = $2)"
                " order by stamp desc, tie desc limit $3",
                project,
                entry,
                limit,
            )
        return [
            LoggedVersion(row[0], EntryVersion(row[1], row[2]), row[3], row[4], row[5])
            for row in rows
        ]

    # --- writing --------------------------------------------------------------------------------

    async def push(self, project: str, pushes: Sequence[EntryPush]) -> list[ServerEntry]:
        """Writes these in one transaction; returns the new heads of those whose base was right."""
        if not pushes:
            return []
        sent = sorted(pushes, key=lambda one: one.name)
        return await self._retried(lambda: self._push(project, sent))

    async def _push(self, project: str, pushes: Sequence[EntryPush]) -> list[ServerEntry]:
        ties = {one.name: secrets.randbits(62) for one in pushes}
        new = [one for one in pushes if one.base is None]
        over = [(one, one.base) for one in pushes if one.base is not None]
        async with self._connection.transaction():
            rows: list[Any] = []
            if new:
                rows += await self._connection.fetch(_ADD_HEADS, project, *_columns(new, ties))
            if over:
                rows += await self._connection.fetch(
                    _CHANGE_HEADS,
                    project,
                    *_columns([one for one, _ in over], ties),
                    [base.stamp for _, base in over],
                    [base.tie for _, base in over],
                )
            heads = [_head(row) for row in rows]
            await self._add_versions(project, heads, {one.name: one.text for one in pushes})
        return heads

    async def _add_versions(
        self, project: str, heads: Sequence[ServerEntry], texts: Mapping[str, bytes | None]
    ) -> None:
        if heads:
            await self._connection.execute(
                _ADD_VERSIONS,
                project,
                [one.name for one in heads],
                [one.version.stamp for one in heads],
                [one.version.tie for one in heads],
                [one.sha256 for one in heads],
                [one.bytes for one in heads],
                [texts[one.name] for one in heads],
            )

    # --- news -----------------------------------------------------------------------------------

    async def listen(self, project: str, heard: Callable[[], None]) -> bool:
        """Calls back when somebody pushed; false where the engine cannot, or nobody wants it."""
        if not self.address.may_listen:
            return False
        asyncpg = driver()
        try:
            await self._connection.add_listener(channel_of(project), lambda *_: heard())
        except asyncpg.PostgresError as error:
            if error.sqlstate not in problems.UNKNOWN_TO_ENGINE:
                raise problems.problem_of_state(error.sqlstate or "", self.address) from None
            self.listens = False
            return False
        self.listens = True
        return True

    async def notify(self, project: str) -> None:
        """Tells those who listen; where nobody can, they will find it by polling."""
        asyncpg = driver()
        with our_problems(self.address), suppress(asyncpg.PostgresError):
            await self._connection.execute("select pg_notify($1, '')", channel_of(project))

    # --- for other tables -----------------------------------------------------------------------

    async def rows(self, statement: str, *values: object) -> list[Any]:
        """What one statement answers."""
        with our_problems(self.address):
            return list(await self._connection.fetch(statement, *values))

    async def all_or_none(self, work: Callable[[Ask], Awaitable[Answer]]) -> Answer:
        """Runs the work in one transaction, again if that lost against another one."""

        async def whole() -> Answer:
            async with self._connection.transaction():
                return await work(self._connection.fetch)

        return await self._retried(whole)

    # --- setting up -----------------------------------------------------------------------------

    async def set_up(self, project: str, members: Sequence[str], leavers: Sequence[str]) -> int:
        """Makes or migrates the tables and sets the project's members; returns the old version."""
        async with self._migration_lock():
            before = await self._retried(self._migrate)
            await self._retried(lambda: self._set_members(project, members, leavers))
        return before

    async def _migrate(self) -> int:
        async with self._connection.transaction():
            if not await self._connection.fetchval(
                "select 1 from pg_catalog.pg_namespace where nspname = 'memoryd'"
            ):
                for statement in schema.FIRST:
                    await self._connection.execute(statement)
            before = int(
                await self._connection.fetchval("select version from memoryd.schema_version")
            )
            if before > schema.SCHEMA_VERSION:
                raise _newer(self.address, before)
            for statements in schema.MIGRATIONS[before:]:
                for statement in statements:
                    await self._connection.execute(statement)
            if before < schema.SCHEMA_VERSION:
                await self._connection.execute(
                    "update memoryd.schema_version set version = $1", schema.SCHEMA_VERSION
                )
        return before

    async def _set_members(
        self, project: str, members: Sequence[str], leavers: Sequence[str]
    ) -> None:
        async with self._connection.transaction():
            for role in members:
                for statement in schema.grants(schema.quoted(role)):
                    await self._connection.execute(statement)
                if project:  # else it is for the machines of each person alone
                    await self._connection.execute(
                        "insert into memoryd.members values ($1, $2) on conflict do nothing",
                        project,
                        role,
                    )
            for role in leavers:
                await self._connection.execute(
                    "delete from memoryd.members where project = $1 and member = $2", project, role
                )

    @asynccontextmanager
    async def _migration_lock(self) -> AsyncIterator[None]:
        """Two who set up at once wait for each other, where the engine has such a lock."""
        asyncpg = driver()
        is_held = True
        try:
            await self._connection.execute("select pg_advisory_lock($1)", schema.LOCK_NUMBER)
        except asyncpg.PostgresError:
            is_held = False
        except TimeoutError:
            raise problems.being_set_up(self.address) from None
        try:
            yield
        finally:
            if is_held:
                with suppress(asyncpg.PostgresError, asyncpg.InterfaceError):
                    await self._connection.execute(
                        "select pg_advisory_unlock($1)", schema.LOCK_NUMBER
                    )

    async def _retried(self, work: Callable[[], Awaitable[Answer]]) -> Answer:
        """The work's answer; a transaction that lost against another one is tried again."""
        asyncpg = driver()
        for attempt in range(TRIES):
            try:
                with our_problems(self.address, passes_retried=attempt < TRIES - 1):
                    return await work()
            except asyncpg.PostgresError:
                pause_ms = (2**attempt) * 20
                await anyio.sleep((pause_ms + secrets.randbelow(pause_ms)) / 1000)
        raise AssertionError("the last try either answers or raises")


def channel_of(project: str) -> str:
    """What those who work on a project listen to; its name is not in it."""
    return f"memoryd_{hashlib.sha256(project.encode()).hexdigest()[:32]}"


def _head(row: Any) -> ServerEntry:  # noqa: ANN401 - a record of the driver, which has no types
    return ServerEntry(row[0], EntryVersion(row[1], row[2]), row[3], row[4], row[5])


def _columns(pushes: Sequence[EntryPush], ties: Mapping[str, int]) -> tuple[list[Any], ...]:
    return (
        [one.name for one in pushes],
        [ties[one.name] for one in pushes],
        [one.sha256 for one in pushes],
        [one.bytes for one in pushes],
    )


def _newer(address: ServerAddress, found: int) -> problems.TeamProblem:
    problem = problems.schema_problem(address, found, schema.SCHEMA_VERSION)
    assert problem is not None  # noqa: S101 - the caller compared the two
    return problem
