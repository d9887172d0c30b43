"""What of an index comes from known writers: only that is told to a session that did not ask.

A session loads up to 200 lines, and who wrote the memories behind them is known by their bytes.
What was read of a memory is remembered while its file has the same stamp.
"""

import os
import time
from collections.abc import Callable, Collection, Mapping
from typing import Final

import msgspec

from memoryd.base.errors import MemorydError
from memoryd.base.file_stamp import FileStamp
from memoryd.memories.index_file import OwnIndex, pointer_of
from memoryd.memories.records import MemoryDirectory, Stored
from memoryd.memories.rules import index
from memoryd.memories.rules.origins import Origin

MOST_REMEMBERED: Final = 2_000

UNKNOWN_LEFT_OUT: Final = (
    "Left out until the person confirms them with memoryd trust: {count} of unknown origin."
)


class KnownIndex(msgspec.Struct, frozen=True):
    """What of the head of an index comes from known writers; `note` says what was left out."""

    text: str
    note: str = ""


class _Pointed(msgspec.Struct, frozen=True, gc=False):
    """A memory that an index points to: its bytes by their hash, and its line."""

    stamp: FileStamp | None
    version: str
    line: str


class KnownIndexes:
    """Methods block and are safe from any thread."""

    def __init__(
        self,
        read: Callable[[MemoryDirectory, str], Stored],
        origins_of: Callable[[Collection[str]], Mapping[str, Origin]],
    ) -> None:
        self._read = read
        self._origins_of = origins_of
        self._remembered: dict[str, _Pointed] = {}

    def of(self, own: OwnIndex, stored: Stored) -> KnownIndex:
        head = index.head(stored.text)
        files = dict.fromkeys(index.whole_pointers(head.split("\n")).values())
        found = {
            file: one
            for file in files
            if (one := self._pointed(stored.directory, file)) is not None
        }
        known = self._origins_of({one.version for one in found.values()})
        unknown = frozenset(file for file, one in found.items() if one.version not in known)
        if own.is_ours(stored.version):
            text = index.without_files(head, unknown)
        else:
            lines = {file: one.line for file, one in found.items() if file not in unknown}
            text = index.made_anew(head, lines)
        return KnownIndex(text, UNKNOWN_LEFT_OUT.format(count=len(unknown)) if unknown else "")

    def _pointed(self, directory: MemoryDirectory, file: str) -> _Pointed | None:
        """None for a pointer to elsewhere, or to nothing."""
        path = f"{directory.path}/{file}"
        try:
            facts = os.lstat(path)
        except (OSError, ValueError):
            return None
        before = self._remembered.get(path)
        if before is not None and before.stamp is not None and before.stamp.is_of(facts):
            return before
        read_at = time.time()
        try:
            stored = self._read(directory, file)
        except MemorydError:
            return None
        stamp = stored.stamp
        is_settled = stamp is not None and stamp.is_settled(read_at)
        line = pointer_of(file, stored.topic)
        now = _Pointed(stamp if is_settled else None, stored.version, line)
        if len(self._remembered) >= MOST_REMEMBERED:
            self._remembered.clear()
        self._remembered[path] = now
        return now
