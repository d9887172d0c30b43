"""What is in memory directories, kept between scans so that only what changed is read.

- A scan lists the folders and asks for the facts of each file. A header (at most the first 30
  lines) is read only when the stamp of its file has changed.
- Of a large directory, only the files are looked at that the kernel says have changed
  (`changed_files`), for as long as that can be trusted. A look at all stamps, as each sweep takes
  it, is as good as a scan for that: headers with the same stamps are as they were read.
- A scan that finds nothing new gives the same `Snapshot` again: what was made of it still holds.
- One file can be looked at by itself, by the same rules as in a scan.
- The headers of a large directory are kept on disk (`kept_headers`), for the next start.
- A directory is scanned in one thread at a time; who waited for another's scan finds little to do.
"""

import threading
import time
from collections.abc import Callable, Container, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from typing import Final

from memoryd.base.errors import NotFound, Refused
from memoryd.base.file_stamp import SETTLED_SECONDS, FileStamp
from memoryd.memories.changed_files import MOST_CHANGED, ChangedFiles
from memoryd.memories.folder_scan import FolderScan, one_below
from memoryd.memories.kept_files import is_worth_keeping
from memoryd.memories.kept_headers import KeptHeaders
from memoryd.memories.records import Listed, MemoryDirectory
from memoryd.memories.scan import LARGE, open_folder
from memoryd.system.folder import Folder
from memoryd.system.giving_way import giving_way

YOUNG_SECONDS: Final = SETTLED_SECONDS + 1


class Snapshot:
    """The topic files of a directory at one moment; never changed after it was made.

    `unkept` is how many of their headers are not on disk.
    """

    def __init__(self, files: dict[str, Listed], unkept: int = 0) -> None:
        self.files = files
        self.unkept = unkept
        self.names_no_other = not any(one.topic.supersedes for one in files.values())
        """Whether no memory supersedes another."""
        self.young = frozenset(file for file, one in files.items() if one.stamp is None)
        """The files whose stamps could not be trusted yet."""


class _Noted:
    """The stamps of all files when their changes began to be noted; they are still the same.

    `compared` is the snapshot that is known to have these.
    """

    def __init__(self, stamps: dict[str, FileStamp]) -> None:
        self.stamps = stamps
        self.compared: Snapshot | None = None


class Scanner:
    def __init__(self, kept: KeptHeaders | None = None) -> None:
        self._kept = kept
        self._changes = ChangedFiles()
        self._locks: dict[str, threading.Lock] = {}
        self._guard = threading.Lock()
        self._snapshots: dict[str, Snapshot] = {}
        self._stamps: dict[str, dict[str, FileStamp]] = {}
        self._noted_from: dict[str, _Noted] = {}

    def topic_files(self, directory: MemoryDirectory) -> list[Listed]:
        """The topic files of a directory, in no order; none if the directory does not exist."""
        return list(self.snapshot(directory).files.values())

    def snapshot(self, directory: MemoryDirectory) -> Snapshot:
        # Nobody who holds the lock gives way to somebody who may be waiting for it.
        with self._lock_of(directory), giving_way(None):
            before = self._snapshots.get(directory.path) or self._as_kept(directory)
            try:
                after = self._looked_at(directory, before)
            except NotFound:
                self._snapshots.pop(directory.path, None)
                return Snapshot({})
            if self._kept is not None and is_worth_keeping(after.unkept, len(after.files)):
                after = self._keep(self._kept, directory, after)
            self._snapshots[directory.path] = after
            return after

    def held(self, directory: MemoryDirectory) -> Snapshot | None:
        """What is in memory of the headers of a directory."""
        return self._snapshots.get(directory.path)

    def let_go(self, directory: MemoryDirectory) -> None:
        """Forgets the headers of a directory; a scan meanwhile has them still."""
        self._snapshots.pop(directory.path, None)
        if directory.path in self._noted_from:
            self._noted_from[directory.path].compared = None
        else:
            self._changes.distrust(directory.path)

    def last_stamps(self, directory: MemoryDirectory) -> dict[str, FileStamp] | None:
        """What `stamps` gave last; None if nobody has asked."""
        return self._stamps.get(directory.path)

    def _lock_of(self, directory: MemoryDirectory) -> threading.Lock:
        with self._guard:
            return self._locks.setdefault(directory.path, threading.Lock())

    def _looked_at(self, directory: MemoryDirectory, before: Snapshot) -> Snapshot:
        """The directory as it is now; the same snapshot if nothing has changed."""
        with open_folder(directory) as folder:
            try:
                changed = self._changed(directory, folder, before)
                if changed is not None:
                    after = _updated(directory, folder, before, changed)
                    if directory.path in self._noted_from:
                        self._noted_from[directory.path].compared = after
                    return after
            except BaseException:
                self._distrust(directory)  # what was noted is lost now
                raise
            if len(before.files) < LARGE:
                return _scanned(directory, folder, before)
            with self._noting(directory, folder) as entering:
                return _scanned(directory, folder, before, entering)

    def _changed(
        self, directory: MemoryDirectory, folder: Folder, before: Snapshot
    ) -> set[str] | None:
        """The files that are not as in this snapshot; None if all must be looked at."""
        changed = self._changes.since_scan(directory.path, folder.handle)
        noted = self._noted_from.get(directory.path)
        if changed is None or noted is None:
            return changed
        if changed:  # from here on, they are noted from the snapshot
            del self._noted_from[directory.path]
        if noted.compared is not before:
            changed |= _differing(before.files, noted.stamps)
        return changed if len(changed) <= MOST_CHANGED else None

    @contextmanager
    def _noting(
        self, directory: MemoryDirectory, folder: Folder
    ) -> Iterator[Callable[[int, str], None]]:
        """Has changes noted from this look at all files; gives what to call with each folder."""
        self._noted_from.pop(directory.path, None)
        self._changes.begin_scan(directory.path, folder.handle)
        yield partial(self._changes.enter, directory.path)
        self._changes.end_scan(directory.path)

    def _distrust(self, directory: MemoryDirectory) -> None:
        self._noted_from.pop(directory.path, None)
        self._changes.distrust(directory.path)

    def _as_kept(self, directory: MemoryDirectory) -> Snapshot:
        stamps = self._stamps.get(directory.path, {})
        return Snapshot({} if self._kept is None else self._kept.load(directory, stamps))

    def _keep(self, kept: KeptHeaders, directory: MemoryDirectory, found: Snapshot) -> Snapshot:
        """Looks once more: what was removed before the file was begun must not get into it."""
        with kept.begun() as temporary:
            with open_folder(directory) as folder:
                found = _scanned(directory, folder, found)
            kept.put(temporary, directory, found.files.values())
        return Snapshot(found.files)

    def stamps(self, directory: MemoryDirectory, known: Container[str]) -> dict[str, FileStamp]:
        """The topic files with their stamps, without reading any; `known` have good names.

        A stamp that is as before is the same object: others hold them too.
        """
        lock, earlier = self._lock_of(directory), self._stamps.get(directory.path, {})
        is_noted = len(earlier) >= LARGE and lock.acquire(blocking=False)
        try:
            found = self._all_stamps(directory, known, earlier, is_noted=is_noted)
            if is_noted:
                self._noted_from[directory.path] = _Noted(found)
        except NotFound:
            self._stamps.pop(directory.path, None)
            self._distrust(directory)
            return {}
        finally:
            if is_noted:
                lock.release()
        return found

    def _all_stamps(
        self,
        directory: MemoryDirectory,
        known: Container[str],
        earlier: dict[str, FileStamp],
        *,
        is_noted: bool,
    ) -> dict[str, FileStamp]:
        scan = FolderScan(directory, {}, known)
        scan.stamps, scan.earlier = {}, earlier
        with open_folder(directory) as folder, ExitStack() as noting:
            if is_noted:
                scan.entering = noting.enter_context(self._noting(directory, folder))
            scan.all_below(folder)
        meanwhile = self._stamps.get(directory.path, {})
        if scan.stamps == meanwhile:
            return meanwhile
        if meanwhile is not earlier:  # another thread has looked at the same time
            same = (file for file, stamp in scan.stamps.items() if meanwhile.get(file) == stamp)
            scan.stamps.update({file: meanwhile[file] for file in same})
        self._stamps[directory.path] = scan.stamps
        return scan.stamps

    def look_at(self, directory: MemoryDirectory, file: str) -> Listed | None:
        """One topic file as a scan would list it; None if a scan would not.

        StorageError if the disk fails: nobody may conclude then that it is gone.
        """
        with suppress(NotFound, Refused), open_folder(directory) as top:
            return one_below(directory, top, file)
        return None

    def stamp_of(self, directory: MemoryDirectory, file: str) -> FileStamp | None:
        """The stamp of one topic file, unread; None if a scan would not list it."""
        scan = FolderScan(directory, {})
        found: dict[str, FileStamp] = {}
        scan.stamps = found
        with suppress(NotFound, Refused), open_folder(directory) as top:
            one_below(directory, top, file, scan)
        return found.get(file)


def _differing(files: Mapping[str, Listed], stamps: Mapping[str, FileStamp]) -> set[str]:
    """The files that have another stamp, or are only in one of the two."""
    return (files.keys() - stamps.keys()) | {
        file
        for file, stamp in stamps.items()
        if (one := files.get(file)) is None or one.stamp != stamp
    }


def _updated(
    directory: MemoryDirectory, folder: Folder, before: Snapshot, changed: set[str]
) -> Snapshot:
    """The directory as it is now if only these files have changed."""
    now = time.time()
    settled = {file for file in before.young if now - before.files[file].modified > YOUNG_SECONDS}
    files: dict[str, Listed] | None = None
    for file in changed | settled:
        found = one_below(directory, folder, file)
        if found != before.files.get(file):
            files = dict(before.files) if files is None else files
            files.pop(file, None)
            if found is not None:
                files[file] = found
    return before if files is None else Snapshot(files, before.unkept + len(changed))


def _scanned(
    directory: MemoryDirectory,
    folder: Folder,
    before: Snapshot,
    entering: Callable[[int, str], None] = lambda _, __: None,
) -> Snapshot:
    """The directory as it is now, by a look at each file."""
    scan = FolderScan(directory, before.files)
    scan.entering = entering
    found = scan.all_below(folder)
    if scan.reused == len(found) == len(before.files):
        return before
    return Snapshot(found, before.unkept + len(found) - scan.reused)
