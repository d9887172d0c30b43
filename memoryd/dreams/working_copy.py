"""The working copy of a dream: a whole memory directory, copied into a folder of our own.

All of a dream's work happens here; the memory itself is touched only after the result is reviewed.
The copy's store keeps its versions in memory, and they are gone when the copy is closed.

Nobody else writes here, so a file is read and parsed again only after a change: a dream looks at
all memories many times. Most files never come to disk (`copied_files`).
"""

import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from typing import Final

import msgspec

from memoryd.base.errors import MemorydError, NotFound
from memoryd.base.file_stamp import FileStamp
from memoryd.base.timestamps import iso_time
from memoryd.dreams.copied_files import CopiedFiles, CopyStore, Files
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
from memoryd.system.folder import Folder, make_folder
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
        store: CopyStore,
        database: Database,
        *,
        made_at: float,
    ) -> None:
        self.made_at = made_at
        self.folder = folder
        self.directory = MemoryDirectory(f"{folder}/memory", scope)
        self.before = before
        self.daily_logs = 0
        self._store = store
        self._files = store.files = CopiedFiles(self.directory.path)
        self._database = database
        self._unreadable: dict[str, Listed] = {}
        self._read: Files = {}
        self._is_listed = False
        self._parsed: dict[str, tuple[Stored, BelievedMemory]] = {}
        self._shown: dict[str, tuple[str, Topic]] = {}

    def fill(self, listed: Sequence[Listed], directory: MemoryDirectory) -> None:
        """`listed` are the memories of the directory that is copied."""
        make_folder(self.directory.path)
        for file, stored in cancellable(self.before.items()):
            self._read[file] = msgspec.structs.replace(stored, directory=self.directory)
        self._files.add(self._read)
        self._files.lay_out(INDEX_FILE)
        for one in listed:
            if one.file in self.before:
                self._shown[one.file] = (self.before[one.file].version, one.topic)
            else:  # unreadable, but must keep its line in the index
                self._files.put(one.file, topics.render(one.topic).encode(), one.modified)
                self._unreadable[one.file] = one
        self.daily_logs = self._copy_logs(directory)

    @property
    def store(self) -> Store:
        """For whoever looks at the whole folder, or changes what was not read here."""
        self.lay_out()
        return self._store

    @property
    def has_no_index(self) -> bool:
        """Whether there is to be no index."""
        return self._store.skips_index

    def lay_out(self) -> None:
        """Puts every file on disk."""
        self._files.lay_out_all()

    def index_later(self) -> AbstractContextManager[dict[str, str]]:
        """As `Store.index_later`."""
        return self._store.index_later(self.directory)

    def write(self, memory: BelievedMemory) -> None:
        """Writes a memory that is there already; NotFound if it is gone by now."""
        file = memory.file
        self._files.lay_out(file)
        known = self._read.get(file) or self._store.read(self.directory, file)
        over = known.version
        self._store.write(self.directory, file, memory.text, over=over, cause="dream")
        self.backdate(file, memory.modified)

    def write_index(self, text: str) -> None:
        known = self._read.get(INDEX_FILE)
        over = known.version if known else None
        self._store.put_back(self.directory, INDEX_FILE, text.encode(), over=over, cause="dream")

    def retire(self, file: str, *, superseded_by: str = "") -> None:
        self._files.lay_out(file)
        self._store.retire(self.directory, file, superseded_by=superseded_by, cause="dream")

    def after(self) -> Files:
        """The copy as it is now, without the files that could not be copied."""
        self._is_listed = True
        found = dict(self._files.waiting)
        for file, stamp in self._on_disk():
            known = self._read.get(file)
            if file in self._unreadable:
                continue
            is_current = known is not None and stamp in {known.stamp, self._files.stamps.get(file)}
            if known is not None and is_current and file != INDEX_FILE:
                found[file] = known
                continue
            with suppress(MemorydError):
                found[file] = self._store.read(self.directory, file)
        self._read = found
        return dict(found)

    def memories(self) -> list[BelievedMemory]:
        """The topic files, newest first, also those that are to be retired."""
        files = self._read if self._is_listed else self.after()
        found = {
            file: self._memory(stored)
            for file, stored in files.items()
            if file != INDEX_FILE and not is_in_retired(file)
        }
        self._parsed = {file: (self._read[file], one) for file, one in found.items()}
        return sorted(found.values(), key=lambda one: (-one.modified, one.file))

    def believed(self) -> list[BelievedMemory]:
        """The memories that are neither retired nor ended."""
        found, today = self.memories(), iso_time(self.made_at)[:10]
        superseded = frozenset(
            old
            for one in found
            if one.topic.supersedes and self._read[one.file].origin != "found"
            for old in one.topic.supersedes
        )
        return [
            one for one in found if not topics.is_retired(one.file, one.topic, superseded, today)
        ]

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

    def forget_read(self, change: MemoryChanged) -> None:
        """A file was changed, and must be read again."""
        self._is_listed = False
        for file in (change.file, change.retired_to):
            self._read.pop(file, None)

    def backdate(self, file: str, modified: float) -> None:
        """A rewritten text is not newer than what it was made from."""
        self._is_listed = False
        self._read.pop(file, None)
        os.utime(Path(self.directory.path, file), (modified, modified))

    def close(self, *, keep: bool = False) -> None:
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

    def _copy_logs(self, directory: MemoryDirectory) -> int:
        names = sorted(Path(directory.path).glob("logs/[0-9]*/[0-9]*/*.md"), reverse=True)
        count = 0
        for path in names[:DAILY_LOGS]:
            file = str(path.relative_to(directory.path))
            with suppress(MemorydError), Folder.open(directory.path) as folder:
                content = folder.read(file, LOG_LIMIT_BYTES)
                self._files.put(file, content.data, content.modified)
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
        database = Database.open(":memory:")
        notices = Notices()
        versions = VersionTable(database)
        for stored in before.values():
            if stored.origin is not None and stored.origin != "found":
                versions.origins.note_hash(stored.version, stored.origin)
        store = CopyStore(versions, now=self._now, skip_index=self._skip_index, notices=notices)
        copy = WorkingCopy(
            f"{self._folder}/{dream}", directory.scope, before, store, database, made_at=made_at
        )
        notices.on(MemoryChanged, copy.forget_read)
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
    found: Files = {}
    files = [*(one.file for one in listed), *(one.file for one in store.retired(directory))]
    for file in cancellable([*files, INDEX_FILE]):
        with suppress(MemorydError):
            found[file] = store.read(directory, file)
    return found


def _remove(folder: str) -> None:
    shutil.rmtree(folder, ignore_errors=True)
