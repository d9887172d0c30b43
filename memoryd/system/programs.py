"""Runs a program of the user's, one that may use the network and hang: bounded on every side.

- It has a session and process group of its own, low priority, an empty folder that is removed
  afterwards, only the variables that it is given, and no terminal.
- What it prints is handed to `read` as it comes, which says whether it wants more; beyond the limit
  the program is ended. Of its errors the end is kept.
- At the deadline, when the caller is cancelled and when `read` says stop, the group gets SIGTERM
  and after five seconds SIGKILL. Whatever happens, nothing of the group is left.
- On Linux the program dies with the daemon.
"""

import os
import selectors
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, Literal, cast

import msgspec

from memoryd.system import launch
from memoryd.system.cancellation import stop_if_cancelled

CHECK_SECONDS: Final = 0.1
TERM_SECONDS: Final = 5.0
# How long a program that has printed everything may take to end by itself.
EXIT_SECONDS: Final = 5.0
EXIT_CHECK_SECONDS: Final = 0.02
CHUNK_BYTES: Final = 64 * 1024
ERROR_BYTES: Final = 8 * 1024

# `enough` lets the program end by itself, `stop` ends it at once.
ReaderWish = Literal["more", "enough", "stop"]
ProgramEnding = Literal["itself", "enough", "stop", "output-limit", "deadline"]
PipeState = Literal["more", "closed"]
OutputReader = Callable[[bytes], ReaderWish]


class ProgramEnd(msgspec.Struct, frozen=True):
    """`status` is negative for a signal; `errors` are the last bytes of standard error."""

    status: int
    errors: bytes
    ended: ProgramEnding

    @property
    def could_not_start(self) -> bool:
        return self.status == launch.CANNOT_START


class ProgramJob(msgspec.Struct, frozen=True):
    """`command` begins with an absolute path. `folders` are variables that name the own folder."""

    command: tuple[str, ...]
    env: Mapping[str, str]
    seconds: float
    output_limit_bytes: int
    stdin: bytes = b""
    folders: tuple[str, ...] = ("TMPDIR",)


def run_program(job: ProgramJob, read: OutputReader) -> ProgramEnd:
    """Runs it to its end; blocks. OSError if not even a process can be started."""
    with tempfile.TemporaryDirectory(prefix="memoryd-", ignore_cleanup_errors=True) as folder:
        env = {**job.env, **dict.fromkeys(job.folders, folder)}
        with _started(job.command, env, folder) as process:
            return _Talk(process, job, read).hold()


@contextmanager
def _started(
    command: Sequence[str], env: Mapping[str, str], folder: str
) -> Iterator[subprocess.Popen[bytes]]:
    launcher = [sys.executable, "-I", "-S", str(Path(launch.__file__)), str(os.getpid())]
    process = subprocess.Popen(  # noqa: S603 - a list of arguments, no shell
        [*launcher, *command],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        bufsize=0,
        cwd=folder,
        env=dict(env),
        start_new_session=True,
    )
    try:
        yield process
    finally:
        _end_group(process)
        for pipe in (process.stdin, process.stdout, process.stderr):
            if pipe:
                pipe.close()


def _end_group(process: subprocess.Popen[bytes]) -> None:
    """Ends the program and everything that it started."""
    if process.returncode is not None:
        return
    if not _has_exited(process):
        _signal_group(process, signal.SIGTERM)
        _await_exit(process, TERM_SECONDS)
    # Its children may live on. It was not waited for, so the group's number is still its own.
    _signal_group(process, signal.SIGKILL)
    process.wait()


def _await_exit(process: subprocess.Popen[bytes], seconds: float) -> None:
    ends_at = time.monotonic() + seconds
    while not _has_exited(process) and time.monotonic() < ends_at:
        time.sleep(EXIT_CHECK_SECONDS)


def _has_exited(process: subprocess.Popen[bytes]) -> bool:
    """Without waiting for it where the system can tell: a number is free once it was waited for."""
    if not hasattr(os, "waitid"):
        return process.poll() is not None
    flags = os.WEXITED | os.WNOHANG | os.WNOWAIT
    return os.waitid(os.P_PID, process.pid, flags) is not None


def _signal_group(process: subprocess.Popen[bytes], number: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)


class _Talk:
    """Feeds the program and reads it until one of the two has enough."""

    def __init__(
        self, process: subprocess.Popen[bytes], job: ProgramJob, read: OutputReader
    ) -> None:
        self._process = process
        self._read = read
        self._ends_at = time.monotonic() + job.seconds
        self._left_bytes = job.output_limit_bytes
        self._unwritten = memoryview(job.stdin)
        self._errors = bytearray()

    def hold(self) -> ProgramEnd:
        ended = self._exchange()
        if ended in {"itself", "enough"}:
            _await_exit(self._process, EXIT_SECONDS)
        _end_group(self._process)
        self._drain_errors()
        return ProgramEnd(self._process.returncode, bytes(self._errors), ended)

    def _exchange(self) -> ProgramEnding:
        stdin, stdout, stderr = self._process.stdin, self._process.stdout, self._process.stderr
        if stdin is None or stdout is None or stderr is None:
            raise AssertionError("a program is started with pipes")
        os.set_blocking(stdin.fileno(), False)
        with selectors.DefaultSelector() as pipes:
            pipes.register(stdin, selectors.EVENT_WRITE, self._write_some)
            pipes.register(stdout, selectors.EVENT_READ, self._hear)
            pipes.register(stderr, selectors.EVENT_READ, self._note_error)
            while time.monotonic() < self._ends_at:
                stop_if_cancelled()
                ready = pipes.select(CHECK_SECONDS)
                if not ready and _has_exited(self._process):
                    # What it printed between the two is still there; then only a child of it
                    # holds the pipe open.
                    ready = pipes.select(0)
                    if not ready:
                        return "itself"
                for key, _ in ready:
                    outcome = key.data(key.fd)
                    if outcome == "closed":
                        pipes.unregister(key.fileobj)
                        if key.fileobj is stdin:
                            stdin.close()
                    elif outcome != "more":
                        return cast("ProgramEnding", outcome)
        return "deadline"

    def _hear(self, handle: int) -> ProgramEnding | ReaderWish:
        piece = os.read(handle, CHUNK_BYTES)
        self._left_bytes -= len(piece)
        if not piece:
            return "itself"
        return "output-limit" if self._left_bytes < 0 else self._read(piece)

    def _note_error(self, handle: int) -> PipeState:
        piece = os.read(handle, CHUNK_BYTES)
        self._errors = (self._errors + piece)[-ERROR_BYTES:]
        return "more" if piece else "closed"

    def _drain_errors(self) -> None:
        """What it said last, when its output had ended before its errors."""
        if self._process.stderr is None:
            return
        handle = self._process.stderr.fileno()
        os.set_blocking(handle, False)
        with suppress(BlockingIOError):  # somebody outside the group has it open
            while self._note_error(handle) == "more":
                pass

    def _write_some(self, handle: int) -> PipeState:
        try:
            self._unwritten = self._unwritten[os.write(handle, self._unwritten) :]
        except BlockingIOError:
            return "more"
        except BrokenPipeError:
            return "closed"
        return "more" if self._unwritten else "closed"
