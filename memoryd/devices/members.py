"""Which machines are a person's: the first one, a new one by a code, one less by a new key.

`rules/members` says why each step is safe. What blocks (scrypt, the key file) runs in a thread. The
key file is written before the server knows of a machine, so that a kill leaves a machine that can
go on, or one that is added again.
"""

import secrets
from collections.abc import Sequence
from functools import partial
from typing import Final, TypeVar

import anyio.to_thread
import msgspec

from memoryd.base.errors import InvalidInput, NotFound
from memoryd.devices import sealing
from memoryd.devices.device_table import DeviceTable
from memoryd.devices.keyring import Keyring, KeyringFile
from memoryd.devices.private_server import PrivateServer, SealedDevice, SealedKey
from memoryd.devices.rules import problems
from memoryd.devices.rules.codes import (
    LIFETIME_SECONDS,
    RANDOM_CHARACTERS,
    code_of,
    read_code,
)
from memoryd.devices.rules.members import (
    DeviceRecord,
    Invitation,
    RolledKey,
    VaultKeys,
    free_device_name,
    keys_are_sound,
)
from memoryd.devices.rules.payloads import padded, unpadded

Sent = TypeVar("Sent")
_UNREADABLE: Final = (sealing.NotOpened, msgspec.MsgspecError, ValueError)


class Members:
    def __init__(self, file: KeyringFile, table: DeviceTable) -> None:
        self.file = file
        self._table = table

    async def found(self) -> Keyring | None:
        return await anyio.to_thread.run_sync(self.file.read)

    # --- adding ---------------------------------------------------------------------------------

    async def create(self, server: PrivateServer, name: str, *, start_over: bool) -> Keyring:
        """The first machine: makes the vault. Refused if there are others, unless asked to."""
        others = await server.devices()
        if others and not start_over:
            raise problems.others_are_there(len(others))
        if start_over:
            await server.start_over()
        keys = VaultKeys(
            vault=sealing.random_id(),
            names=sealing.random_bytes(),
            epochs={1: sealing.random_bytes()},
        )
        await anyio.to_thread.run_sync(self._table.start_over)
        return await self._enter(server, keys, free_device_name(name, set()), [])

    async def invite(self, server: PrivateServer, keyring: Keyring) -> str:
        """A code for one more machine, which works once and not for long."""
        code = code_of([secrets.randbelow(32) for _ in range(RANDOM_CHARACTERS)])
        seen = await anyio.to_thread.run_sync(self._table.seen)
        counters = {name: one.counter for name, one in seen.items()}
        waiting = Invitation(keys=keyring.keys, counters=counters, invited_by=keyring.name)
        name, key = await self._stretched(server, code)
        await server.invite(name, _sealed(key, waiting, "invitation", name), LIFETIME_SECONDS)
        return code

    async def join(self, server: PrivateServer, code: str, name: str) -> Keyring:
        """A new machine: takes the keys that wait behind a code."""
        invitation, key = await self._stretched(server, code)
        sealed = await server.take_invitation(invitation)
        if sealed is None:
            raise problems.wrong_code()
        try:
            taken = _unsealed(key, sealed, Invitation, "invitation", invitation)
        except _UNREADABLE:
            raise problems.wrong_code() from None
        if not keys_are_sound(taken.keys):
            raise problems.wrong_code()
        records = _records(taken.keys, await server.devices())
        await anyio.to_thread.run_sync(self._table.start_over)
        await anyio.to_thread.run_sync(self._table.expect, taken.counters)
        free = free_device_name(name, {one.name for one in records})
        return await self._enter(server, taken.keys, free, records)

    async def _enter(
        self, server: PrivateServer, keys: VaultKeys, name: str, others: Sequence[DeviceRecord]
    ) -> Keyring:
        own = await anyio.to_thread.run_sync(sealing.new_device_keys)
        record = DeviceRecord(
            device=sealing.random_id(),
            name=name,
            public_key=own.public,
            added=await server.server.clock_seconds(),
        )
        keyring = Keyring(
            device=record.device,
            name=name,
            place=server.server.address.place,
            own=own,
            keys=keys,
            others=[*others, record],
        )
        await anyio.to_thread.run_sync(self.file.write, keyring)
        await server.put_device(_sealed_device(keys, record))
        await server.notify()
        return keyring

    async def _stretched(self, server: PrivateServer, code: str) -> tuple[str, bytes]:
        work = partial(sealing.stretched, read_code(code), server.server.address.user)
        return await anyio.to_thread.run_sync(work)

    # --- every day ------------------------------------------------------------------------------

    async def refreshed(self, server: PrivateServer, keyring: Keyring) -> Keyring:
        """The keyring with every key that this machine was given, and those who are there now."""
        before = keyring
        for one in await server.keys_for(keyring.device, keyring.keys.epoch):
            keyring = _with_key(keyring, one)
        sealed = await server.devices()
        if keyring.device not in {one.device for one in sealed}:
            raise problems.revoked()
        if max(one.epoch for one in sealed) > keyring.keys.epoch:
            raise problems.left_behind()
        records = _records(keyring.keys, sealed)
        if keyring.device not in {one.device for one in records}:
            raise problems.wrong_key()
        keyring = msgspec.structs.replace(keyring, others=list(records))
        if keyring != before:
            await anyio.to_thread.run_sync(self.file.write, keyring)
        return keyring

    # --- revoking -------------------------------------------------------------------------------

    async def revoke(self, server: PrivateServer, keyring: Keyring, name: str) -> Keyring:
        """One machine less, and a new key for all that remain."""
        gone = _named(keyring, name)
        epoch = keyring.keys.epoch + 1
        rolled = RolledKey(epoch=epoch, key=sealing.random_bytes(), revoked=[gone.device])
        keys = msgspec.structs.replace(
            keyring.keys, epochs=keyring.keys.epochs | {epoch: rolled.key}
        )
        left = [one for one in keyring.others if one.device != gone.device]
        await server.roll(
            gone.device,
            epoch,
            {one.device: _given(keyring.keys, one, rolled) for one in left},
            {one.device: _sealed_device(keys, one).sealed for one in left},
        )
        # Killed before this line, this machine finds its key on the server like the others.
        keyring = msgspec.structs.replace(keyring, keys=keys, others=left)
        await anyio.to_thread.run_sync(self.file.write, keyring)
        await server.notify()
        return keyring


def _named(keyring: Keyring, name: str) -> DeviceRecord:
    found = [one for one in keyring.others if name in {one.name, one.device}]
    if not found:
        known = ", ".join(one.name for one in keyring.others)
        raise NotFound(f"you have no machine {name!r}", hint=f"there are: {known}")
    if found[0].device == keyring.device:
        raise InvalidInput(
            "a machine cannot revoke itself",
            hint=f"on another of your machines: memoryd device revoke '{keyring.name}'",
        )
    return found[0]


def _with_key(keyring: Keyring, given: SealedKey) -> Keyring:
    keys = keyring.keys
    if given.epoch != keys.epoch + 1:
        raise problems.wrong_key()
    place = ("rolled", keys.vault, given.epoch, keyring.device)
    try:
        inner = sealing.unseal(keys.current, given.sealed, *place)
        text = sealing.unseal_own(keyring.own, inner, *place)
        rolled = msgspec.msgpack.decode(unpadded(text), type=RolledKey)
    except _UNREADABLE:
        raise problems.wrong_key() from None
    grown = msgspec.structs.replace(keys, epochs=keys.epochs | {given.epoch: rolled.key})
    if rolled.epoch != given.epoch or not keys_are_sound(grown):
        raise problems.wrong_key()
    return msgspec.structs.replace(keyring, keys=grown)


def _given(keys: VaultKeys, to: DeviceRecord, rolled: RolledKey) -> bytes:
    """A new key for one machine: for its eyes only, and from somebody who had the key before."""
    place = ("rolled", keys.vault, rolled.epoch, to.device)
    inner = sealing.seal_for(to.public_key, padded(msgspec.msgpack.encode(rolled)), *place)
    return sealing.seal(keys.current, inner, *place)


def _sealed_device(keys: VaultKeys, record: DeviceRecord) -> SealedDevice:
    place = ("device", keys.vault, record.device, keys.epoch)
    return SealedDevice(record.device, keys.epoch, _sealed(keys.current, record, *place))


def _records(keys: VaultKeys, sealed: Sequence[SealedDevice]) -> list[DeviceRecord]:
    """The machines that somebody with the current key put there."""
    found: list[DeviceRecord] = []
    for one in sealed:
        place = ("device", keys.vault, one.device, one.epoch)
        try:
            if one.epoch == keys.epoch:
                record = _unsealed(keys.current, one.sealed, DeviceRecord, *place)
                found += [record] if record.device == one.device else []
        except _UNREADABLE:
            continue
    return sorted(found, key=lambda one: (one.added, one.device))


def _sealed(key: bytes, sent: msgspec.Struct, *place: str | int) -> bytes:
    return sealing.seal(key, padded(msgspec.msgpack.encode(sent)), *place)


def _unsealed(key: bytes, sealed: bytes, kind: type[Sent], *place: str | int) -> Sent:
    return msgspec.msgpack.decode(unpadded(sealing.unseal(key, sealed, *place)), type=kind)
