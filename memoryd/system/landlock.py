"""The kernel's own fence around a piece of work: Landlock, by system calls without a library.

- A fence applies to a thread and the children it starts, and cannot be removed. So the work runs in
  a new thread that fences itself in first and then ends; the rest of the process is not affected.
- Below the writable folders, files can be created, written, replaced and removed, and folders
  created. Links, devices, sockets and pipes cannot be created even there. Everywhere else nothing
  can be written, created, renamed, linked, truncated or removed. Open files stay open.
- If readable folders are given, nothing else can be opened or listed either.
- From version 4 of Landlock on, TCP connections can be neither made nor accepted.
- A kernel without Landlock, or a seccomp filter that forbids it, is not an error: the work runs
  without a fence, and `fences` says so. The checks in folder.py and beneath.py do not depend on it.
"""

import ctypes
import errno
import functools
import os
import stat
import sys
import threading
from collections.abc import Callable
from contextvars import copy_context
from typing import Final, TypeVar

import msgspec

from memoryd.system.beneath import HAS_OPENAT2

Result = TypeVar("Result")

# The same numbers on every architecture.
_SYS_CREATE_RULESET: Final = 444
_SYS_ADD_RULE: Final = 445
_SYS_RESTRICT_SELF: Final = 446
_VERSION: Final = 1
_RULE_PATH_BENEATH: Final = 1
_PR_SET_NO_NEW_PRIVS: Final = 38

_EXECUTE: Final = 1 << 0
_WRITE_FILE: Final = 1 << 1
_READ_FILE: Final = 1 << 2
_READ_DIR: Final = 1 << 3
_REMOVE_FILE: Final = 1 << 5
_MAKE_DIR: Final = 1 << 7
_MAKE_REG: Final = 1 << 8
_REFER: Final = 1 << 13
_TRUNCATE: Final = 1 << 14
_IOCTL_DEV: Final = 1 << 15
_BIND_AND_CONNECT_TCP: Final = 0b11

_READING: Final = _EXECUTE | _READ_FILE | _READ_DIR
_FIRST_WRITING: Final = ((1 << 13) - 1) & ~_READING
_GRANTED: Final = _WRITE_FILE | _TRUNCATE | _REMOVE_FILE | _MAKE_DIR | _MAKE_REG
_ONLY_ON_FOLDERS: Final = ~(_EXECUTE | _READ_FILE | _WRITE_FILE | _TRUNCATE | _IOCTL_DEV)

_libc = ctypes.CDLL(None, use_errno=True)


class Fence(msgspec.Struct, frozen=True):
    """Handles of what may be written and read; if `readable` is None, everything may be read."""

    writable: tuple[int, ...] = ()
    readable: tuple[int, ...] | None = None


class Fences(msgspec.Struct, frozen=True):
    """Which fences the kernel offers; `landlock` is its version, 0 if there is none."""

    openat2: bool
    landlock: int


class _Ruleset(ctypes.Structure):
    _fields_ = (("files", ctypes.c_uint64), ("net", ctypes.c_uint64))


class _PathBeneath(ctypes.Structure):
    _pack_ = 1
    _fields_ = (("allowed", ctypes.c_uint64), ("handle", ctypes.c_int32))


@functools.cache
def landlock_abi() -> int:
    """The kernel's version of Landlock, 0 if it has none or a filter forbids to ask."""
    if sys.platform != "linux":
        return 0
    try:
        return _call(_SYS_CREATE_RULESET, None, 0, _VERSION)
    except OSError:
        return 0


@functools.cache
def fences() -> Fences:
    """What really works, tried once: a filter may report Landlock and still refuse it."""
    fenced = _in_fresh_thread(lambda: _restrict_this_thread(Fence()))
    return Fences(
        openat2=HAS_OPENAT2,
        landlock=landlock_abi() if fenced else 0,
    )


def run_fenced(fence: Fence, work: Callable[[], Result]) -> Result:
    """Runs the work in a new thread behind the fence; returns or raises what it does."""

    def fenced() -> Result:
        _restrict_this_thread(fence)
        return work()

    return _in_fresh_thread(fenced)


def _in_fresh_thread(work: Callable[[], Result]) -> Result:
    outcome: list[Result] = []
    failure: list[BaseException] = []

    def caught() -> None:
        try:
            outcome.append(work())
        except BaseException as error:  # noqa: BLE001 - raised again in the caller
            failure.append(error)

    thread = threading.Thread(target=copy_context().run, args=(caught,), name="fenced")
    thread.start()
    thread.join()
    if failure:
        raise failure[0]
    return outcome[0]


def _restrict_this_thread(fence: Fence) -> bool:
    """Irreversibly; False if the kernel or a filter does not allow it."""
    abi = landlock_abi()
    if abi == 0 or _libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0:
        return False
    rights = _handled(abi, reading=fence.readable is not None)
    attributes = _Ruleset(rights, _BIND_AND_CONNECT_TCP)
    size = ctypes.sizeof(attributes) if abi >= 4 else ctypes.sizeof(ctypes.c_uint64)
    try:
        ruleset = _call(_SYS_CREATE_RULESET, ctypes.byref(attributes), size, 0)
        try:
            _fill(ruleset, fence, rights)
            _call(_SYS_RESTRICT_SELF, ruleset, 0)
        finally:
            os.close(ruleset)
    except OSError as error:
        # A filter answers like this. Any other error is a mistake in our ruleset.
        if error.errno in {errno.EPERM, errno.ENOSYS}:
            return False
        raise
    return True


def _fill(ruleset: int, fence: Fence, rights: int) -> None:
    for handle in fence.readable or ():
        _allow(ruleset, handle, _READING & rights)
    for handle in fence.writable:
        _allow(ruleset, handle, (_GRANTED | _READING) & rights)
    # Children get it in place of a terminal, opened for reading and writing.
    null = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
    try:
        _allow(ruleset, null, (_WRITE_FILE | _READ_FILE) & rights)
    finally:
        os.close(null)


def _handled(abi: int, *, reading: bool) -> int:
    """The rights that are taken away, among those that this kernel knows."""
    rights = _FIRST_WRITING
    for since, right in ((2, _REFER), (3, _TRUNCATE), (5, _IOCTL_DEV)):
        if abi >= since:
            rights |= right
    return rights | _READING if reading else rights


def _allow(ruleset: int, handle: int, rights: int) -> None:
    if not stat.S_ISDIR(os.fstat(handle).st_mode):
        rights &= ~_ONLY_ON_FOLDERS
    rule = _PathBeneath(rights, handle)
    _call(_SYS_ADD_RULE, ruleset, _RULE_PATH_BENEATH, ctypes.byref(rule), 0)


def _call(number: int, *arguments: object) -> int:
    words = (ctypes.c_long(word) if isinstance(word, int) else word for word in arguments)
    result: int = _libc.syscall(ctypes.c_long(number), *words)
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return result
