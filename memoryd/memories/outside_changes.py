"""What other programs changed in a memory directory since it was last looked at.

- Only so much of a directory is taken into the history, by the names of the files: a repository
  can bring a folder of any size.
- What was seen is kept on disk for a large directory, by file and stamp. After a start only files
  with another stamp, or without a history, are read.
- A program that rewrites a file often empties it first. A file that has only just become empty is
  given a moment: the empty text is no version of it if another one follows at once. One that is
  emptied while this runs is left to the next look.
"""

import time
from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, suppress
from typing import Final, NamedTuple

import msgspec

from memoryd.base.errors import MemorydError, NotFound
from memoryd.base.file_stamp import FileStamp
from memoryd.memories.kept_files import KeptFiles, is_worth_keeping
from memoryd.memories.records import MemoryChanged, MemoryDirectory
from memoryd.memories.retired_files import RetiredFiles
from memoryd.memories.rules import topics
from memoryd.memories.scan import open_folder
from memoryd.memories.scanner import Scanner
from memoryd.memories.version_table import VersionTable
from memoryd.system.cancellation import cancellable
from memoryd.system.folder import Folder, version_of
from memoryd.text.decode import decoded

CHANGES_AT_ONCE: Final = 50
# Of a directory inside a repository, and of one of the person's own.
REPOSITORY_LIMIT_BYTES: Final = 8 * 1024 * 1024
OWN_LIMIT_BYTES: Final = 256 * 1024 * 1024
EMPTY_SECONDS: Final = 0.5
_LOOK_AGAIN_SECONDS: Final = 0.02

Locked = Callable[[MemoryDirectory], AbstractContextManager[None]]


class _SeenFiles(msgspec.Struct, frozen=True):
    folder: str
    files: dict[str, FileStamp]


class _Admitted(NamedTuple):
    """The stamps of files (None: too young to be trusted), and those that are really empty."""

    stamps: dict[str, FileStamp | None]
    empty: set[str]


class OutsideChanges:
    def __init__(
        self,
        scanner: Scanner,
        versions: VersionTable,
        retired: RetiredFiles,
        now: Callable[[], float],
        kept: KeptFiles | None = None,
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        self._kept = kept
        self._pause = pause
        self._scanner = scanner
        self._versions = versions
        self._retired = retired
        self._now = now
        self._last_seen: dict[str, dict[str, FileStamp | None]] = {}
        self._left_bytes: dict[str, int] = {}

    def find(
        self, directory: MemoryDirectory, locked: Locked, files: Collection[str] | None = None
    ) -> Iterator[list[MemoryChanged]]:
        """Records each change, in batches; `locked` keeps our own writers out of one batch.

        With `files`, only these are looked at, unless the directory was never looked at as a whole.
        """
        if directory.path not in self._last_seen:
            self._last_seen[directory.path] = self._seen_before(directory)
        last_seen = self._last_seen[directory.path]
        if files is None or directory.path not in self._left_bytes:
            stamps, empty = self._admitted(directory)
            looked_at: Collection[str] | None = None
        else:
            stamps, empty = self._admitted_of(directory, files)
            looked_at = files
        known = dict(last_seen) if looked_at is None else _of(last_seen, looked_at)
        touched = [file for file, stamp in stamps.items() if not stamp or known.get(file) != stamp]
        touched += sorted(known.keys() - stamps.keys())
        if looked_at is None and not touched:
            # The same, but with the scanner's own names and stamps: each is held once.
            self._last_seen[directory.path] = stamps
        for start in cancellable(range(0, len(touched), CHANGES_AT_ONCE)):
            batch = touched[start : start + CHANGES_AT_ONCE]
            # Locked, so that a file that our own writer has not recorded yet is not taken for
            # someone else's.
            with locked(directory):
                read = self._read_each(directory, batch, stamps)
                found = {file: data for file, data in read.items() if data != b"" or file in empty}
                changed = self._versions.record_found(directory.path, found, at=self._now())
            for file in found:
                if file in stamps:
                    last_seen[file] = stamps[file]
                else:
                    last_seen.pop(file, None)
            yield [_change(directory, file, found[file]) for file in changed]
        if looked_at is None and is_worth_keeping(len(touched), len(stamps)):
            self._keep(directory, last_seen)

    def _seen_before(self, directory: MemoryDirectory) -> dict[str, FileStamp | None]:
        """What was seen when the daemon ran last, of files that have a history."""
        body = self._kept.read(directory.path, "seen") if self._kept is not None else None
        if body is None:
            return {}
        with suppress(ValueError):
            # Mostly nothing has changed: then what recall has found already is not made again.
            found = self._scanner.last_stamps(directory)
            if found is None or body != _as_kept(directory, found):
                seen = msgspec.msgpack.decode(body, type=_SeenFiles)
                found = seen.files if seen.folder == directory.path else {}
            known = self._versions.present(directory.path)
            return {file: stamp for file, stamp in found.items() if file in known}
        return {}

    def _keep(self, directory: MemoryDirectory, seen: Mapping[str, FileStamp | None]) -> None:
        temporary = self._kept.begin() if self._kept is not None else None
        if self._kept is None or temporary is None:
            return
        settled = {file: one for file, one in seen.items() if one is not None}
        if self._kept.fill(temporary, _as_kept(directory, settled)):
            self._kept.put_in_place(temporary, directory.path, "seen")

    def _admitted(self, directory: MemoryDirectory) -> _Admitted:
        left = REPOSITORY_LIMIT_BYTES if directory.beneath else OWN_LIMIT_BYTES
        admitted = _Admitted({}, set())
        now = time.time()  # asked before any file is read
        known = self._last_seen[directory.path]
        listed = sorted(self._scanner.stamps(directory, known).items())
        until = time.monotonic() + EMPTY_SECONDS
        for file, found in listed:
            is_certain = found.size or known.get(file) == found
            stamp = found if is_certain else self._once_filled(directory, file, until)
            if stamp is not None and stamp.size <= left:
                left -= stamp.size
                _admit(admitted, file, stamp, now)
        self._left_bytes[directory.path] = left
        return admitted

    def _admitted_of(self, directory: MemoryDirectory, files: Iterable[str]) -> _Admitted:
        """Those of a few files that there is room for; the next full look counts exactly."""
        last_seen = self._last_seen[directory.path]
        admitted = _Admitted({}, set())
        until = time.monotonic() + EMPTY_SECONDS
        for file in files:
            now = time.time()  # asked before it is read
            stamp = self._once_filled(directory, file, until)
            if stamp is not None and (
                file in last_seen or stamp.size <= self._left_bytes[directory.path]
            ):
                _admit(admitted, file, stamp, now)
                if file not in last_seen:
                    self._left_bytes[directory.path] -= stamp.size
        return admitted

    def _once_filled(self, directory: MemoryDirectory, file: str, until: float) -> FileStamp | None:
        """The stamp of a file, of one just emptied when it is filled again or time is up."""
        stamp = self._scanner.stamp_of(directory, file)
        while stamp is not None and _is_just_emptied(stamp) and time.monotonic() < until:
            self._pause(_LOOK_AGAIN_SECONDS)
            stamp = self._scanner.stamp_of(directory, file)
        return stamp

    def _read_each(
        self, directory: MemoryDirectory, files: Iterable[str], listed: Container[str]
    ) -> dict[str, bytes | None]:
        """The contents of the files, None for those that are gone."""
        found: dict[str, bytes | None] = {}
        try:
            folder = open_folder(directory)
        except NotFound:
            return dict.fromkeys(files)
        except MemorydError:
            return {file: None for file in files if file not in listed}
        with folder:
            for file in files:
                try:
                    found[file] = folder.read(file).data
                except NotFound:
                    found[file] = self._retired_copy(directory, folder, file)
                except MemorydError:  # not a regular file, or a disk error: try again later
                    if file not in listed:
                        found[file] = None
        return found

    def _retired_copy(self, directory: MemoryDirectory, folder: Folder, file: str) -> bytes | None:
        """What is recorded of a file that is gone: its last version, if that is in `.retired/`."""
        newest = self._versions.newest(directory.path, file)
        if newest is None or newest.sha256 is None:
            return None
        last = self._versions.content(directory.path, file, newest.version)
        with suppress(NotFound):
            return self._retired.copy_of(folder, file, last)
        return None


def _is_just_emptied(stamp: FileStamp) -> bool:
    # A clock that was set back, or a server's that is ahead, makes no file young for long.
    return not stamp.size and abs(time.time() - stamp.ctime_ns / 1e9) < EMPTY_SECONDS


def _admit(admitted: _Admitted, file: str, stamp: FileStamp, now: float) -> None:
    admitted.stamps[file] = stamp if stamp.is_settled(now) else None
    if not stamp.size and not _is_just_emptied(stamp):
        admitted.empty.add(file)


def _as_kept(directory: MemoryDirectory, seen: Mapping[str, FileStamp]) -> bytes:
    return msgspec.msgpack.encode(_SeenFiles(directory.path, dict(sorted(seen.items()))))


def _of(
    stamps: Mapping[str, FileStamp | None], files: Iterable[str]
) -> dict[str, FileStamp | None]:
    return {file: stamps[file] for file in files if file in stamps}


def _change(directory: MemoryDirectory, file: str, data: bytes | None) -> MemoryChanged:
    if data is None:
        return MemoryChanged(directory, file, "", "outside")
    type_ = topics.parse(decoded(data)).type
    return MemoryChanged(directory, file, version_of(data), "outside", "", type_)
