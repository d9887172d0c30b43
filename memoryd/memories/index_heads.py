"""The part of an index that a session may load, read again only when the file has changed.

An index of 20,000 lines has two megabytes, of which a session loads 200 lines. Its head, its size
and its hash are remembered while the file has the same stamp.
"""

import os
import time
from collections.abc import Callable
from typing import Final

import msgspec

from memoryd.base.file_stamp import FileStamp
from memoryd.memories.records import MemoryDirectory
from memoryd.memories.rules import index
from memoryd.memories.rules.index import IndexSize
from memoryd.memories.rules.topics import INDEX_FILE
from memoryd.system.folder import Content
from memoryd.text.decode import decoded

MOST_REMEMBERED: Final = 100
LONGEST_CHARACTERS: Final = 100_000


class IndexHead(msgspec.Struct, frozen=True):
    """The head of an index; `whole` is the size of it all if it is longer, `version` its hash."""

    directory: MemoryDirectory
    text: str
    version: str
    whole: IndexSize | None = None

    @property
    def path(self) -> str:
        return f"{self.directory.path}/{INDEX_FILE}"


class IndexHeads:
    """Methods block and are safe from any thread."""

    def __init__(self, read: Callable[[MemoryDirectory, str], Content]) -> None:
        self._read = read
        self._remembered: dict[str, tuple[FileStamp, IndexHead]] = {}

    def of(self, directory: MemoryDirectory) -> IndexHead:
        """NotFound, or Refused, as for any file."""
        stamp, head = self._remembered.get(directory.path, (None, None))
        if stamp is not None and head is not None and _has_stamp(head.path, stamp):
            return head
        read_at = time.time()
        content = self._read(directory, INDEX_FILE)
        head = _head_of(directory, content)
        is_settled = content.stamp.is_settled(read_at)
        if is_settled and len(head.text) <= LONGEST_CHARACTERS:
            if len(self._remembered) >= MOST_REMEMBERED:
                self._remembered.clear()
            self._remembered[directory.path] = content.stamp, head
        return head


def _has_stamp(path: str, stamp: FileStamp) -> bool:
    try:
        return stamp.is_of(os.lstat(path))
    except OSError:
        return False


def _head_of(directory: MemoryDirectory, content: Content) -> IndexHead:
    data = content.data
    end = index.end_of_head(data)
    whole = index.size_of(data) if end < len(data) else None
    return IndexHead(directory, decoded(data[:end]), content.version, whole)
