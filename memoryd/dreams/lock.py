"""`.consolidate-lock`: which process dreams over a memory directory, and when the last dream was.

The agent uses this file too, so it keeps its meaning: the body is the holder's PID, the file's time
is that of the last consolidation. A PID file alone sometimes lets two processes in, so between
memoryd processes an OS lock on the same file decides.

- Free: no file, an empty file, a holder that is dead or not dreaming, or a file not written for an
  hour.
- A process that started after the file was written is not its holder, even if the PID matches.
- Success sets the time to now. Failure or a kill restores body and time, or removes the file if it
  did not exist before.
- A process that lost the lock while suspended finds another file in its place, and must stop.
"""

import fcntl
import os
import time
from contextlib import suppress
from pathlib import Path
from typing import Final, Literal, Self

import msgspec

from memoryd.base.errors import StorageError
from memoryd.system.folder import make_folder
from memoryd.system.plain_file import read_plain
from memoryd.system.processes import process_is_alive, process_started

STALE_SECONDS: Final = 3600.0
WRITING_SECONDS: Final = 0.2
TRIES: Final = 10
BODY_LIMIT_BYTES: Final = 1024 * 1024


class LockState(msgspec.Struct, frozen=True):
    """The file at one moment; restored when a dream fails."""

    existed: bool
    body: str = ""
    modified: float = 0.0


NOTHING: Final = LockState(existed=False)


class Holder(msgspec.Struct, frozen=True):
    """What is known about the process that the file names."""

    pid: int
    is_alive: bool
    started: float | None


def holder_is_stale(before: LockState, holder: Holder, now: float) -> bool:
    """Whether the lock may be taken although the file names a process."""
    if not holder.is_alive:
        return True
    if holder.pid == os.getpid():  # ours: the OS lock tells whether a dream is running
        return True
    if holder.started is not None and holder.started > before.modified + 1:
        return True
    # A time stamp from the future proves nothing and counts as old.
    return not 0 <= now - before.modified + 1 < STALE_SECONDS


class ConsolidateLock:
    """Held until `finish` or `roll_back`; the OS lock is released with the process."""

    def __init__(self, path: str, handle: int, before: LockState) -> None:
        self.path = path
        self.before = before
        self._handle = handle

    @classmethod
    def take(cls, path: str, now: float) -> Self | None:
        """The lock, or None when another process holds it or was faster."""
        make_folder(str(Path(path).parent))
        for _ in range(TRIES):
            try:
                taken = cls._try(path, now)
            except OSError as error:
                raise StorageError(path, "lock", error) from error
            if taken is not False:
                return taken
        return None

    @classmethod
    def _try(cls, path: str, now: float) -> Self | Literal[False] | None:
        """False: the file was replaced meanwhile, try again."""
        before = read_lock(path)
        holder = holder_named(before.body)
        if holder is not None and not holder_is_stale(before, holder, now):
            return None
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        handle = os.open(path, flags, 0o600)
        try:
            if not _locked(handle):
                if not _is_suspended(path, before, now):
                    return None
                Path(path).unlink(missing_ok=True)
                return False
            if not _is_in_place(path, handle) or read_lock(path) != before:
                return False
            lock, handle = cls(path, handle, before), -1
        finally:
            if handle >= 0:
                os.close(handle)
        lock._write(str(os.getpid()))
        return lock if lock.is_ours() else None

    def is_ours(self) -> bool:
        """Whether the file is still the one we hold, and still names us."""
        if not _is_in_place(self.path, self._handle):
            return False
        return os.pread(self._handle, 32, 0).strip() == str(os.getpid()).encode()

    def finish(self, at: float) -> None:
        """After a successful dream: sets the file's time to `at`."""
        if self.is_ours():
            os.utime(self._handle, (at, at))
        os.close(self._handle)

    def roll_back(self) -> None:
        """After a failed dream: restores the file."""
        if self.is_ours():
            restore_lock(self.path, self.before)
        os.close(self._handle)

    def _write(self, body: str) -> None:
        os.ftruncate(self._handle, 0)
        os.pwrite(self._handle, body.encode(), 0)
        os.fsync(self._handle)


def read_lock(path: str) -> LockState:
    """The file now. An empty one was left by a process that died while locking: same as none."""
    try:
        facts = os.lstat(path)
        body = read_plain(path, BODY_LIMIT_BYTES)[:32].decode("ascii", "replace").strip()
    except OSError:
        return NOTHING
    return LockState(existed=True, body=body, modified=facts.st_mtime) if body else NOTHING


def restore_lock(path: str, before: LockState) -> None:
    """Also for a dream whose process was killed."""
    with suppress(FileNotFoundError):
        if not before.existed:
            Path(path).unlink()
            return
        Path(path).write_text(before.body, encoding="ascii", errors="replace")
        os.utime(path, (before.modified, before.modified))


def holder_named(body: str) -> Holder | None:
    if not body.isdigit() or not 0 < int(body) < 1 << 31:
        return None
    pid = int(body)
    return Holder(pid, process_is_alive(pid), process_started(pid))


def _locked(handle: int) -> bool:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _is_suspended(path: str, before: LockState, now: float) -> bool:
    """Whether a memoryd process holds the OS lock, but took it so long ago that it is given up.

    A process between locking and writing its PID looks the same, so it gets a moment to write.
    """
    if not before.existed or now - before.modified < STALE_SECONDS:
        return False
    time.sleep(WRITING_SECONDS)
    return read_lock(path) == before


def _is_in_place(path: str, handle: int) -> bool:
    try:
        named, held = os.lstat(path), os.fstat(handle)
    except OSError:
        return False
    return (named.st_dev, named.st_ino) == (held.st_dev, held.st_ino)
