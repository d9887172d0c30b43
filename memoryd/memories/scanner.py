"""What is in memory directories, kept between scans so that only what changed is read.

- A scan lists the folders and asks for the facts of each file. A header (at most the first 30
  lines) is read only when the stamp of its file has changed.
- Of a large directory, only the files are looked at that the kernel says have changed
  (`changed_files`), for as long as that can be trusted.
- A scan that finds nothing new gives the same `Snapshot` again: what was made of it still holds.
- One file can be looked at by itself, by the same rules as in a scan.
- The headers of a large directory are kept on disk (`kept_headers`), for the next start.
- A directory is scanned in one thread at a time; who waited for another's scan finds little to do.
"""

import os
import stat
import threading
import time
from collections import deque
from collections.abc import Callable, Container, Mapping
from contextlib import suppress
from functools import partial
from types import MappingProxyType
from typing import Final, NamedTuple

from memoryd.base.errors import NotFound, Refused, StorageError
from memoryd.base.file_stamp import SETTLED_SECONDS, FileStamp
from memoryd.memories.changed_files import ChangedFiles
from memoryd.memories.kept_files import is_worth_keeping
from memoryd.memories.kept_headers import KeptHeaders
from memoryd.memories.records import Listed, MemoryDirectory
from memoryd.memories.rules import topics
from memoryd.memories.rules.topics import INDEX_FILE, Topic
from memoryd.memories.scan import (
    DEEPEST,
    NOT_TOPICS,
    head_of,
    is_readable_name,
    is_shown_name,
    open_folder,
    read_head,
    shown,
    skipped_folders,
)
from memoryd.system.cancellation import stop_if_cancelled
from memoryd.system.folder import Folder

CHECK_EVERY: Final = 64
# Fewer files are looked at in a few milliseconds.
LARGE: Final = 500
YOUNG_SECONDS: Final = SETTLED_SECONDS + 1
_BELOW_FLAGS: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


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


class Scanner:
    def __init__(self, kept: KeptHeaders | None = None) -> None:
        self._kept = kept
        self._changes = ChangedFiles()
        self._locks: dict[str, threading.Lock] = {}
        self._guard = threading.Lock()
        self._snapshots: dict[str, Snapshot] = {}
        self._stamps: dict[str, dict[str, FileStamp]] = {}

    def topic_files(self, directory: MemoryDirectory) -> list[Listed]:
        """The topic files of a directory, in no order; none if the directory does not exist."""
        return list(self.snapshot(directory).files.values())

    def snapshot(self, directory: MemoryDirectory) -> Snapshot:
        with self._guard:
            lock = self._locks.setdefault(directory.path, threading.Lock())
        with lock:
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
        self._changes.distrust(directory.path)

    def last_stamps(self, directory: MemoryDirectory) -> dict[str, FileStamp] | None:
        """What `stamps` gave last; None if nobody has asked."""
        return self._stamps.get(directory.path)

    def _looked_at(self, directory: MemoryDirectory, before: Snapshot) -> Snapshot:
        """The directory as it is now; the same snapshot if nothing has changed."""
        with open_folder(directory) as folder:
            changed = self._changes.since_scan(directory.path, folder.handle)
            if changed is not None:
                try:
                    return _updated(directory, folder, before, changed)
                except BaseException:
                    self._changes.distrust(directory.path)  # what was noted is lost now
                    raise
            if len(before.files) < LARGE:
                return _scanned(directory, folder, before)
            self._changes.begin_scan(directory.path, folder.handle)
            entering = partial(self._changes.enter, directory.path)
            after = _scanned(directory, folder, before, entering)
            self._changes.end_scan(directory.path)
            return after

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
        try:
            with open_folder(directory) as folder:
                scan = _Scan(directory, {}, known)
                scan.stamps, scan.earlier = {}, self._stamps.get(directory.path, {})
                scan.all_below(folder)
        except NotFound:
            self._stamps.pop(directory.path, None)
            return {}
        meanwhile = self._stamps.get(directory.path, {})
        if scan.stamps == meanwhile:
            return meanwhile
        if meanwhile is not scan.earlier:  # another thread has looked at the same time
            same = (file for file, stamp in scan.stamps.items() if meanwhile.get(file) == stamp)
            scan.stamps.update({file: meanwhile[file] for file in same})
        self._stamps[directory.path] = scan.stamps
        return scan.stamps

    def look_at(self, directory: MemoryDirectory, file: str) -> Listed | None:
        """One topic file as a scan would list it; None if a scan would not.

        StorageError if the disk fails: nobody may conclude then that it is gone.
        """
        with suppress(NotFound, Refused), open_folder(directory) as top:
            return _one_below(directory, top, file)
        return None

    def stamp_of(self, directory: MemoryDirectory, file: str) -> FileStamp | None:
        """The stamp of one topic file, unread; None if a scan would not list it."""
        scan = _Scan(directory, {})
        found: dict[str, FileStamp] = {}
        scan.stamps = found
        with suppress(NotFound, Refused), open_folder(directory) as top:
            _one_below(directory, top, file, scan)
        return found.get(file)


def _one_below(
    directory: MemoryDirectory, top: Folder, file: str, scan: "_Scan | None" = None
) -> Listed | None:
    *folders, name = file.split("/")
    if len(folders) > DEEPEST or not all(map(_is_served, (*folders, name))):
        return None
    if skipped_folders(directory.scope) & {*folders[:1]} or NOT_TOPICS & {*folders}:
        return None
    with suppress(NotFound, Refused):
        handle = top.descend("/".join(folders))
        with Folder(directory.path, handle) as folder:
            return (scan or _Scan(directory, {})).one_in(folder, name, file)
    return None


def _updated(
    directory: MemoryDirectory, folder: Folder, before: Snapshot, changed: set[str]
) -> Snapshot:
    """The directory as it is now if only these files have changed."""
    now = time.time()
    settled = {file for file in before.young if now - before.files[file].modified > YOUNG_SECONDS}
    files: dict[str, Listed] | None = None
    for file in changed | settled:
        found = _one_below(directory, folder, file)
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
    scan = _Scan(directory, before.files)
    scan.entering = entering
    found = scan.all_below(folder)
    if scan.reused == len(found) == len(before.files):
        return before
    return Snapshot(found, before.unkept + len(found) - scan.reused)


class _NewFile(NamedTuple):
    """A file whose header was read; its stamp is None while it is too young to be trusted."""

    file: str
    topic: Topic
    facts: os.stat_result
    stamp: FileStamp | None


class _Scan:
    """One scan; what is `known` is not read again, and names in `served` are not checked again.

    With `stamps`, nothing is read at all, and they are filled instead, with those from `earlier`
    that still hold. `reused` is how many files are as they were known. `entering` is called with
    each folder, before it is read.
    """

    stamps: dict[str, FileStamp] | None = None
    earlier: Mapping[str, FileStamp] = MappingProxyType({})
    reused = 0
    entering: Callable[[int, str], None] = staticmethod(lambda _, __: None)

    def __init__(
        self, directory: MemoryDirectory, known: dict[str, Listed], served: Container[str] = ()
    ) -> None:
        self._head: Callable[[int, str], str | None] = head_of
        self._directory = directory
        self._served = served
        self._known = known
        self._found: dict[str, Listed] = {}
        self._new: list[_NewFile] = []
        self._owners = None if directory.beneath is None else {0, os.geteuid()}

    def all_below(self, folder: Folder) -> dict[str, Listed]:
        self._enter(folder.handle, skipped_folders(self._directory.scope), "")
        return self._with_new()

    def one_in(self, folder: Folder, name: str, file: str) -> Listed | None:
        self._head = read_head
        try:
            facts = os.stat(name, dir_fd=folder.handle, follow_symlinks=False)
            self._see(folder.handle, name, file, facts)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise StorageError(f"{folder.path}/{file}", "read", error) from error
        return self._with_new().get(file)

    def _with_new(self) -> dict[str, Listed]:
        headers = shown([one.topic for one in self._new])
        for (file, _, facts, stamp), topic in zip(self._new, headers, strict=True):
            self._found[file] = Listed(
                self._directory, file, topic, facts.st_mtime, facts.st_size, stamp=stamp
            )
        return self._found

    def _enter(self, handle: int, skipped: frozenset[str], prefix: str) -> None:
        self.entering(handle, prefix)
        try:
            with os.scandir(handle) as listed:
                entries = deque(listed)
        except OSError:
            return
        known, found = self._known, self._found
        while entries:
            stop_if_cancelled()
            for _ in range(min(CHECK_EVERY, len(entries))):
                # Let go when it was looked at: an entry holds its facts, some twenty objects.
                entry = entries.popleft()
                file = prefix + entry.name
                before = known.get(file)
                if before is None and file not in self._served and not _is_served(entry.name):
                    continue
                try:
                    facts = entry.stat(follow_symlinks=False)
                except OSError:  # gone since it was listed
                    continue
                if before is not None and before.stamp is not None and before.stamp.is_of(facts):
                    found[before.file] = before
                    self.reused += 1
                elif not stat.S_ISDIR(facts.st_mode):
                    self._see(handle, entry.name, file, facts)
                elif entry.name not in skipped and prefix.count("/") < DEEPEST:
                    self._enter_below(handle, entry.name, prefix)

    def _enter_below(self, handle: int, name: str, prefix: str) -> None:
        try:
            below = os.open(name, _BELOW_FLAGS, dir_fd=handle)
        except OSError:  # gone, or replaced by a link, since it was listed
            return
        try:
            self._enter(below, NOT_TOPICS, f"{prefix}{name}/")
        finally:
            os.close(below)

    def _see(self, handle: int, name: str, file: str, facts: os.stat_result) -> None:
        is_topic = stat.S_ISREG(facts.st_mode) and name.endswith(".md") and name != INDEX_FILE
        if not is_topic or (self._owners is not None and facts.st_uid not in self._owners):
            return  # in a folder that is shared, other users' files are not served
        if self.stamps is not None:
            before = self.earlier.get(file)
            is_same = before is not None and before.is_of(facts)
            self.stamps[file] = before if before and is_same else FileStamp.of(facts)
            return
        stamp = FileStamp.of(facts)
        is_settled = stamp.is_settled(time.time())  # asked before the file is read
        text = self._head(handle, name)
        if text is not None:
            topic = topics.parse(text)
            self._new.append(_NewFile(file, topic, facts, stamp if is_settled else None))


def _is_served(name: str) -> bool:
    return not name.startswith(".") and is_readable_name(name) and is_shown_name(name)
