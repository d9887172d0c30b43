"""Rings when anything happens in the watched folders, so that nobody has to keep looking.

The library that names the changes is asked in steps: it sleeps, looks and sleeps again, even when
nothing happens for hours. On Linux the kernel can wake us instead. The bell only says "now": what
changed is still the library's to say.

- It hangs on the same folders, each by itself.
- Where the system has no inotify, or refuses another one, there is no bell.
- The kernel says when it dropped events; the library does not pass that on, the bell does.
"""

import ctypes
import os
import struct
import sys
from collections.abc import Iterable
from typing import Final, Self

import anyio

_MODIFY, _ATTRIB, _MOVED_FROM, _MOVED_TO = 0x2, 0x4, 0x40, 0x80
_CREATE, _DELETE, _DELETE_SELF, _MOVE_SELF = 0x100, 0x200, 0x400, 0x800
_ANYTHING: Final = (
    _MODIFY | _ATTRIB | _MOVED_FROM | _MOVED_TO | _CREATE | _DELETE | _DELETE_SELF | _MOVE_SELF
)
_OVERFLOW: Final = 0x4000
_EVENT: Final = struct.Struct("iIII")
_READ_BYTES: Final = 64 * 1024


class Bell:
    """An inotify instance of its own; its events are counted as one, whatever they say."""

    def __init__(self, handle: int) -> None:
        self._handle = handle

    @classmethod
    def hang(cls, folders: Iterable[str]) -> Self | None:
        """None where the system cannot ring for all of these folders."""
        if sys.platform != "linux":
            return None
        libc = ctypes.CDLL(None, use_errno=True)
        handle = libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        if handle < 0:
            return None
        bell = cls(handle)
        for folder in folders:
            if libc.inotify_add_watch(handle, os.fsencode(folder), ctypes.c_uint32(_ANYTHING)) < 0:
                bell.close()
                return None
        return bell

    async def wait(self) -> None:
        """Returns when something happened since `silence`."""
        await anyio.wait_readable(self._handle)

    def silence(self) -> bool:
        """Takes all rings together as heard; true when the kernel had to drop some events."""
        dropped = False
        while True:
            try:
                data = os.read(self._handle, _READ_BYTES)
            except BlockingIOError:
                return dropped
            dropped = dropped or _OVERFLOW in _masks(data)

    def close(self) -> None:
        os.close(self._handle)


def _masks(data: bytes) -> set[int]:
    masks, at = set(), 0
    while at < len(data):
        _, mask, _, name_bytes = _EVENT.unpack_from(data, at)
        masks.add(mask)
        at += _EVENT.size + name_bytes
    return masks
