"""What may go to the team's server and what may come from it, and in which portions.

Rules
- An entry is one topic file, byte for byte. Its name is a file name as the store makes them; the
  index is not an entry, each machine keeps its own.
- Nothing leaves with a secret or a part marked as private in it, with the type `user`, or larger
  than 250 KB. What is left out is named, with the reason.
- What comes in is checked the same way, and its bytes must have the hash that the server says.
  Anyone in the team, or somebody with a stolen key, may have written it.
- A request has at most 200 KB of text; an entry that is larger goes alone.
"""

import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, TypeVar

import msgspec

from memoryd.memories.rules import topics
from memoryd.memories.rules.topics import INDEX_FILE
from memoryd.team.rules.plan import EntryVersion
from memoryd.text.masking.mask import find_secrets
from memoryd.text.private import without_private

ENTRY_LIMIT_BYTES: Final = 250 * 1000
REQUEST_LIMIT_BYTES: Final = 200 * 1000
WARN_SHARE: Final = 0.9
NAME_BYTES: Final = 200

_NAME = re.compile(r"(?:[a-z0-9][a-z0-9_-]{0,63}/){0,3}[a-z0-9][a-z0-9_-]{0,63}\.md")


class EntryText(msgspec.Struct, frozen=True):
    """One version of an entry with its text, None for a tombstone."""

    name: str
    version: EntryVersion
    sha256: str
    author: str
    text: bytes | None


class EntryPush(msgspec.Struct, frozen=True):
    """What is sent: a text, or None for a tombstone, over `base`."""

    name: str
    sha256: str
    text: bytes | None
    base: EntryVersion | None

    @property
    def bytes(self) -> int:
        return len(self.text or b"")


class LoggedVersion(msgspec.Struct, frozen=True):
    """One line of the server's log."""

    name: str
    version: EntryVersion
    sha256: str
    author: str
    bytes: int


class SkippedEntry(msgspec.Struct, frozen=True):
    """An entry that is not shared or not taken, and why."""

    name: str
    reason: str


Sized = TypeVar("Sized")


def hash_of(text: bytes | None) -> str:
    """Empty for a tombstone, as in a plan."""
    return "" if text is None else hashlib.sha256(text).hexdigest()


def why_not_named(name: str) -> str:
    """Why an entry cannot have this name; empty if it can."""
    if name == INDEX_FILE or not _NAME.fullmatch(name) or len(name) > NAME_BYTES:
        return "its name is not one of a memory: lower-case letters, digits, - and _, ending in .md"
    return ""


def why_not_shared(name: str, text: bytes) -> str:
    """Why a file stays on this machine; empty if the team may have it."""
    if reason := why_not_named(name) or _why_not_text(text):
        return reason
    words = text.decode()
    if found := find_secrets(f"{name}\n{words}"):
        kinds = ", ".join(sorted({one.kind for one in found}))
        return f"it has a secret in it ({kinds})"
    if without_private(words) != words:
        return "a part of it is marked as private"
    return ""


def why_not_taken(entry: EntryText) -> str:
    """Why what the server has is not written here; empty if it may be."""
    if reason := why_not_named(entry.name):
        return reason
    if hash_of(entry.text) != entry.sha256:
        return "its text is not the one that its hash is of"
    return "" if entry.text is None else _why_not_text(entry.text)


def _why_not_text(text: bytes) -> str:
    if len(text) > ENTRY_LIMIT_BYTES:
        return f"it has {len(text):,} bytes; {ENTRY_LIMIT_BYTES:,} is the most"
    try:
        topic = topics.parse(text.decode())
    except UnicodeDecodeError:
        return "it is not UTF-8"
    if not topic.body.strip():
        return "it says nothing"
    if topic.type == "user":
        return "what concerns one person is not for the team"
    return ""


def batches(
    items: Iterable[tuple[Sized, int]], limit_bytes: int = REQUEST_LIMIT_BYTES
) -> Iterator[list[Sized]]:
    """The items, each with its size, in portions of at most so many bytes; at least one in each."""
    batch: list[Sized] = []
    filled = 0
    for item, size in items:
        if batch and filled + size > limit_bytes:
            yield batch
            batch, filled = [], 0
        batch.append(item)
        filled += size
    if batch:
        yield batch


def over_the_cap(names: Sequence[str], taken: int, cap: int) -> list[str]:
    """Those of the new entries that the project has no room for."""
    room = max(0, cap - taken)
    return list(names[room:])
