"""One look at the files of a memory directory: their headers, or only their stamps."""

import os
import stat
import time
from collections import deque
from collections.abc import Callable, Container, Mapping
from contextlib import suppress
from types import MappingProxyType
from typing import Final, NamedTuple

from memoryd.base.errors import NotFound, Refused, StorageError
from memoryd.base.file_stamp import FileStamp
from memoryd.memories.records import Listed, MemoryDirectory
from memoryd.memories.rules import topics
from memoryd.memories.rules.topics import INDEX_FILE, Topic
from memoryd.memories.scan import (
    DEEPEST,
    NOT_TOPICS,
    head_of,
    is_readable_name,
    is_shown_name,
    read_head,
    shown,
    skipped_folders,
)
from memoryd.system.cancellation import stop_if_cancelled
from memoryd.system.folder import Folder

CHECK_EVERY: Final = 64
_BELOW_FLAGS: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class _NewFile(NamedTuple):
    """A file whose header was read; its stamp is None while it is too young to be trusted."""

    file: str
    topic: Topic
    facts: os.stat_result
    stamp: FileStamp | None


class FolderScan:
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


def one_below(
    directory: MemoryDirectory, top: Folder, file: str, scan: "FolderScan | None" = None
) -> Listed | None:
    *folders, name = file.split("/")
    if len(folders) > DEEPEST or not all(map(_is_served, (*folders, name))):
        return None
    if skipped_folders(directory.scope) & {*folders[:1]} or NOT_TOPICS & {*folders}:
        return None
    with suppress(NotFound, Refused):
        handle = top.descend("/".join(folders))
        with Folder(directory.path, handle) as folder:
            return (scan or FolderScan(directory, {})).one_in(folder, name, file)
    return None


def _is_served(name: str) -> bool:
    return not name.startswith(".") and is_readable_name(name) and is_shown_name(name)
