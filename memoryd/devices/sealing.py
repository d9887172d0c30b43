"""Sealing and opening: the only importer of `cryptography`.

- ChaCha20-Poly1305 with a random nonce for everything that is sealed. What a sealed text belongs to
  (the vault, the row, the epoch, the machine) goes in as associated data: in another place it does
  not open.
- Every purpose has a key of its own, derived with HKDF-SHA256. Row names are HMAC-SHA256.
- For one machine: X25519 with a fresh key of the sender, then as above.
- A code is stretched with scrypt.
- Whatever does not open is `NotOpened`, without a reason: it was changed, or is not ours.
"""

import hashlib
import hmac
import secrets
from typing import TYPE_CHECKING, Any, Final

import msgspec

from memoryd.devices.rules import problems
from memoryd.devices.rules.members import ID_BYTES, VAULT_BYTES

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

NONCE_BYTES: Final = 12
PUBLIC_BYTES: Final = 32
# 64 MiB and about a fifth of a second.
_SCRYPT: Final = {"n": 2**16, "r": 8, "p": 1, "maxmem": 2**27}


class NotOpened(Exception):
    """It was changed on its way, or was not sealed with this key for this place."""


class DeviceKeys(msgspec.Struct, frozen=True):
    """A machine's own pair."""

    private: bytes
    public: bytes


def random_bytes(count: int = VAULT_BYTES) -> bytes:
    return secrets.token_bytes(count)


def random_id() -> str:
    return secrets.token_hex(ID_BYTES)


def row_name(names: bytes, text: bytes) -> str:
    return hmac.new(names, text, hashlib.sha256).hexdigest()[:40]


def seal(key: bytes, text: bytes, *belongs_to: str | int) -> bytes:
    nonce = secrets.token_bytes(NONCE_BYTES)
    return nonce + _cipher(key, belongs_to).encrypt(nonce, text, _context(belongs_to))


def unseal(key: bytes, sealed: bytes, *belongs_to: str | int) -> bytes:
    """What was sealed; NotOpened if it is not exactly that, for exactly this place."""
    if len(sealed) <= NONCE_BYTES:
        raise NotOpened
    nonce, rest = sealed[:NONCE_BYTES], sealed[NONCE_BYTES:]
    try:
        return _cipher(key, belongs_to).decrypt(nonce, rest, _context(belongs_to))
    except _primitives().InvalidTag:
        raise NotOpened from None


def new_device_keys() -> DeviceKeys:
    private = _primitives().X25519PrivateKey.generate()
    return DeviceKeys(private.private_bytes_raw(), private.public_key().public_bytes_raw())


def seal_for(public: bytes, text: bytes, *belongs_to: str | int) -> bytes:
    """For the machine that has the other half of a key, and nobody else."""
    fresh = new_device_keys()
    place = (*belongs_to, fresh.public.hex(), public.hex())
    return fresh.public + seal(_shared(fresh.private, public), text, *place)


def unseal_own(own: DeviceKeys, sealed: bytes, *belongs_to: str | int) -> bytes:
    if len(sealed) <= PUBLIC_BYTES:
        raise NotOpened
    sender = sealed[:PUBLIC_BYTES]
    place = (*belongs_to, sender.hex(), own.public.hex())
    return unseal(_shared(own.private, sender), sealed[PUBLIC_BYTES:], *place)


def stretched(code: str, owner: str) -> tuple[str, bytes]:
    """The name of the invitation that a code stands for, and the key to it. Blocking, and slow."""
    salt = hashlib.sha256(f"memoryd invitation\0{owner}".encode()).digest()
    key = hashlib.scrypt(code.encode(), salt=salt, dklen=64, **_SCRYPT)
    return key[:ID_BYTES].hex(), key[32:]


def _shared(private: bytes, public: bytes) -> bytes:
    primitives = _primitives()
    own = primitives.X25519PrivateKey.from_private_bytes(private)
    try:
        return bytes(own.exchange(primitives.X25519PublicKey.from_public_bytes(public)))
    except ValueError:  # a point that gives everybody the same key
        raise NotOpened from None


def _cipher(key: bytes, belongs_to: tuple[str | int, ...]) -> "ChaCha20Poly1305":
    """A key of its own for each purpose, which is the first word of what a text belongs to."""
    primitives = _primitives()
    derived = primitives.HKDF(
        algorithm=primitives.SHA256(),
        length=32,
        salt=None,
        info=f"memoryd {belongs_to[0]}".encode(),
    ).derive(key)
    cipher: ChaCha20Poly1305 = primitives.ChaCha20Poly1305(derived)
    return cipher


def _context(belongs_to: tuple[str | int, ...]) -> bytes:
    return "\0".join(("memoryd 1", *map(str, belongs_to))).encode()


class _Primitives(msgspec.Struct, frozen=True):
    ChaCha20Poly1305: Any
    HKDF: Any
    SHA256: Any
    InvalidTag: Any
    X25519PrivateKey: Any
    X25519PublicKey: Any


_loaded: list[_Primitives] = []


def _primitives() -> _Primitives:
    """Loaded at the first use: an extra, and only those with several machines need it."""
    if not _loaded:
        _loaded.append(_load())
    return _loaded[0]


def _load() -> _Primitives:
    try:
        from cryptography.exceptions import InvalidTag  # noqa: PLC0415 - an extra
        from cryptography.hazmat.primitives.asymmetric import x25519  # noqa: PLC0415
        from cryptography.hazmat.primitives.ciphers.aead import (  # noqa: PLC0415
            ChaCha20Poly1305,
        )
        from cryptography.hazmat.primitives.hashes import SHA256  # noqa: PLC0415
        from cryptography.hazmat.primitives.kdf.hkdf import HKDF  # noqa: PLC0415
    except ImportError:
        raise problems.no_cipher() from None
    return _Primitives(
        ChaCha20Poly1305,
        HKDF,
        SHA256,
        InvalidTag,
        x25519.X25519PrivateKey,
        x25519.X25519PublicKey,
    )
