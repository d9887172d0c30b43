"""The kernel's own notes of what happens in folders, where there are any: Linux.

A note is there as soon as the call that caused it has returned. Notes are kept until they are read,
unless they are too many: then the kernel says that it dropped some.
"""

import ctypes
import os
import struct
import sys
import weakref
from typing import Final, NamedTuple, Self

MODIFY, ATTRIB, MOVED_FROM, MOVED_TO = 0x2, 0x4, 0x40, 0x80
CREATE, DELETE, DELETE_SELF, MOVE_SELF = 0x100, 0x200, 0x400, 0x800
OVERFLOW: Final = 0x4000
IGNORED: Final = 0x8000
IS_FOLDER: Final = 0x4000_0000
# What a folder has and where it is, and what is in its files too.
NAMES: Final = MOVED_FROM | MOVED_TO | CREATE | DELETE | DELETE_SELF | MOVE_SELF
ANYTHING: Final = NAMES | MODIFY | ATTRIB
_NOTE: Final = struct.Struct("iIII")
_READ_BYTES: Final = 64 * 1024


class Note(NamedTuple):
    """What happened (`mask`) to a name in the folder of a watch, or to the folder itself."""

    watch: int
    mask: int
    name: bytes


class Inotify:
    """One instance of it. Not locked."""

    def __init__(self, libc: ctypes.CDLL, handle: int) -> None:
        self._libc = libc
        self.handle = handle
        self._closing = weakref.finalize(self, os.close, handle)

    @classmethod
    def open(cls) -> Self | None:
        """None where the system has none, or refuses another one."""
        if sys.platform != "linux":
            return None
        libc = ctypes.CDLL(None, use_errno=True)
        handle = libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        return None if handle < 0 else cls(libc, handle)

    def watch(self, folder: str, mask: int = ANYTHING) -> int | None:
        """The number of the watch, the same for the same folder; None if it is refused."""
        found = self._libc.inotify_add_watch(
            self.handle, os.fsencode(folder), ctypes.c_uint32(mask)
        )
        return None if found < 0 else int(found)

    def unwatch(self, watch: int) -> None:
        self._libc.inotify_rm_watch(self.handle, watch)

    def read(self) -> list[Note]:
        """The notes since the last call."""
        found: list[Note] = []
        while True:
            try:
                data = os.read(self.handle, _READ_BYTES)
            except BlockingIOError:
                return found
            found += _notes_in(data)

    def close(self) -> None:
        """Now; without that, when nobody holds it any more."""
        self._closing()


def _notes_in(data: bytes) -> list[Note]:
    found, at = [], 0
    while at < len(data):
        watch, mask, _, name_bytes = _NOTE.unpack_from(data, at)
        at += _NOTE.size
        found.append(Note(watch, mask, data[at : at + name_bytes].rstrip(b"\0")))
        at += name_bytes
    return found
