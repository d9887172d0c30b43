"""Cleaning up in a directory after a crash, and making its index match.

A repair compares the index with every header. For three years of memories these are megabytes that
nobody else may need, read again and again to find nothing. So it is noted, by stamps, which files
and which index the last one saw. While all are the same there is nothing to do. Headers that were
read for a repair are let go after it; those of a large directory are kept on disk.

- What is noted holds until a memory ends by its date, and only if none supersedes another: there it
  also depends on who wrote them, which may change.
- For a large directory it is kept on disk for the next start, and counts if the same code made it.
"""

import hashlib
import os
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress

import msgspec

from memoryd.base.file_stamp import FileStamp
from memoryd.base.timestamps import iso_time
from memoryd.memories.index_file import IndexKeeper
from memoryd.memories.kept_files import LEAST_MEMORIES, KeptFiles, identity_of_code
from memoryd.memories.records import MemoryChanged, MemoryDirectory
from memoryd.memories.retired_files import RetiredFiles
from memoryd.memories.rules.topics import INDEX_FILE
from memoryd.memories.scan import open_folder
from memoryd.memories.scanner import Scanner
from memoryd.system.folder import Folder


class _Repaired(msgspec.Struct, frozen=True):
    """What there was when nothing was wrong: from a day until another, if that is not empty."""

    maker: str
    folder: str
    topics: str
    listing: FileStamp
    since: str
    until: str

    def is_as(self, topics: str, listing: FileStamp, today: str) -> bool:
        is_then = self.since <= today and (not self.until or today <= self.until)
        return is_then and (self.topics, self.listing) == (topics, listing)


class Repairs:
    def __init__(
        self,
        scanner: Scanner,
        retired: RetiredFiles,
        indexes: IndexKeeper,
        now: Callable[[], float],
        post: Callable[[list[MemoryChanged]], None],
        kept: KeptFiles | None,
    ) -> None:
        self._post = post
        self._scanner = scanner
        self._retired = retired
        self._indexes = indexes
        self._now = now
        self._kept = kept
        self._repaired: dict[str, _Repaired | None] = {}
        self._digests: dict[str, tuple[dict[str, FileStamp], str]] = {}
        self._maker = ""
        self._read_here: set[str] = set()
        """Directories whose headers are in memory for a repair."""

    def repair(self, directory: MemoryDirectory, lock: AbstractContextManager[None]) -> bool:
        """Whether anything was wrong. `lock` is that of the directory, taken in here.

        Headers are read before that: for 20,000 it takes seconds, and a save would wait. The folder
        is opened again then: meanwhile another may have taken its place.
        """
        if self._scanner.held(directory) is None:
            self._read_here.add(directory.path)
        try:
            return self._repair(directory, lock)
        finally:
            if self._scanner.held(directory) is None:
                self._read_here.discard(directory.path)

    def _repair(self, directory: MemoryDirectory, lock: AbstractContextManager[None]) -> bool:
        with open_folder(directory) as folder:
            is_as_repaired = self._is_as_repaired(directory, folder)
        if not self._indexes.skip and not is_as_repaired:
            self._scanner.snapshot(directory)
        with lock, open_folder(directory) as folder:
            leftovers = folder.remove_temporaries()
            moves, changes = self._retired.finish_interrupted(directory, folder)
            self._post(changes)
            is_wrong = self._index_was_wrong(directory, folder)
            if is_wrong:  # the next repair is a minute away
                self._let_go(directory)
        return is_wrong or leftovers + moves > 0

    def doubt(self, directory: MemoryDirectory) -> None:
        """Files have changed since the last look at all stamps: the next repair compares them."""
        self._repaired[directory.path] = None

    def forget(self, directory: MemoryDirectory) -> None:
        """The directory is gone."""
        self._repaired.pop(directory.path, None)
        self._digests.pop(directory.path, None)
        self._read_here.discard(directory.path)
        self._indexes.let_go(directory)

    def _is_as_repaired(self, directory: MemoryDirectory, folder: Folder) -> bool:
        stamps, listing = self._scanner.last_stamps(directory), _index_stamp(folder)
        if stamps is None or listing is None:
            return False
        path, today = directory.path, iso_time(self._now())[:10]
        last = self._repaired[path] if path in self._repaired else self._as_kept(path)
        is_same = last is not None and last.is_as(self._digest(path, stamps), listing, today)
        self._repaired[path] = last if is_same else None
        return is_same

    def _index_was_wrong(self, directory: MemoryDirectory, folder: Folder) -> bool:
        if self._is_as_repaired(directory, folder):
            return False
        now = self._now()
        stamps, listing = self._scanner.last_stamps(directory), _index_stamp(folder)
        if self._indexes.matched(folder, directory):
            return True
        held = self._scanner.held(directory)
        if stamps is None or listing is None or held is None:
            return False
        are_settled = all(stamp.is_settled(now) for stamp in (listing, *stamps.values()))
        if held.names_no_other and are_settled:
            path, today = directory.path, iso_time(now)[:10]
            days = [one.topic.valid_until for one in held.files.values() if one.topic.valid_until]
            until = min((day for day in days if day >= today), default="")
            topics = self._digest(path, stamps)
            made = _Repaired(self._made_by(), path, topics, listing, today, until)
            self._repaired[path] = made
            self._keep(made, len(stamps))
            self._let_go(directory)
        return False

    def _let_go(self, directory: MemoryDirectory) -> None:
        """Of the headers, unless somebody else had them before."""
        if directory.path in self._read_here:
            self._scanner.let_go(directory)
            self._indexes.let_go(directory)

    def _as_kept(self, path: str) -> _Repaired | None:
        body = self._kept.read(path, "repaired") if self._kept is not None else None
        if body is not None:
            with suppress(ValueError):
                found = msgspec.msgpack.decode(body, type=_Repaired)
                if (found.maker, found.folder) == (self._made_by(), path):
                    return found
        return None

    def _keep(self, made: _Repaired, memories: int) -> None:
        temporary = self._kept.begin() if self._kept and memories >= LEAST_MEMORIES else None
        if self._kept is not None and temporary is not None:
            with suppress(ValueError):  # the path of the directory is not UTF-8
                self._kept.fill(temporary, msgspec.msgpack.encode(made))
                self._kept.put_in_place(temporary, made.folder, "repaired")
            self._kept.give_up(temporary)  # unless it was put in place

    def _digest(self, path: str, stamps: dict[str, FileStamp]) -> str:
        """Of the stamps; while nothing changes they are the same object."""
        last, digest = self._digests.get(path, (None, ""))
        if last is not stamps:
            data = msgspec.msgpack.encode(sorted(stamps.items()))
            digest = hashlib.sha256(data).hexdigest()
            self._digests[path] = stamps, digest
        return digest

    def _made_by(self) -> str:
        self._maker = self._maker or identity_of_code("text", "memories")
        return self._maker


def _index_stamp(folder: Folder) -> FileStamp | None:
    with suppress(OSError):
        facts = os.stat(INDEX_FILE, dir_fd=folder.handle, follow_symlinks=False)
        return FileStamp.of(facts)
    return None
