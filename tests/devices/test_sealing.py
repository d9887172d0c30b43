"""Seals: only the right key in the right place opens them; and the file that keeps the keys."""

import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoryd.base.errors import Refused
from memoryd.devices import sealing
from memoryd.devices.keyring import Keyring, KeyringFile
from memoryd.devices.rules.members import VaultKeys
from memoryd.devices.sealing import DeviceKeys, NotOpened, seal, seal_for, unseal, unseal_own

KEY, OTHER = b"k" * 32, b"o" * 32


@given(st.binary(max_size=300))
def test_what_is_sealed_opens_with_its_key_in_its_place_alone(text: bytes) -> None:
    sealed = seal(KEY, text, "row", "vault", 1)
    assert unseal(KEY, sealed, "row", "vault", 1) == text
    assert seal(KEY, text, "row", "vault", 1) != sealed
    for key, place in (
        (OTHER, ("row", "vault", 1)),
        (KEY, ("device", "vault", 1)),
        (KEY, ("row", "other", 1)),
        (KEY, ("row", "vault", 2)),
        (KEY, ("row", "vault")),
        (KEY, ("row", "vault", 1, "")),
    ):
        with pytest.raises(NotOpened):
            unseal(key, sealed, *place)


def test_one_changed_bit_or_a_missing_byte_anywhere_does_not_open() -> None:
    sealed = seal(KEY, b"a memory", "row")
    for at in range(len(sealed)):
        changed = bytearray(sealed)
        changed[at] ^= 1
        with pytest.raises(NotOpened):
            unseal(KEY, bytes(changed), "row")
        with pytest.raises(NotOpened):
            unseal(KEY, sealed[:at], "row")
    with pytest.raises(NotOpened):
        unseal(KEY, sealed + b"\0", "row")


@given(st.binary(max_size=200))
def test_garbage_does_not_open(data: bytes) -> None:
    own = DeviceKeys(b"p" * 32, b"q" * 32)
    with pytest.raises(NotOpened):
        unseal(KEY, data, "row")
    with pytest.raises(NotOpened):
        unseal_own(own, data, "rolled")


def test_what_is_for_one_machine_opens_on_no_other() -> None:
    mine, theirs = sealing.new_device_keys(), sealing.new_device_keys()
    sealed = seal_for(mine.public, b"a key", "rolled", 2)
    assert unseal_own(mine, sealed, "rolled", 2) == b"a key"
    for own, place in ((theirs, ("rolled", 2)), (mine, ("rolled", 3))):
        with pytest.raises(NotOpened):
            unseal_own(own, sealed, *place)
    with pytest.raises(NotOpened):  # a public key that gives everybody the same secret
        unseal_own(mine, bytes(32) + sealed[32:], "rolled", 2)


def test_a_code_stands_for_another_invitation_for_everybody_else() -> None:
    assert sealing.stretched("A" * 20, "alice") == sealing.stretched("A" * 20, "alice")
    assert sealing.stretched("A" * 20, "alice") != sealing.stretched("A" * 20, "bob")
    name, key = sealing.stretched("A" * 20, "alice")
    assert key.hex()[:32] != name


def keyring() -> Keyring:
    return Keyring(
        device="d" * 32,
        name="desk",
        place="db",
        own=sealing.new_device_keys(),
        keys=VaultKeys(vault="0" * 32, names=b"n" * 32, epochs={1: KEY, 2: OTHER}),
    )


def test_keys_are_for_their_owner_alone(tmp_path: Path) -> None:
    file = KeyringFile(str(tmp_path))
    assert file.read() is None
    kept = keyring()
    file.write(kept)
    assert file.read() == kept
    assert stat.S_IMODE(Path(file.path).stat().st_mode) == 0o600
    assert stat.S_IMODE(Path(file.path).parent.stat().st_mode) == 0o700
    Path(file.path).chmod(0o644)
    with pytest.raises(Refused, match="others can read"):
        file.read()


@pytest.mark.parametrize("data", [b"", b"{}", b"\xff\xfe", b"[" * 5000, b'{"device": 1}'])
def test_damaged_keys_are_refused_and_left_where_they_are(tmp_path: Path, data: bytes) -> None:
    file = KeyringFile(str(tmp_path))
    file.write(keyring())
    Path(file.path).write_bytes(data)
    with pytest.raises(Refused, match="damaged"):
        file.read()
    assert Path(file.path).read_bytes() == data


def test_keys_of_a_wrong_size_in_the_file_are_refused(tmp_path: Path) -> None:
    file = KeyringFile(str(tmp_path))
    file.write(keyring())
    text = Path(file.path).read_text().replace('"1":', '"0":')
    Path(file.path).write_text(text)
    with pytest.raises(Refused, match="damaged"):
        file.read()
