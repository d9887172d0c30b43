"""The files of a working copy that are not on disk yet.

Most memories are only read by a dream, and are in memory anyway. A file is put on disk when the
store is about to change it or to move it, or with all others when somebody else looks there.
"""

import os
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

from memoryd.base.errors import StorageError
from memoryd.base.file_stamp import FileStamp
from memoryd.memories.records import Listed, MemoryDirectory, Stored
from memoryd.memories.rules.retirement import is_in_retired, name_when_current
from memoryd.memories.store import Store
from memoryd.system.cancellation import cancellable

Files = dict[str, Stored]


class CopiedFiles:
    """`waiting` are not on disk yet, `stamps` are those of the others when they were put there."""

    def __init__(self, folder: str) -> None:
        self.waiting: Files = {}
        self.stamps: dict[str, FileStamp] = {}
        self._folder = folder
        self._retired: dict[str, list[str]] = defaultdict(list)

    def add(self, files: Files) -> None:
        self.waiting |= files
        for file in filter(is_in_retired, files):
            self._retired[name_when_current(file)].append(file)

    def lay_out(self, file: str) -> None:
        """Puts a file on disk, and what `.retired/` has under its name: both count for a move."""
        self._lay_out((file, *self._retired.pop(file, ())))

    def lay_out_all(self) -> None:
        self._lay_out(cancellable(list(self.waiting)))

    def put(self, file: str, data: bytes, modified: float) -> None:
        path = Path(self._folder, file)
        try:
            path.parent.mkdir(0o700, parents=True, exist_ok=True)
            path.write_bytes(data)
            os.utime(path, (modified, modified))
            self.stamps[file] = FileStamp.of(path.lstat())
        except OSError as error:
            raise StorageError(str(path), "write", error) from error

    def _lay_out(self, files: Iterable[str]) -> None:
        for file in files:
            if (stored := self.waiting.get(file)) is not None:
                self.put(file, stored.data, stored.modified)
                del self.waiting[file]


class CopyStore(Store):
    """A store that finds what a written memory replaces, on disk or not."""

    files: CopiedFiles

    def listed(self, directory: MemoryDirectory, file: str) -> Listed | None:
        self.files.lay_out(file)
        return super().listed(directory, file)
