"""Faults in the system calls of a writer: fail the n-th call, or kill the process there."""

import ctypes
import errno
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from memoryd.system import beneath, folder

CALLS = ("open", "write", "fsync", "rename", "unlink", "mkdir", "fchmod", "stat", "dup", "read")


class FaultyLibc:
    """libc as system/folder.py and beneath.py use it, with a callback before each call."""

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
    """Runs `act` before each system call of a save; an errno that it returns becomes the result."""

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
        for module in (beneath, folder):
            inner.setattr(module, "_libc", FaultyLibc(module._libc, act))
        yield


def count_calls(patch: pytest.MonkeyPatch, action: Callable[[], object]) -> int:
    seen = 0

    def count() -> int:
        nonlocal seen
        seen += 1
        return 0

    with before_each_call(patch, count):
        action()
    return seen


def failing_at(
    patch: pytest.MonkeyPatch, number: int, code: int, action: Callable[[], object]
) -> BaseException | None:
    """What `action` raised when its n-th call failed with this errno; None if it did not raise."""
    seen = 0

    def fail() -> int:
        nonlocal seen
        seen += 1
        return code if seen == number else 0

    with before_each_call(patch, fail):
        try:
            action()
        except Exception as error:  # noqa: BLE001 - the caller checks what came out
            return error
    return None


def killed_at(
    patch: pytest.MonkeyPatch, number: int, action: Callable[[], object], *, after: bool
) -> bool:
    """Whether `action` finished in a child that is killed before or after its n-th call."""
    answer, report = os.pipe()
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
                action()
            write(report, b"!")
        finally:
            os._exit(0)
    os.close(report)
    os.waitpid(child, 0)
    with os.fdopen(answer, "rb") as pipe:
        return pipe.read() == b"!"


FULL_AND_BROKEN = (errno.ENOSPC, errno.EIO, errno.EDQUOT, errno.EROFS, errno.EMFILE)
