"""Who belongs to a person's machines, and which key is theirs now.

Rules
- Every machine has a pair of keys of its own. All of them share the vault key of the current epoch.
- The record of a machine (its name, its public key) is sealed with the vault key of the epoch. So
  nobody who lacks the key can add a machine, and a machine that was revoked cannot be put back: its
  record is of an older epoch, or does not open.
- To revoke a machine makes a new epoch: a new vault key, given to each remaining machine under its
  public key, and that sealed with the vault key before it. Nobody can make one
  without them.
- An invitation holds the keys, sealed with the code, and how far each row had come: a new machine
  cannot be given an older state of the vault than the one that invited it saw.
"""

from typing import Final

import msgspec

VAULT_BYTES: Final = 32
ID_BYTES: Final = 16
NAME_CHARACTERS: Final = 60


class DeviceRecord(msgspec.Struct, frozen=True, kw_only=True):
    """One machine; `added` is by the server's clock."""

    device: str
    name: str
    public_key: bytes
    added: float


class VaultKeys(msgspec.Struct, frozen=True, kw_only=True):
    """`names` makes the names of rows and never changes; `epochs` has every vault key so far."""

    vault: str
    names: bytes
    epochs: dict[int, bytes]

    @property
    def epoch(self) -> int:
        return max(self.epochs)

    @property
    def current(self) -> bytes:
        return self.epochs[self.epoch]


class RolledKey(msgspec.Struct, frozen=True, kw_only=True):
    """What a machine is given when the key is rolled."""

    epoch: int
    key: bytes
    revoked: list[str]


class Invitation(msgspec.Struct, frozen=True, kw_only=True):
    """What waits behind a code; `counters` is how far each row had come."""

    keys: VaultKeys
    counters: dict[str, int]
    invited_by: str


def keys_are_sound(keys: VaultKeys) -> bool:
    """Whether keys that came from outside have the right sizes."""
    return (
        len(keys.names) == VAULT_BYTES
        and bool(keys.epochs)
        and all(len(one) == VAULT_BYTES and epoch >= 1 for epoch, one in keys.epochs.items())
        and len(bytes.fromhex(keys.vault)) == ID_BYTES
    )


def free_device_name(wanted: str, taken: set[str]) -> str:
    """The name itself, or with a number if another machine has it."""
    plain = " ".join("".join(one if one.isprintable() else " " for one in wanted).split())
    name = plain[:NAME_CHARACTERS] or "machine"
    number = 1
    while (candidate := name if number == 1 else f"{name}-{number}") in taken:
        number += 1
    return candidate
