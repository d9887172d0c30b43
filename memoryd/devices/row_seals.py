"""Rows as this machine seals and opens them, and why one is refused.

What a row belongs to (the vault, its name, the epoch, the machine that sent it) is part of the
seal: moved, swapped, cut or changed, it does not open. A row that opens still says which version it
is; an older one than was seen is refused too.
"""

from typing import Final

import msgspec

from memoryd.devices import sealing
from memoryd.devices.device_table import SeenRow
from memoryd.devices.keyring import Keyring
from memoryd.devices.private_server import RowHead
from memoryd.devices.rules.payloads import (
    RowPayload,
    RowPlace,
    Unreadable,
    is_replayed,
    name_text,
    packed,
    unpacked,
)
from memoryd.team.rules.entries import hash_of
from memoryd.team.rules.plan import EntryVersion

OLD_KEY: Final = "it was sealed with a key that is no longer in use, as a revoked machine does"
OLDER: Final = "it is older than what this machine saw: somebody put an old row back"
NOT_OURS: Final = "it does not open: it was changed on the server, or is not one of this place"
NO_KEY: Final = "it waits for a key that this machine was not given yet"
# What is on the server is nobody's work: a machine that has the file sends it again.
REPLACED: Final = frozenset({OLD_KEY, OLDER, NOT_OURS})


class RefusedRow(msgspec.Struct, frozen=True):
    """A version of a row that is not taken; `shown` is what it stood for, as far as is known."""

    version: EntryVersion
    reason: str
    shown: str


class RowSeals:
    def __init__(self, keyring: Keyring) -> None:
        self.own = keyring
        self._keys = keyring.keys

    def name_of(self, place: RowPlace) -> str:
        return sealing.row_name(self._keys.names, name_text(place))

    def sealed(self, name: str, payload: RowPayload) -> bytes:
        place = ("row", self._keys.vault, name, self._keys.epoch, self.own.device)
        return sealing.seal(self._keys.current, packed(payload), *place)

    def opened(self, head: RowHead, sealed: bytes) -> RowPayload:
        """What is in a row, of any epoch; NotOpened or Unreadable."""
        key = self._keys.epochs.get(head.epoch)
        if key is None:
            raise sealing.NotOpened
        place = ("row", self._keys.vault, head.name, head.epoch, head.device)
        payload = unpacked(sealing.unseal(key, sealed, *place))
        if self.name_of(payload.place) != head.name:
            raise sealing.NotOpened
        return payload

    def judged(self, head: RowHead, sealed: bytes, seen: SeenRow | None) -> RowPayload | str:
        """What is in a row whose version is new here, or why it is refused."""
        if head.epoch > self._keys.epoch:
            return NO_KEY
        if head.epoch < self._keys.epoch:
            return OLD_KEY
        try:
            payload = self.opened(head, sealed)
        except Unreadable as error:
            return str(error)
        except sealing.NotOpened:
            return NOT_OURS
        if seen and is_replayed(payload, hash_of(payload.text), seen.counter, seen.sha256):
            return OLDER
        return payload

    def is_replaced(self, head: RowHead, reason: str) -> bool:
        """Whether this machine may send its own version over a refused row.

        A row of the old epoch by a machine that belongs here is left to that one: it may have been
        under way when the key was rolled.
        """
        others = {one.device for one in self.own.others} - {self.own.device}
        return reason in REPLACED and not (reason == OLD_KEY and head.device in others)


def seen_row(head: RowHead, payload: RowPayload) -> SeenRow:
    return SeenRow(
        name=head.name,
        version=head.version,
        epoch=head.epoch,
        counter=payload.counter,
        sha256=hash_of(payload.text),
        device=head.device,
        place=payload.place,
        commit=payload.commit,
    )
