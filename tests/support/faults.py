"""Faults in the system calls of a save: kill, or fail, the n-th of them."""

import ctypes
import errno
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from memoryd.system import folder

CALLS = ("open", "write", "fsync", "rename", "unlink", "mkdir", "fchmod", "stat", "dup", "read")


class FaultyLibc:
    """libc as files.py uses it, with a word before each call."""

    def __init__(self, real: ctypes.CDLL, before: Callable[[], int]) -> None:
        self._real = real
        self._before = before

    def _failing(self, name: str, *arguments: Any) -> Any:
        code = self._before()
        if code:
            ctypes.set_errno(code)
            return -1
        return getattr(self._real, name)(*arguments)

    def syscall(self, *arguments: Any) -> Any:
        return self._failing("syscall", *arguments)

    def renameat2(self, *arguments: Any) -> Any:
        return self._failing("renameat2", *arguments)


@contextmanager
def before_each_call(patch: pytest.MonkeyPatch, act: Callable[[], int]) -> Iterator[None]:
    """Runs `act` before every system call that a save makes; an errno it returns is the result."""

    def wrapped(real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **named: Any) -> Any:
            code = act()
            if code:
                raise OSError(code, os.strerror(code))
            return real(*arguments, **named)

        return call

    with patch.context() as inner:
        for name in CALLS:
            inner.setattr(os, name, wrapped(getattr(os, name)))
        inner.setattr(folder, "_libc", FaultyLibc(folder._libc, act))
        yield


def count_calls(patch: pytest.MonkeyPatch, deed: Callable[[], object]) -> int:
    seen = 0

    def count() -> int:
        nonlocal seen
        seen += 1
        return 0

    with before_each_call(patch, count):
        deed()
    return seen


def failing_at(
    patch: pytest.MonkeyPatch, number: int, code: int, deed: Callable[[], object]
) -> BaseException | None:
    """What `deed` raised when its n-th call failed with this errno; None when it did not."""
    seen = 0

    def fail() -> int:
        nonlocal seen
        seen += 1
        return code if seen == number else 0

    with before_each_call(patch, fail):
        try:
            deed()
        except Exception as error:  # noqa: BLE001 - the caller judges what came out
            return error
    return None


def killed_at(
    patch: pytest.MonkeyPatch, number: int, deed: Callable[[], object], *, after: bool
) -> bool:
    """Whether `deed` was acknowledged by a child that is killed before or after its n-th call."""
    answer, tell = os.pipe()
    child = os.fork()
    if child == 0:
        seen = 0

        def strike() -> int:
            nonlocal seen
            seen += 1
            if seen == number + after:
                os.kill(os.getpid(), signal.SIGKILL)
            return 0

        write = os.write
        try:
            with before_each_call(patch, strike):
                deed()
            write(tell, b"!")
        finally:
            os._exit(0)
    os.close(tell)
    os.waitpid(child, 0)
    with os.fdopen(answer, "rb") as pipe:
        return pipe.read() == b"!"


FULL_AND_BROKEN = (errno.ENOSPC, errno.EIO, errno.EDQUOT, errno.EROFS, errno.EMFILE)
