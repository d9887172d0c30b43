"""Opens a path below a folder's handle, and nothing outside that folder.

`openat2` keeps the path below it; on kernels without that call each step is opened by itself,
following no link. Checking a path first and opening it afterwards would lose races; this does not.
"""

import ctypes
import errno
import os
import sys
from typing import Final

from memoryd.base.errors import Refused

DEEPEST: Final = 8

_SYS_OPENAT2: Final = 437
_BENEATH_WITHOUT_LINKS: Final = 0x08 | 0x04 | 0x02  # RESOLVE_BENEATH, _NO_SYMLINKS, _NO_MAGICLINKS
_FOLDER_FLAGS: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC

_libc = ctypes.CDLL(None, use_errno=True)


def open_beneath(handle: int, relative: str, flags: int) -> int:
    """Opens a path below a folder handle; follows no link and no `..`."""
    steps = steps_of(relative)
    if not steps:
        return os.dup(handle)
    if HAS_OPENAT2:
        return _openat2(handle, "/".join(steps), flags)
    return _walk(handle, steps, flags)


def steps_of(relative: str) -> list[str]:
    """The parts of a path that stays below its folder; Refused for any other."""
    steps = relative.split("/") if relative not in {"", "."} else []
    if len(steps) > DEEPEST or any(step in {"", ".", ".."} or "\0" in step for step in steps):
        raise Refused("a path must stay below its folder, without empty parts, . or ..")
    return steps


class _OpenHow(ctypes.Structure):
    _fields_ = (
        ("flags", ctypes.c_uint64),
        ("mode", ctypes.c_uint64),
        ("resolve", ctypes.c_uint64),
    )


def _openat2(handle: int, relative: str, flags: int) -> int:
    how = _OpenHow(flags=flags, mode=0, resolve=_BENEATH_WITHOUT_LINKS)
    while True:
        opened = _libc.syscall(
            ctypes.c_long(_SYS_OPENAT2),
            ctypes.c_int(handle),
            ctypes.c_char_p(os.fsencode(relative)),
            ctypes.byref(how),
            ctypes.c_size_t(ctypes.sizeof(how)),
        )
        if opened >= 0:
            return int(opened)
        code = ctypes.get_errno()
        # The kernel saw a rename on the way and asks us to try again.
        if code != errno.EAGAIN:
            raise OSError(code, os.strerror(code), relative)


def _walk(handle: int, steps: list[str], flags: int) -> int:
    at = os.dup(handle)
    try:
        for step in steps[:-1]:
            below = os.open(step, _FOLDER_FLAGS | os.O_NOFOLLOW, dir_fd=at)
            os.close(at)
            at = below
        return os.open(steps[-1], flags | os.O_NOFOLLOW, dir_fd=at)
    finally:
        os.close(at)


def _probe_openat2() -> bool:
    if sys.platform != "linux":
        return False
    top = os.open("/", _FOLDER_FLAGS)
    try:
        os.close(_openat2(top, ".", _FOLDER_FLAGS))
    except OSError:  # an old kernel, or a seccomp filter
        return False
    finally:
        os.close(top)
    return True


HAS_OPENAT2 = _probe_openat2()
