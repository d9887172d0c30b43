"""What of an index comes from known writers: only that is told to a session that did not ask.

A session loads up to 200 lines, and who wrote the memories behind them is known by their bytes.
What was read of a memory is remembered while its file has the same stamp.
"""

import os
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Final

import msgspec

from memoryd.base.file_stamp import FileStamp
from memoryd.memories.index_file import OwnIndex, pointer_of
from memoryd.memories.index_heads import IndexHead
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
        read_each: Callable[[MemoryDirectory, Iterable[str]], Sequence[Stored]],
        origins_of: Callable[[Collection[str]], Mapping[str, Origin]],
    ) -> None:
        self._read_each = read_each
        self._origins_of = origins_of
        self._remembered: dict[str, _Pointed] = {}

    def of(self, own: OwnIndex, head: IndexHead) -> KnownIndex:
        files = dict.fromkeys(index.whole_pointers(head.text.split("\n")).values())
        found = self._pointed(head.directory, files)
        known = self._origins_of({one.version for one in found.values()})
        unknown = frozenset(file for file, one in found.items() if one.version not in known)
        if own.is_ours(head.version):
            text = index.without_files(head.text, unknown)
        else:
            lines = {file: one.line for file, one in found.items() if file not in unknown}
            text = index.made_anew(head.text, lines)
        return KnownIndex(text, UNKNOWN_LEFT_OUT.format(count=len(unknown)) if unknown else "")

    def _pointed(self, directory: MemoryDirectory, files: Iterable[str]) -> dict[str, _Pointed]:
        """Without those that are elsewhere, or not there."""
        found: dict[str, _Pointed] = {}
        changed: list[str] = []
        read_at = time.time()
        for file in files:
            path = f"{directory.path}/{file}"
            with suppress(OSError, ValueError):
                facts, before = os.lstat(path), self._remembered.get(path)
                if before is not None and before.stamp is not None and before.stamp.is_of(facts):
                    found[file] = before
                else:
                    changed.append(file)
        if len(self._remembered) + len(changed) > MOST_REMEMBERED:
            self._remembered.clear()
        for stored in self._read_each(directory, changed):
            stamp = stored.stamp
            is_settled = stamp is not None and stamp.is_settled(read_at)
            line = pointer_of(stored.file, stored.topic)
            one = _Pointed(stamp if is_settled else None, stored.version, line)
            found[stored.file] = self._remembered[stored.path] = one
        return found
