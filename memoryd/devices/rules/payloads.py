"""What is inside a sealed row, and how its size is hidden.

Rules
- A row is one file of a person: a memory of a project or of their own, retired ones included, or a
  checkpoint. Its name on the server is a keyed hash of where it belongs; nothing there is readable.
- Inside are the place, the bytes, and what the journal knows: when it was written and why, and who
  wrote it. So a memory is on every machine of the person what it was on the first.
- `counter` grows with every version of a row. A row with a number that was passed already is an old
  one that somebody put back.
- A removal has no text; `last` is what it said, so that it can be restored on any machine.
- The size is padded to the next power of two, from 1 KiB: the server sees steps, not lengths.
- What comes from the server is checked like anything from outside, although only somebody with the
  key can have written it.
"""

import re
from typing import Final, Literal

import msgspec

from memoryd.memories.rules.origins import Origin
from memoryd.memories.rules.retirement import is_in_retired
from memoryd.memories.rules.topics import INDEX_FILE

SMALLEST_BYTES: Final = 1024
# A checkpoint has at most 512 KiB, a memory half of that; a removal carries one text.
TEXT_LIMIT_BYTES: Final = 600 * 1024
PATH_BYTES: Final = 300
FORMAT: Final = 1
_LENGTH_BYTES: Final = 4
_PART: Final = re.compile(r"(?!\.\.?\Z)[^/\x00-\x1f\x7f]{1,200}")

RowKind = Literal["memory", "checkpoint"]
RowScope = Literal["project", "user"]


class RowPlace(msgspec.Struct, frozen=True):
    """Where a file belongs, on any machine; a person's own memories have no project."""

    kind: RowKind
    scope: RowScope
    project: str
    path: str

    @property
    def shown(self) -> str:
        return f"{self.project}: {self.path}" if self.project else self.path


class RowPayload(msgspec.Struct, frozen=True, kw_only=True):
    """One version of a file; `at` is by the server's clock, `commit` the project's first commit."""

    place: RowPlace
    counter: int
    text: bytes | None
    at: float
    cause: str = ""
    origin: Origin = "found"
    author: str = ""
    commit: str = ""
    last: bytes | None = None
    format: int = FORMAT


_encoder: Final = msgspec.msgpack.Encoder()
_decoder: Final = msgspec.msgpack.Decoder(RowPayload)


class Unreadable(ValueError):
    """A row that cannot be taken; its words are for people."""


def packed(payload: RowPayload) -> bytes:
    """The payload's bytes, padded."""
    return padded(_encoder.encode(payload))


def unpacked(data: bytes) -> RowPayload:
    try:
        payload = _decoder.decode(unpadded(data))
    except (msgspec.MsgspecError, UnicodeDecodeError, ValueError, RecursionError) as error:
        raise Unreadable("it was written by a newer memoryd, or is damaged") from error
    if reason := _why_not(payload):
        raise Unreadable(reason)
    return payload


def _why_not(payload: RowPayload) -> str:
    place = payload.place
    if payload.format != FORMAT:
        return "it was written by a newer memoryd: upgrade this one"
    if payload.counter < 1 or (place.scope == "project") != bool(place.project):
        return "it does not say where it belongs"
    if any(len(text) > TEXT_LIMIT_BYTES for text in (payload.text, payload.last) if text):
        return "it is too large"
    return why_not_named(place)


def why_not_named(place: RowPlace) -> str:
    """Why no file can be there; empty if one can."""
    path = place.path
    inner = path.partition("/")[2] if is_in_retired(path) else path
    parts = inner.split("/")
    is_plain = all(_PART.fullmatch(one) and not one.startswith(".") for one in parts)
    try:
        size = len(path.encode())
    except UnicodeEncodeError:
        return "its name cannot be written"
    if not is_plain or size > PATH_BYTES or len(parts) > (1 if place.kind == "checkpoint" else 4):
        return "its name is not one of a memory"
    if place.kind == "memory" and (not path.endswith(".md") or path == INDEX_FILE):
        return "its name is not one of a memory"
    return ""


def padded(data: bytes) -> bytes:
    """With its length before it and zeros after it, as long as the next step."""
    whole = len(data).to_bytes(_LENGTH_BYTES, "big") + data
    return whole.ljust(step_of(len(whole)), b"\0")


def unpadded(data: bytes) -> bytes:
    size = int.from_bytes(data[:_LENGTH_BYTES], "big")
    if len(data) < _LENGTH_BYTES or size > len(data) - _LENGTH_BYTES:
        raise ValueError("its length is wrong")
    return data[_LENGTH_BYTES : _LENGTH_BYTES + size]


def step_of(size: int) -> int:
    """The next power of two, at least 1 KiB."""
    return max(SMALLEST_BYTES, 1 << (size - 1).bit_length())


def name_text(place: RowPlace) -> bytes:
    """What a row's name on the server is a keyed hash of."""
    return f"{place.kind}\0{place.scope}\0{place.project}\0{place.path}".encode()


def is_replayed(payload: RowPayload, sha256: str, seen: int, seen_sha256: str) -> bool:
    """Whether a row is older than what this machine saw, whatever version the server gives it."""
    return payload.counter < seen or (payload.counter == seen and sha256 != seen_sha256)


def newer_wins(here: float, here_sha256: str, there: float, there_sha256: str) -> bool:
    """Whether the change made here is the newer one of two; equal times are decided alike."""
    return (here, here_sha256) > (there, there_sha256)
