"""The working copy of a dream: a whole memory directory, copied into a folder of our own.

All of a dream's work happens here; the memory itself is touched only after the result is reviewed.
The copy's store keeps its versions in memory, and they are gone when the copy is closed.
"""

import os
import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final

from memoryd.base.errors import MemorydError, StorageError
from memoryd.dreams.dream_table import DreamTable
from memoryd.memories.records import MemoryChanged, MemoryDirectory, Stored
from memoryd.memories.rules import topics
from memoryd.memories.rules.topics import INDEX_FILE, Scope
from memoryd.memories.store import Store
from memoryd.memories.version_table import VersionTable
from memoryd.system.cancellation import cancellable
from memoryd.system.database import Database
from memoryd.system.folder import Folder, make_folder
from memoryd.system.notices import Notices

DAILY_LOGS: Final = 60
LOG_LIMIT_BYTES: Final = 1024 * 1024
COPIES_KEPT: Final = 5

Files = dict[str, Stored]


class WorkingCopy:
    """`before` is what was copied at `made_at`, by file name, the index included. Blocking."""

    def __init__(
        self,
        folder: str,
        scope: Scope,
        before: Files,
        store: Store,
        database: Database,
        *,
        made_at: float,
    ) -> None:
        self.made_at = made_at
        self.folder = folder
        self.directory = MemoryDirectory(f"{folder}/memory", scope)
        self.before = before
        self.store = store
        self.daily_logs = 0
        self._database = database
        self._unreadable: set[str] = set()

    def fill(self, source: Store, directory: MemoryDirectory) -> None:
        make_folder(self.directory.path)
        for file, stored in cancellable(self.before.items()):
            self._put(file, stored.data, stored.modified)
        for one in source.scan(directory):
            if one.file not in self.before:  # unreadable, but must keep its line in the index
                self._put(one.file, topics.render(one.topic).encode(), one.modified)
                self._unreadable.add(one.file)
        self.daily_logs = self._copy_logs(directory)

    def after(self) -> Files:
        """The copy as it is now, without the files that could not be copied."""
        found = all_files(self.store, self.directory)
        return {file: stored for file, stored in found.items() if file not in self._unreadable}

    def backdate(self, file: str, modified: float) -> None:
        """A rewritten text is not newer than what it was made from."""
        os.utime(Path(self.directory.path, file), (modified, modified))

    def close(self, *, keep: bool = False) -> None:
        self._database.close()
        if not keep:
            _remove(self.folder)

    def _put(self, file: str, data: bytes, modified: float) -> None:
        path = Path(self.directory.path, file)
        try:
            path.parent.mkdir(0o700, parents=True, exist_ok=True)
            path.write_bytes(data)
            os.utime(path, (modified, modified))
        except OSError as error:
            raise StorageError(str(path), "write", error) from error

    def _copy_logs(self, directory: MemoryDirectory) -> int:
        names = sorted(Path(directory.path).glob("logs/[0-9]*/[0-9]*/*.md"), reverse=True)
        count = 0
        for path in names[:DAILY_LOGS]:
            file = str(path.relative_to(directory.path))
            with suppress(MemorydError), Folder.open(directory.path) as folder:
                content = folder.read(file, LOG_LIMIT_BYTES)
                self._put(file, content.data, content.modified)
                count += 1
        return count


class WorkingCopies:
    """The folder of all working copies; each is named by the number of its dream."""

    def __init__(
        self, folder: str, source: Store, *, now: Callable[[], float], skip_index: bool
    ) -> None:
        self._folder = folder
        self._source = source
        self._now = now
        self._skip_index = skip_index

    def make(
        self, dream: int, directory: MemoryDirectory, on_change: Callable[[MemoryChanged], None]
    ) -> WorkingCopy:
        """Copies a memory directory; for a thread, since `on_change` is called where a change is.

        It may raise a cancellation there, which ends the dream.
        """
        made_at = self._now()
        before = all_files(self._source, directory)
        database = Database.open(":memory:")
        notices = Notices()
        notices.on(MemoryChanged, on_change)
        versions = VersionTable(database)
        for stored in before.values():
            if stored.origin is not None and stored.origin != "found":
                versions.origins.note_hash(stored.version, stored.origin)
        store = Store(versions, now=self._now, skip_index=self._skip_index, notices=notices)
        copy = WorkingCopy(
            f"{self._folder}/{dream}", directory.scope, before, store, database, made_at=made_at
        )
        try:
            copy.fill(self._source, directory)
        except BaseException:
            copy.close()
            raise
        return copy

    def remove(self, dream: int) -> None:
        _remove(f"{self._folder}/{dream}")

    def sweep(self, table: DreamTable) -> None:
        """Removes all but the newest copies kept for review, and that of a running dream."""
        kept = 0
        folders = [one for one in Path(self._folder).glob("*") if one.name.isdigit()]
        for folder in sorted(folders, key=lambda one: -int(one.name)):
            dream = table.dream(int(folder.name))
            is_needed = dream is not None and dream.state in {"refused", "running", "applying"}
            kept += is_needed
            if not is_needed or kept > COPIES_KEPT:
                _remove(str(folder))


def all_files(store: Store, directory: MemoryDirectory) -> Files:
    """Every readable topic file, the retired ones, and the index."""
    found = {stored.file: stored for stored in store.read_all(directory)}
    for one in store.retired(directory):
        with suppress(MemorydError):
            found[one.file] = store.read(directory, one.file)
    with suppress(MemorydError):
        found[INDEX_FILE] = store.read(directory, INDEX_FILE)
    return found


def _remove(folder: str) -> None:
    shutil.rmtree(folder, ignore_errors=True)
