"""The sealed rows of one person on the team's server: statements, nothing else.

- Row-level security shows a login its own rows only; nothing here names an owner.
- A row is written over the version that was read, as in team memory: of two machines that write at
  once one wins, and the other one plans again. The server's clock stamps; a random tie tells apart.
- There is one row for each file, and no history: each machine keeps its own.
"""

import secrets
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import msgspec

from memoryd.devices.rules import problems
from memoryd.team.postgres import Ask, TeamServer
from memoryd.team.rules.plan import EntryVersion, Fingerprint
from memoryd.team.schema import NOW_MICROSECONDS

_HEAD: Final = "name, stamp, tie, device, epoch, octet_length(sealed)"
_ADD: Final = f"""
    insert into memoryd.private_rows (name, stamp, tie, device, epoch, sealed)
    select w.name, {NOW_MICROSECONDS}, w.tie, $1, $2, w.sealed
    from unnest($3::text[], $4::bigint[], $5::bytea[]) as w(name, tie, sealed)
    on conflict (owner, name) do nothing
    returning {_HEAD}
"""  # noqa: S608 - fixed words
_CHANGE: Final = f"""
    update memoryd.private_rows as e set
        stamp = greatest(e.stamp + 1, {NOW_MICROSECONDS}), tie = w.tie,
        device = $1, epoch = $2, sealed = w.sealed
    from unnest($3::text[], $4::bigint[], $5::bytea[], $6::bigint[], $7::bigint[])
        as w(name, tie, sealed, base_stamp, base_tie)
    where e.owner = session_user::text and e.name = w.name
        and e.stamp = w.base_stamp and e.tie = w.base_tie
    returning e.name, e.stamp, e.tie, e.device, e.epoch, octet_length(e.sealed)
"""  # noqa: S608 - fixed words
_PUT_DEVICE: Final = """
    insert into memoryd.private_devices (device, epoch, sealed) values ($1, $2, $3)
    on conflict (owner, device) do update set epoch = excluded.epoch, sealed = excluded.sealed
"""
_ADD_KEY: Final = """
    insert into memoryd.private_keys (epoch, device, sealed) values ($1, $2, $3)
    on conflict (owner, epoch, device) do nothing returning device
"""


class RowHead(msgspec.Struct, frozen=True):
    """What the server shows of a row."""

    name: str
    version: EntryVersion
    device: str
    epoch: int
    bytes: int


class RowPush(msgspec.Struct, frozen=True):
    name: str
    sealed: bytes
    base: EntryVersion | None


class SealedDevice(msgspec.Struct, frozen=True):
    device: str
    epoch: int
    sealed: bytes


class SealedKey(msgspec.Struct, frozen=True):
    epoch: int
    sealed: bytes


class PrivateServer:
    """One connection; used by one task at a time."""

    def __init__(self, server: TeamServer) -> None:
        self.server = server

    # --- rows -----------------------------------------------------------------------------------

    async def fingerprint(self) -> Fingerprint:
        ((count, newest, ties),) = await self.server.rows(
            "select count(*), coalesce(max(stamp), 0), coalesce(sum(tie), 0)::text"
            " from memoryd.private_rows where owner = session_user::text"
        )
        return Fingerprint(count, newest, int(ties))

    async def heads(self, since: int = 0) -> list[RowHead]:
        rows = await self.server.rows(
            f"select {_HEAD} from memoryd.private_rows"  # noqa: S608 - fixed words
            " where owner = session_user::text and stamp >= $1",
            since,
        )
        return [_head(row) for row in rows]

    async def sealed(self, heads: Sequence[RowHead]) -> dict[str, tuple[RowHead, bytes]]:
        """The rows with these names as they are now, each with its head."""
        rows = await self.server.rows(
            f"select {_HEAD}, sealed from memoryd.private_rows"  # noqa: S608 - fixed words
            " where owner = session_user::text and name = any($1::text[])",
            [one.name for one in heads],
        )
        return {row[0]: (_head(row), bytes(row[6])) for row in rows}

    async def push(self, device: str, epoch: int, pushes: Sequence[RowPush]) -> list[RowHead]:
        """Writes these in one transaction; returns the new heads of those whose base was right."""
        sent = sorted(pushes, key=lambda one: one.name)
        return await self.server.all_or_none(lambda ask: _push(ask, device, epoch, sent))

    async def listen(self, heard: Callable[[], None]) -> bool:
        return await self.server.listen(self._channel, heard)

    async def notify(self) -> None:
        await self.server.notify(self._channel)

    @property
    def _channel(self) -> str:
        return f"private\0{self.server.address.user}"

    # --- machines and keys ----------------------------------------------------------------------

    async def devices(self) -> list[SealedDevice]:
        rows = await self.server.rows(
            "select device, epoch, sealed from memoryd.private_devices"
            " where owner = session_user::text order by device"
        )
        return [SealedDevice(row[0], row[1], bytes(row[2])) for row in rows]

    async def put_device(self, one: SealedDevice) -> None:
        await self.server.rows(_PUT_DEVICE, one.device, one.epoch, one.sealed)

    async def keys_for(self, device: str, after: int) -> list[SealedKey]:
        """The keys of later epochs that this machine was given, oldest first."""
        rows = await self.server.rows(
            "select epoch, sealed from memoryd.private_keys where owner = session_user::text"
            " and device = $1 and epoch > $2 order by epoch",
            device,
            after,
        )
        return [SealedKey(row[0], bytes(row[1])) for row in rows]

    async def roll(
        self, revoked: str, epoch: int, keys: Mapping[str, bytes], records: Mapping[str, bytes]
    ) -> None:
        """A new epoch without one machine, or nothing if another one made it at this moment."""
        await self.server.all_or_none(lambda ask: _roll(ask, revoked, epoch, keys, records))

    # --- invitations ----------------------------------------------------------------------------

    async def invite(self, name: str, sealed: bytes, lifetime_seconds: int) -> None:
        await self.server.rows(
            "delete from memoryd.private_invitations where owner = session_user::text"  # noqa: S608 - fixed words
            f" and expires < {NOW_MICROSECONDS}"
        )
        await self.server.rows(
            "insert into memoryd.private_invitations (name, expires, sealed)"  # noqa: S608 - fixed words
            f" values ($1, {NOW_MICROSECONDS} + $2::bigint, $3)",
            name,
            lifetime_seconds * 1_000_000,
            sealed,
        )

    async def take_invitation(self, name: str) -> bytes | None:
        """Works once: it is gone with this."""
        rows = await self.server.rows(
            "delete from memoryd.private_invitations where owner = session_user::text"  # noqa: S608 - fixed words
            f" and name = $1 returning sealed, expires >= {NOW_MICROSECONDS}",
            name,
        )
        return bytes(rows[0][0]) if rows and rows[0][1] else None

    async def start_over(self) -> None:
        """Everything of this person goes: nobody can read it any more."""

        async def work(ask: Ask) -> None:
            for table in ("rows", "devices", "keys", "invitations"):
                await ask(
                    f"delete from memoryd.private_{table} where owner = session_user::text"  # noqa: S608 - fixed words
                )

        await self.server.all_or_none(work)


async def _push(ask: Ask, device: str, epoch: int, pushes: Sequence[RowPush]) -> list[RowHead]:
    new = [one for one in pushes if one.base is None]
    over = [(one, one.base) for one in pushes if one.base is not None]
    rows: list[Any] = []
    if new:
        rows += await ask(_ADD, device, epoch, *_columns(new))
    if over:
        rows += await ask(
            _CHANGE,
            device,
            epoch,
            *_columns([one for one, _ in over]),
            [base.stamp for _, base in over],
            [base.tie for _, base in over],
        )
    return [_head(row) for row in rows]


async def _roll(
    ask: Ask, revoked: str, epoch: int, keys: Mapping[str, bytes], records: Mapping[str, bytes]
) -> None:
    for device, sealed in sorted(keys.items()):
        if not await ask(_ADD_KEY, epoch, device, sealed):
            raise problems.rolled_meanwhile()  # and the transaction is undone
    for device, sealed in sorted(records.items()):
        await ask(_PUT_DEVICE, device, epoch, sealed)
    for table in ("devices", "keys"):
        await ask(
            f"delete from memoryd.private_{table} where owner = session_user::text"  # noqa: S608 - fixed words
            " and device = $1",
            revoked,
        )
    await ask("delete from memoryd.private_invitations where owner = session_user::text")


def _head(row: Any) -> RowHead:  # noqa: ANN401 - a record of the driver, which has no types
    return RowHead(row[0], EntryVersion(row[1], row[2]), row[3], row[4], row[5])


def _columns(pushes: Sequence[RowPush]) -> tuple[list[Any], ...]:
    return (
        [one.name for one in pushes],
        [secrets.randbits(62) for _ in pushes],
        [one.sealed for one in pushes],
    )
