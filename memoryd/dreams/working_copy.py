"""The working copy of a dream: a whole memory directory, copied into a folder of our own.

All of a dream's work happens here; the memory itself is touched only after the result is reviewed.
The copy's store keeps its versions in memory, and they are gone when the copy is closed.

Nobody else writes here, so a file is read and parsed again only after a change: a dream looks at
all memories many times. Until somebody needs a folder, the files are only in memory
(`copied_files`).
"""

import os
import shutil
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

import msgspec

from memoryd.base.errors import MemorydError, NotFound, StorageError
from memoryd.base.file_stamp import FileStamp
from memoryd.base.timestamps import iso_time
from memoryd.dreams.copied_files import CopiedFiles, Files
from memoryd.dreams.dream_table import DreamTable
from memoryd.dreams.rules.plan import BelievedMemory
from memoryd.memories.records import Listed, MemoryChanged, MemoryDirectory, Stored
from memoryd.memories.rules import topics
from memoryd.memories.rules.retirement import RETIRED_FOLDER, is_in_retired
from memoryd.memories.rules.topics import INDEX_FILE, Scope, Topic
from memoryd.memories.scan import markdown_files, open_folder, shown, skipped_folders
from memoryd.memories.store import Store
from memoryd.memories.version_table import VersionTable
from memoryd.system.cancellation import cancellable
from memoryd.system.database import Database
from memoryd.system.folder import Folder, make_folder, version_of
from memoryd.system.notices import Notices

DAILY_LOGS: Final = 60
LOG_LIMIT_BYTES: Final = 1024 * 1024
COPIES_KEPT: Final = 5


class WorkingCopy:
    """`before` is what was copied at `made_at`, by file name, the index included. Blocking."""

    def __init__(
        self,
        folder: str,
        scope: Scope,
        before: Files,
        notices: Notices,
        *,
        now: Callable[[], float],
        made_at: float,
        skip_index: bool,
    ) -> None:
        self.made_at = made_at
        self.folder = folder
        self.directory = MemoryDirectory(f"{folder}/memory", scope)
        self.before = before
        self.has_no_index = skip_index
        self.daily_logs = 0
        self._now = now
        self._notices = notices
        self._unreadable: dict[str, Listed] = {}
        self._read: Files = {
            file: msgspec.structs.replace(stored, directory=self.directory)
            for file, stored in before.items()
        }
        self._files = CopiedFiles(self.directory, self._read, now, has_index=not skip_index)
        self.present = self._files.present
        self._database: Database | None = None
        self._store: Store | None = None
        self._memories: list[BelievedMemory] | None = None
        self._believed: list[BelievedMemory] | None = None
        self._parsed: dict[str, tuple[Stored, BelievedMemory]] = {}
        self._shown: dict[str, tuple[str, Topic]] = {}
        notices.on(MemoryChanged, self._forget_read)

    def fill(self, listed: Sequence[Listed], directory: MemoryDirectory) -> None:
        """`listed` are the memories of the directory that is copied."""
        make_folder(self.directory.path)
        for one in listed:
            if one.file in self.before:
                self._shown[one.file] = (self.before[one.file].version, one.topic)
            else:  # unreadable, but must keep its line in the index
                text = topics.render(one.topic)
                data = text.encode()
                self._unreadable[one.file] = one
                self._read[one.file] = Stored(
                    self.directory, one.file, text, version_of(data), one.modified, data
                )
        self.daily_logs = self._copy_logs(directory)

    @property
    def store(self) -> Store:
        """Over the copy as a folder, which it is from now on."""
        return self.lay_out() if self._store is None else self._store

    def lay_out(self) -> Store:
        """Puts every file on disk."""
        for file, stored in cancellable(list(self._read.items())):
            stamp = self._put(file, stored.data, stored.modified)
            placed = self._read[file] = msgspec.structs.replace(stored, stamp=stamp)
            if file in self._parsed:
                self._parsed[file] = (placed, self._parsed[file][1])
        self._database = Database.open(":memory:")
        versions = VersionTable(self._database)
        for version, origin in self._files.origins.items():
            versions.origins.note_hash(version, origin)
        self._store = Store(
            versions, now=self._now, skip_index=self.has_no_index, notices=self._notices
        )
        return self._store

    @contextmanager
    def index_later(self) -> Iterator[dict[str, str]]:
        """As `Store.index_later`."""
        if self._store is None:
            self._files.reworded.clear()
            yield self._files.reworded
        else:
            with self._store.index_later(self.directory) as reworded:
                yield reworded

    def write(self, memory: BelievedMemory) -> None:
        """Writes a memory that is there already; NotFound if it is gone by now."""
        file = memory.file
        if self._store is None:
            self._post(self._files.write(file, memory.text, memory.modified))
            return
        over = self._store.read(self.directory, file).version
        self._store.write(self.directory, file, memory.text, over=over, cause="dream")
        self.backdate(file, memory.modified)

    def retire(self, file: str, *, superseded_by: str = "") -> None:
        if self._store is None:
            self._post(self._files.retire(file, superseded_by=superseded_by))
        else:
            self._store.retire(self.directory, file, superseded_by=superseded_by, cause="dream")

    def write_index(self, text: str, over: str | None) -> None:
        """`over` is the version that was read, None if there was no index."""
        if self._store is None:
            self._files.write_index(text, time.time())
        else:
            data = text.encode()
            self._store.put_back(self.directory, INDEX_FILE, data, over=over, cause="dream")

    def after(self) -> Files:
        """The copy as it is now, without the files that could not be copied."""
        if self._store is not None:
            self._forget_lists()
            self._read = self._read_again(self._store)
        return {file: one for file, one in self._read.items() if file not in self._unreadable}

    def _read_again(self, store: Store) -> Files:
        found = {}
        for file, stamp in self._on_disk():
            known = self._read.get(file)
            if known is not None and known.stamp == stamp and file != INDEX_FILE:
                found[file] = known
                continue
            with suppress(MemorydError):
                found[file] = store.read(self.directory, file)
        return found

    def memories(self) -> list[BelievedMemory]:
        """The topic files, newest first, also those that are to be retired."""
        if self._memories is not None:
            return list(self._memories)
        self.after()
        found = {
            file: self._memory(stored)
            for file, stored in self._read.items()
            if file != INDEX_FILE and not is_in_retired(file) and file not in self._unreadable
        }
        self._parsed = {file: (self._read[file], one) for file, one in found.items()}
        self._memories = sorted(found.values(), key=lambda one: (-one.modified, one.file))
        return list(self._memories)

    def believed(self) -> list[BelievedMemory]:
        """The memories that are neither retired nor ended."""
        if self._believed is not None:
            return list(self._believed)
        found, today = self.memories(), iso_time(self.made_at)[:10]
        superseded = frozenset(
            old
            for one in cancellable(found)
            if one.topic.supersedes and self._read[one.file].origin != "found"
            for old in one.topic.supersedes
        )
        self._believed = [
            one for one in found if not topics.is_retired(one.file, one.topic, superseded, today)
        ]
        return list(self._believed)

    def is_news(self, memory: BelievedMemory, since: float) -> bool:
        """Whether it was written since then, whatever its time says: it may have been copied."""
        before = self.before.get(memory.file)
        if before is None or before.stamp is None:
            return True
        return max(memory.modified, before.stamp.ctime_ns / 1e9) > since

    def listed(self) -> list[Listed]:
        """The believed memories as lists show them, newest first; unreadable ones too."""
        believed = self.believed()
        self._show([one for one in believed if not self._is_shown(one.file)])
        found = [
            Listed(
                self.directory,
                one.file,
                self._shown[one.file][1],
                one.modified,
                len(self._read[one.file].data),
            )
            for one in believed
        ]
        alive = (one for one in self._unreadable.values() if not one.retired)
        return sorted([*found, *alive], key=lambda one: (-one.modified, one.file))

    def _forget_read(self, change: MemoryChanged) -> None:
        """A file was changed, and must be read again if that was on disk."""
        self._forget_lists()
        if self._store is not None:
            for file in (change.file, change.retired_to):
                self._read.pop(file, None)

    def _forget_lists(self) -> None:
        self._memories = self._believed = None

    def backdate(self, file: str, modified: float) -> None:
        """A rewritten text is not newer than what it was made from."""
        self._forget_lists()
        self._read.pop(file, None)
        os.utime(Path(self.directory.path, file), (modified, modified))

    def close(self, *, keep: bool = False) -> None:
        if self._database is not None:
            self._database.close()
        if not keep:
            _remove(self.folder)

    def _on_disk(self) -> Iterator[tuple[str, FileStamp]]:
        """Every topic file, retired or not, and the index, with its stamp."""
        try:
            with open_folder(self.directory) as folder:
                for one in markdown_files(folder.handle, skipped_folders(self.directory.scope)):
                    yield one.path, FileStamp.of(one.stat)
                with suppress(NotFound), Folder.open(f"{folder.path}/{RETIRED_FOLDER}") as below:
                    for one in markdown_files(below.handle, frozenset(), f"{RETIRED_FOLDER}/"):
                        yield one.path, FileStamp.of(one.stat)
        except NotFound:
            return
        yield INDEX_FILE, FileStamp()

    def _memory(self, stored: Stored) -> BelievedMemory:
        known = self._parsed.get(stored.file)
        if known is not None and known[0] is stored:
            return known[1]
        return BelievedMemory(stored.file, stored.text, stored.modified)

    def _is_shown(self, file: str) -> bool:
        return file in self._shown and self._shown[file][0] == self._read[file].version

    def _show(self, memories: Sequence[BelievedMemory]) -> None:
        for one, topic in zip(memories, shown([one.topic for one in memories]), strict=True):
            self._shown[one.file] = (self._read[one.file].version, topic)

    def _post(self, changes: Iterable[MemoryChanged]) -> None:
        for change in changes:
            self._notices.post(change)

    def _put(self, file: str, data: bytes, modified: float) -> FileStamp:
        path = Path(self.directory.path, file)
        try:
            path.parent.mkdir(0o700, parents=True, exist_ok=True)
            path.write_bytes(data)
            os.utime(path, (modified, modified))
            return FileStamp.of(path.lstat())
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
        listed = self._source.scan(directory)
        before = all_files(self._source, directory, listed)
        notices = Notices()
        copy = WorkingCopy(
            f"{self._folder}/{dream}",
            directory.scope,
            before,
            notices,
            now=self._now,
            made_at=made_at,
            skip_index=self._skip_index,
        )
        notices.on(MemoryChanged, on_change)
        try:
            copy.fill(listed, directory)
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


def all_files(store: Store, directory: MemoryDirectory, listed: Sequence[Listed]) -> Files:
    """Every readable topic file of those listed, the retired ones, and the index."""
    files = [*(one.file for one in listed), *(one.file for one in store.retired(directory))]
    return {one.file: one for one in store.read_each(directory, [*files, INDEX_FILE])}


def _remove(folder: str) -> None:
    shutil.rmtree(folder, ignore_errors=True)
