"""Finds blocking calls that run on the thread of an event loop, and who made them.

While a `BlockingDetector` is installed, every call that can wait for the disk, a lock, another
process or an import is checked: on a thread whose event loop is running it is reported with the
frames of this checkout that led to it; on any other thread nothing happens.

- Calls are recognised by name in the module that has them (`os.stat`), so code that keeps its own
  reference (`from os import stat`) is not seen. The daemon calls them through their modules.
- Locks in C (`threading.Lock`) cannot be wrapped; waiting for another thread by `Condition`,
  `Event` or `join` is seen.
- Work that only computes is not seen.
- Of calls that lead to other blocking calls only the outermost is reported.
"""

import asyncio
import builtins
import fcntl
import functools
import importlib.machinery
import io
import os
import socket
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from types import FrameType
from typing import Any, Final, Self
from unittest import mock

import msgspec

from memoryd.system import beneath, folder
from memoryd.system.database import Database
from tests.support.running import ROOT

OF_OS: Final = (
    "access", "chmod", "fdatasync", "fork", "fsync", "ftruncate", "link", "listdir", "lstat",
    "mkdir", "open", "posix_spawn", "pread", "pwrite", "read", "readlink", "remove", "rename",
    "replace", "rmdir", "scandir", "stat", "statvfs", "symlink", "truncate", "unlink", "utime",
    "waitpid", "write",
)  # fmt: skip
# The owner of a call, its name there, and how it is reported.
CALLS: Final[tuple[tuple[Any, str, str], ...]] = (
    *((os, name, f"os.{name}") for name in OF_OS),
    (builtins, "open", "open"),
    (io, "open", "open"),
    (time, "sleep", "time.sleep"),
    (subprocess.Popen, "__init__", "subprocess.Popen"),
    (fcntl, "flock", "fcntl.flock"),
    (fcntl, "lockf", "fcntl.lockf"),
    (socket, "getaddrinfo", "socket.getaddrinfo"),
    (socket, "create_connection", "socket.create_connection"),
    (threading.Thread, "join", "Thread.join"),
    (threading.Condition, "wait", "Condition.wait"),
    (sqlite3, "connect", "sqlite3.connect"),
    (Database, "run", "Database.run"),
    (Database, "run_many", "Database.run_many"),
    (Database, "transaction", "Database.transaction"),
    (importlib.machinery.SourceFileLoader, "exec_module", "import"),
    (importlib.machinery.ExtensionFileLoader, "create_module", "import"),
)
_HERE: Final = __file__
_INSTALLED: Final = f"{os.sep}site-packages{os.sep}"


class BlockingCall(msgspec.Struct, frozen=True):
    """One call; `frames` are those of the checkout between the event loop and it."""

    call: str
    about: str
    frames: tuple[str, ...]

    @property
    def place(self) -> str:
        """Which call, and the function that made it."""
        return f"{self.call} in {self.frames[-1]}"


class BlockingDetector:
    """Reports blocking calls while the context is open."""

    def __init__(self, report: Callable[[BlockingCall], object]) -> None:
        self._report = report
        self._inside = threading.local()
        self._patches = ExitStack()

    def __enter__(self) -> Self:
        with ExitStack() as patches:
            for owner, name, shown in CALLS:
                watched = self._watched(getattr(owner, name), shown)
                patches.enter_context(mock.patch.object(owner, name, watched))
            for module in (beneath, folder):
                libc = _WatchedLibrary(module._libc, self._watched)
                patches.enter_context(mock.patch.object(module, "_libc", libc))
            self._patches = patches.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._patches.close()

    def _watched(self, real: Callable[..., Any], shown: str) -> Callable[..., Any]:
        @functools.wraps(real)
        def call(*arguments: Any, **named: Any) -> Any:
            if asyncio._get_running_loop() is None or getattr(self._inside, "is_one", False):
                return real(*arguments, **named)
            self._inside.is_one = True
            try:
                if not (shown == "Condition.wait" and _is_over_at_once(*arguments[1:], **named)):
                    self._look(shown, arguments)
                return real(*arguments, **named)
            finally:
                self._inside.is_one = False

        return call

    def _look(self, shown: str, arguments: tuple[Any, ...]) -> None:
        caller = sys._getframe(2)
        frames = tuple(reversed(list(_frames_of_the_checkout(caller))))
        if frames and not _starts_a_thread(caller):
            self._report(BlockingCall(shown, _about(arguments), frames))


class _WatchedLibrary:
    """libc as system/folder.py and beneath.py call it."""

    def __init__(self, real: Any, watched: Callable[[Callable[..., Any], str], Any]) -> None:
        self._real = real
        self._watched = watched

    def __getattr__(self, name: str) -> Any:
        return self._watched(getattr(self._real, name), f"libc.{name}")


def _frames_of_the_checkout(frame: FrameType | None) -> Iterator[str]:
    """From the caller down to the event loop; what other packages do for themselves has none."""
    while frame is not None and frame.f_code.co_name != "_run_once":
        file = frame.f_code.co_filename
        if file.startswith(f"{ROOT}{os.sep}") and _INSTALLED not in file and file != _HERE:
            yield f"{os.path.relpath(file, ROOT)} {frame.f_code.co_qualname}"
        frame = frame.f_back


def _is_over_at_once(timeout: float | None = None) -> bool:
    return timeout is not None and timeout <= 0


def _starts_a_thread(frame: FrameType | None) -> bool:
    """A new thread is waited for until it runs, which every worker thread needs once."""
    while frame is not None and frame.f_code.co_filename == threading.__file__:
        if frame.f_code is threading.Thread.start.__code__:
            return True
        frame = frame.f_back
    return False


def _about(arguments: tuple[Any, ...]) -> str:
    """The first argument that says something: a path, a statement, a command, a module."""
    told = (str(one) for one in arguments if isinstance(one, str | bytes | os.PathLike | list))
    modules = (one.__name__ for one in arguments if hasattr(one, "__spec__"))
    return next(iter((*told, *modules)), "")[:200]
