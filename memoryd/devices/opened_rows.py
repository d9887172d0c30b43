"""What is on the server, as far as this machine could open it.

- Heads are kept from the last time, as far as they still hold (`team/heads`).
- A row is opened when its version is new here, and then is `seen`, or `refused` with the reason.
- After a key was rolled, every machine seals the rows again that it knew before.
"""

from collections.abc import Iterable, Sequence
from typing import Final

import anyio.to_thread
import msgspec

from memoryd.devices.device_table import AGREED, DeviceTable, SeenRow
from memoryd.devices.keyring import Keyring
from memoryd.devices.private_server import PrivateServer, RowHead, RowPush
from memoryd.devices.row_seals import RefusedRow, RowSeals, seen_row
from memoryd.devices.rules.payloads import RowPayload, Unreadable
from memoryd.devices.sealing import NotOpened
from memoryd.team.heads import followed
from memoryd.team.rules.entries import batches
from memoryd.team.team_table import TeamTable

BATCH_BYTES: Final = 1_000_000

Ready = tuple[RowPayload, RowPush]


class OpenedRows:
    """Used by one task at a time."""

    def __init__(self, table: DeviceTable, agreed: TeamTable) -> None:
        self._table = table
        self._agreed = agreed
        self._seals: RowSeals | None = None
        self.heads: dict[str, RowHead] = {}
        self.seen: dict[str, SeenRow] = {}
        self.refused: dict[str, RefusedRow] = {}

    @property
    def seals(self) -> RowSeals:
        assert self._seals is not None  # noqa: S101 - a sync begins with them
        return self._seals

    def use(self, keyring: Keyring) -> None:
        """The keys of this machine as they are now."""
        if self._seals is not None and self._seals.own.keys.epoch != keyring.keys.epoch:
            self.refused.clear()  # some may have waited for this key
        self._seals = RowSeals(keyring)

    def forget(self) -> None:
        """Another vault: nothing read so far holds."""
        self.heads.clear()
        self.refused.clear()

    def is_refused(self, head: RowHead) -> bool:
        refused = self.refused.get(head.name)
        return refused is not None and refused.version == head.version

    def refuse(self, head: RowHead, reason: str) -> None:
        seen = self.seen.get(head.name)
        shown = seen.place.shown if seen and seen.place.path else "a row"
        self.refused[head.name] = RefusedRow(head.version, reason, shown)

    # --- reading --------------------------------------------------------------------------------

    async def read(self, server: PrivateServer) -> None:
        """Follows the server, and opens every row whose version is new here."""
        self.heads = await followed(self.heads, await server.fingerprint(), server.heads)
        self.seen = await anyio.to_thread.run_sync(self._table.seen)
        new = [
            head
            for name, head in self.heads.items()
            if (name not in self.seen or self.seen[name].version != head.version)
            and not self.is_refused(head)
        ]
        for batch in in_batches(new):
            found = await server.sealed(batch)
            await anyio.to_thread.run_sync(self._look_at, list(found.values()))

    def _look_at(self, rows: Sequence[tuple[RowHead, bytes]]) -> None:
        taken: list[SeenRow] = []
        for head, sealed in rows:
            self.heads[head.name] = head
            found = self.seals.judged(head, sealed, self.seen.get(head.name))
            if isinstance(found, str):
                self.refuse(head, found)
            else:
                taken.append(seen_row(head, found))
        self._table.note(taken)
        self.seen |= {one.name: one for one in taken}

    # --- writing --------------------------------------------------------------------------------

    async def send(self, server: PrivateServer, ready: Sequence[Ready]) -> list[RowHead]:
        """The new heads of those whose base was right."""
        if not ready:
            return []
        own = self.seals.own
        return await server.push(own.device, own.keys.epoch, [push for _, push in ready])

    def sent(self, rows: Sequence[tuple[RowHead, RowPayload]]) -> list[SeenRow]:
        """Notes what this machine wrote; blocking."""
        seen = [seen_row(head, payload) for head, payload in rows]
        self.heads |= {head.name: head for head, _ in rows}
        self.seen |= {one.name: one for one in seen}
        self._table.note(seen)
        return seen

    async def reseal(self, server: PrivateServer) -> int:
        """Gives rows that were known before a key was rolled the new key; returns how many lost."""
        epoch, lost = self.seals.own.keys.epoch, 0
        old = [
            head
            for name, head in self.heads.items()
            if head.epoch < epoch and name in self.seen and self.seen[name].version == head.version
        ]
        for batch in in_batches(old):
            found = await server.sealed(batch)
            ready = await anyio.to_thread.run_sync(self._resealed, list(found.values()))
            heads = await self.send(server, ready)
            by_name = {push.name: (payload, push) for payload, push in ready}
            await anyio.to_thread.run_sync(
                self._resent, [(one, *by_name[one.name]) for one in heads]
            )
            lost += len(ready) - len(heads)
        return lost

    def _resealed(self, rows: Sequence[tuple[RowHead, bytes]]) -> list[Ready]:
        ready: list[Ready] = []
        for head, sealed in rows:
            seen = self.seen[head.name]
            if head.version != seen.version:
                continue
            try:
                payload = self.seals.opened(head, sealed)
            except (NotOpened, Unreadable):
                continue
            payload = msgspec.structs.replace(payload, counter=seen.counter + 1)
            again = self.seals.sealed(head.name, payload)
            ready.append((payload, RowPush(head.name, again, head.version)))
        return ready

    def _resent(self, rows: Sequence[tuple[RowHead, RowPayload, RowPush]]) -> None:
        """The same text in a new version: what was agreed before still is, and no more."""
        known = self._agreed.known(AGREED)
        self.sent([(head, payload) for head, payload, _ in rows])
        self._agreed.note(
            AGREED,
            {
                head.name: msgspec.structs.replace(known[head.name], version=head.version)
                for head, _, push in rows
                if head.name in known and known[head.name].version == push.base
            },
        )


def in_batches(heads: Iterable[RowHead]) -> Iterable[list[RowHead]]:
    return batches(((one, one.bytes) for one in heads), BATCH_BYTES)
