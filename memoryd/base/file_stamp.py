"""Whether a file is still the one that was seen, by what the file system says about it.

A program cannot set a file's ctime, so a rewrite that restores size and mtime is noticed too. Two
changes within one tick of the file system's clock have the same times, though: what was read from
a file that has only just changed must not be trusted by its stamp, see `is_settled`.
"""

from typing import Final, Protocol

import msgspec

# The kernel's clock for files ticks every 10 ms at most.
SETTLED_SECONDS: Final = 0.05
_SIGNED_64_BITS: Final = 2**63 - 1  # what SQLite can store

Identity = tuple[int, int]


class StatResult(Protocol):
    """The fields of `os.stat_result` that make a stamp."""

    @property
    def st_dev(self) -> int: ...
    @property
    def st_ino(self) -> int: ...
    @property
    def st_size(self) -> int: ...
    @property
    def st_mtime_ns(self) -> int: ...
    @property
    def st_ctime_ns(self) -> int: ...


class FileStamp(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """Device, inode, size and times. In a cursor, `size` is how far the file has been read."""

    device: int = 0
    inode: int = 0
    size: int = 0
    mtime_ns: int = 0
    ctime_ns: int = 0

    @classmethod
    def of(cls, found: StatResult) -> "FileStamp":
        return FileStamp(
            found.st_dev & _SIGNED_64_BITS,
            found.st_ino & _SIGNED_64_BITS,
            found.st_size,
            found.st_mtime_ns,
            found.st_ctime_ns,
        )

    def is_of(self, found: StatResult) -> bool:
        """Whether `of` would give this stamp; cheaper, since it is asked for every file."""
        return (
            self.ctime_ns == found.st_ctime_ns
            and self.mtime_ns == found.st_mtime_ns
            and self.size == found.st_size
            and self.inode == found.st_ino & _SIGNED_64_BITS
            and self.device == found.st_dev & _SIGNED_64_BITS
        )

    @property
    def identity(self) -> Identity:
        return self.device, self.inode

    def is_settled(self, now: float) -> bool:
        """Whether any change after `now` (in seconds) would give the file another stamp."""
        return now - self.ctime_ns / 1e9 > SETTLED_SECONDS
