"""Files below one folder: read, written durably, and never outside it.

- Every access goes through a handle on the folder, and no path leads out of it (`beneath`).
- Only regular files with a single link are touched.
- A write is a temporary file, fsync, rename, fsync of the folder. After a crash a file is old or
  new, an acknowledged write is there, and leftovers are removed at the next start.
"""

import ctypes
import errno
import hashlib
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import TracebackType
from typing import Final, Self

import msgspec

from memoryd.base.errors import Conflict, NotFound, Refused, StorageError
from memoryd.base.file_stamp import FileStamp
from memoryd.system.beneath import open_beneath, steps_of
from memoryd.text.lazy_regex import late

FOLDER_MODE: Final = 0o700
FILE_MODE: Final = 0o600
READ_LIMIT_BYTES: Final = 4 * 1024 * 1024

_TEMPORARY = late(r"\.memoryd-[0-9a-f]+\.tmp")
_RENAME_NOREPLACE: Final = 1
_FOLDER_FLAGS: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
# O_NONBLOCK: opening a FIFO or a device must not block before we know what it is.
_READ_FLAGS: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_CREATE_FLAGS: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC

_libc = ctypes.CDLL(None, use_errno=True)


class Content(msgspec.Struct, frozen=True):
    """The bytes of a file at one moment; `version` is their hash."""

    data: bytes
    version: str
    modified: float
    stamp: FileStamp


class Known(msgspec.Struct, frozen=True):
    """Bytes with their hash, so that they need not be hashed again."""

    data: bytes
    version: str


def version_of(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


class Folder:
    """A handle on one folder; every path given to it is relative and stays below it."""

    def __init__(self, path: str, handle: int, *, is_shared: bool = False) -> None:
        self.path = path
        self._handle = handle
        self._is_shared = is_shared

    @classmethod
    def open(cls, path: str, *, beneath: str | None = None, create: bool = False) -> Self:
        """A handle on `path`. NotFound unless it exists or may be created.

        With `beneath`, that folder is trusted but nothing below it: no link on the way from there
        to `path` is followed, and files of other users are refused. Folders inside a repository are
        opened like this.
        """
        trusted = beneath or path
        with _our_errors(path, "open"):
            if create and beneath is None:
                make_folder(path)
            top = os.open(trusted, _FOLDER_FLAGS)
        if beneath is None:
            return cls(path, top)
        with cls(beneath, top) as base:
            handle = base.descend(os.path.relpath(path, beneath), create=create)
            return cls(path, handle, is_shared=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        os.close(self._handle)

    @property
    def handle(self) -> int:
        return self._handle

    def descend(self, relative: str, *, create: bool = False) -> int:
        """A new handle on a folder below this one; with `create`, missing folders are made."""
        with _our_errors(self._joined(relative), "open"):
            if not create:
                return open_beneath(self._handle, relative, _FOLDER_FLAGS)
            handle = os.dup(self._handle)
            try:
                for step in steps_of(relative):
                    with suppress(FileExistsError):
                        os.mkdir(step, FOLDER_MODE, dir_fd=handle)
                        os.fsync(handle)
                    below = open_beneath(handle, step, _FOLDER_FLAGS)
                    os.close(handle)
                    handle = below
            except BaseException:
                os.close(handle)
                raise
            return handle

    def read(
        self, relative: str, limit_bytes: int = READ_LIMIT_BYTES, *, may_be_linked: bool = False
    ) -> Content:
        """The whole file. NotFound, or Refused if it is too large or not a regular file.

        A backup with hard links gives files a second name; they can be read, but not written.
        """
        data, facts = self._read(relative, limit_bytes, may_be_linked=may_be_linked)
        return Content(data, version_of(data), facts.st_mtime, FileStamp.of(facts))

    def current(
        self,
        relative: str,
        known: Known | None = None,
        limit_bytes: int = READ_LIMIT_BYTES,
    ) -> Content | None:
        """The file, or None if it does not exist; what is `known` already is not hashed again."""
        try:
            data, facts = self._read(relative, limit_bytes)
        except NotFound:
            return None
        is_known = known is not None and known.data == data
        version = known.version if known and is_known else version_of(data)
        return Content(data, version, facts.st_mtime, FileStamp.of(facts))

    def _read(
        self, relative: str, limit_bytes: int = READ_LIMIT_BYTES, *, may_be_linked: bool = False
    ) -> tuple[bytes, os.stat_result]:
        with _our_errors(self._joined(relative), "read"):
            handle = open_beneath(self._handle, relative, _READ_FLAGS)
            try:
                facts = self._checked(handle, relative, may_be_linked=may_be_linked)
                data = _read_all(handle, limit_bytes + 1, facts.st_size)
            finally:
                os.close(handle)
        if len(data) > limit_bytes:
            raise Refused(f"{self._joined(relative)} is larger than {limit_bytes} bytes")
        return data, facts

    def write(
        self,
        relative: str,
        data: bytes,
        *,
        over: str | Content | Known | None,
        modified: float | None = None,
    ) -> str:
        """Writes `data` durably, with mtime `modified` or now, and returns its version.

        `over` is what the caller has read, or its version, None for no file. If anything else is
        found there, it stays and Conflict is raised.
        """
        parent, _, name = relative.rpartition("/")
        folder = self.descend(parent, create=True)
        try:
            mode, seen = self._expect(relative, over)
            with _our_errors(self._joined(relative), "write"):
                temporary = _write_temporary(folder, data, mode, modified)
                try:
                    self._put_in_place(folder, temporary, name, seen)
                    os.fsync(folder)
                except BaseException:
                    with suppress(OSError):
                        os.unlink(temporary, dir_fd=folder)
                    raise
        finally:
            os.close(folder)
        return version_of(data)

    def remove(self, relative: str, *, over: str) -> None:
        """Removes the file durably, if it is still the version that the caller has read."""
        parent, _, name = relative.rpartition("/")
        folder = self.descend(parent)
        try:
            self._expect(relative, over)
            with _our_errors(self._joined(relative), "remove"):
                os.unlink(name, dir_fd=folder)
                os.fsync(folder)
        finally:
            os.close(folder)

    def remove_temporaries(self) -> int:
        """Removes what killed writers left, here and in the folders below; returns how many."""
        removed = 0
        for _, folders, files, handle in os.fwalk(dir_fd=self._handle, follow_symlinks=False):
            # team/ is a memory directory of its own, and may be being written right now.
            folders[:] = [name for name in folders if name == ".retired" or _is_ours(name)]
            for name in files:
                if _TEMPORARY.fullmatch(name):
                    with suppress(OSError):
                        os.unlink(name, dir_fd=handle)
                        removed += 1
        return removed

    def _expect(
        self, relative: str, over: str | Content | Known | None
    ) -> tuple[int, FileStamp | None]:
        """Checks that the file is this version; returns its mode and stamp."""
        expected = over.data if isinstance(over, Content | Known) else None
        try:
            data, facts = self._read(relative, max(READ_LIMIT_BYTES, len(expected or b"")))
        except NotFound:
            is_same = over is None
            mode, stamp = FILE_MODE, None
        else:
            is_same = version_of(data) == over if expected is None else data == expected
            mode, stamp = stat.S_IMODE(facts.st_mode), FileStamp.of(facts)
        if not is_same:
            raise Conflict(
                f"{self._joined(relative)} has changed since it was read; it was not overwritten",
                hint="read it again, then repeat the change",
            )
        return mode, stamp

    def _put_in_place(self, folder: int, temporary: str, name: str, seen: FileStamp | None) -> None:
        if seen is None:
            _rename_to_new(folder, temporary, name)
        elif seen == FileStamp.of(os.stat(name, dir_fd=folder, follow_symlinks=False)):
            os.rename(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
        else:
            raise Conflict(f"{name} was changed during the write; it was not overwritten")

    def _checked(
        self, handle: int, relative: str, *, may_be_linked: bool = False
    ) -> os.stat_result:
        facts = os.fstat(handle)
        if not stat.S_ISREG(facts.st_mode):
            raise Refused(f"{self._joined(relative)} is not a regular file")
        if self._is_shared and facts.st_uid not in {0, os.geteuid()}:
            raise Refused(f"{self._joined(relative)} belongs to another user")
        if facts.st_nlink != 1 and not may_be_linked:
            raise Refused(f"{self._joined(relative)} has more than one link")
        return facts

    def _joined(self, relative: str) -> str:
        return os.path.join(self.path, relative).rstrip("/")  # noqa: PTH118 - text for a message


def make_folder(path: str) -> None:
    """Makes the folder and missing ones above it, each with access for the owner alone."""
    if os.path.isdir(path):  # noqa: PTH112 - the daemon starts without pathlib
        return
    above = os.path.dirname(path.rstrip("/")) or "."  # noqa: PTH120 - likewise
    make_folder(above)
    with suppress(FileExistsError):
        os.mkdir(path, FOLDER_MODE)  # noqa: PTH102 - likewise
    handle = os.open(above, _FOLDER_FLAGS)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _write_temporary(folder: int, data: bytes, mode: int, modified: float | None) -> str:
    """Writes the data durably to a temporary file and returns its name; cleans up on failure."""
    name = f".memoryd-{os.urandom(8).hex()}.tmp"
    handle = os.open(name, _CREATE_FLAGS, FILE_MODE, dir_fd=folder)
    try:
        try:
            _write_all(handle, data)
            os.fchmod(handle, mode)
            if modified is not None:
                os.utime(handle, (modified, modified))
            os.fsync(handle)
        finally:
            os.close(handle)
    except BaseException:
        with suppress(OSError):
            os.unlink(name, dir_fd=folder)
        raise
    return name


def _is_ours(name: str) -> bool:
    return not name.startswith(".") and name != "team"


def _rename_to_new(folder: int, temporary: str, name: str) -> None:
    """Renames the file to a free name; FileExistsError if it was taken meanwhile."""
    if not hasattr(_libc, "renameat2"):
        _link_to_new(folder, temporary, name)
        return
    source, target = os.fsencode(temporary), os.fsencode(name)
    if _libc.renameat2(folder, source, folder, target, ctypes.c_uint(_RENAME_NOREPLACE)) == 0:
        return
    code = ctypes.get_errno()
    if code in {errno.EINVAL, errno.ENOSYS}:  # a file system without it, often on a network
        _link_to_new(folder, temporary, name)
    else:
        raise OSError(code, os.strerror(code), name)


def _link_to_new(folder: int, temporary: str, name: str) -> None:
    os.link(temporary, name, src_dir_fd=folder, dst_dir_fd=folder, follow_symlinks=False)
    os.unlink(temporary, dir_fd=folder)


def _read_all(handle: int, limit_bytes: int, expected_bytes: int) -> bytes:
    """At once if the file is as large as expected: joining pieces would copy them."""
    pieces: list[bytes] = []
    left = limit_bytes
    while left > 0 and (piece := os.read(handle, min(left, max(expected_bytes + 1, 4096)))):
        pieces.append(piece)
        left -= len(piece)
    return b"".join(pieces)


def _write_all(handle: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(handle, view) :]


@contextmanager
def _our_errors(path: str, action: str) -> Iterator[None]:
    """Turns the system's errors into ours, which carry the path and the action."""
    try:
        yield
    except (FileNotFoundError, NotADirectoryError) as error:
        raise NotFound(f"{path} does not exist") from error
    except FileExistsError as error:
        raise Conflict(f"{path} exists already; it was not overwritten") from error
    except OSError as error:
        if error.errno in {errno.ELOOP, errno.EXDEV, errno.EMLINK}:
            raise Refused(f"{path} leads through a link; links are not followed") from error
        raise StorageError(path, action, error) from error
