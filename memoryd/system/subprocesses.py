"""Child processes under tight control: no shell, no terminal, no environment, and a deadline.

- A child starts behind a fence, and in its own session, so that its own children end with it.
- Input and output go through pipes; output beyond the limit is dropped. At the deadline, or when
  the caller is cancelled, the child is killed.
- If the daemon itself is killed, a CPU limit ends the child. Its memory is limited too:
  a pattern can make a search tool take gigabytes.
"""

import os
import resource
import selectors
import signal
import subprocess
import threading
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Final, Literal

import msgspec

from memoryd.system.cancellation import stop_if_cancelled
from memoryd.system.landlock import Fence, run_fenced

# Times are in UTC, as in everything else that a model reads.
ENVIRONMENT: Final = {"LC_ALL": "C.UTF-8", "TZ": "UTC", "PATH": "/usr/bin:/bin"}
EXIT_SECONDS: Final = 1.0
CHECK_SECONDS: Final = 0.1
MEMORY_LIMIT_BYTES: Final = 512 * 1024 * 1024

ProcessEnding = Literal["itself", "output-limit", "deadline"]


class Finished(msgspec.Struct, frozen=True):
    """What a child printed, and how it ended."""

    output: bytes
    status: int
    ended: ProcessEnding


def run_child(
    command: Sequence[str],
    *,
    fence: Fence,
    cwd: str,
    seconds: float,
    output_limit_bytes: int,
    feed: Iterable[bytes] = (),
) -> Finished:
    """Runs a program, given by its absolute path; OSError if it cannot be started."""
    child = _Child(run_fenced(fence, lambda: _started(command, cwd)), seconds)
    try:
        output = child.talk(feed, output_limit_bytes + 1)
    except BaseException:
        child.end(at_once=True)
        raise
    is_cut = len(output) > output_limit_bytes
    status = child.end(at_once=is_cut)
    ended: ProcessEnding = "deadline" if child.is_late else "output-limit" if is_cut else "itself"
    return Finished(output[:output_limit_bytes], status, ended)


def _started(command: Sequence[str], cwd: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(  # noqa: S603 - a list of arguments, a fixed program, no shell
        list(command),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        bufsize=0,
        cwd=cwd,
        env=ENVIRONMENT,
        start_new_session=True,
    )


class _Child:
    """A running child, with a timer thread that kills it at the deadline."""

    def __init__(self, process: subprocess.Popen[bytes], seconds: float) -> None:
        self._process = process
        self.is_late = False
        if hasattr(resource, "prlimit"):
            # It may have ended already, or a filter may forbid the call.
            with suppress(OSError):
                allowed = int(seconds) + 1
                resource.prlimit(process.pid, resource.RLIMIT_CPU, (allowed, allowed))
                memory = (MEMORY_LIMIT_BYTES, MEMORY_LIMIT_BYTES)
                resource.prlimit(process.pid, resource.RLIMIT_AS, memory)
        self._timer = threading.Timer(seconds, self._time_out)
        self._timer.start()

    def talk(self, feed: Iterable[bytes], limit_bytes: int) -> bytes:
        """Its output until it ends, is killed, or reaches the limit."""
        stdin, stdout = self._process.stdin, self._process.stdout
        if stdin is None or stdout is None:
            raise AssertionError("a child is started with pipes")
        os.set_blocking(stdin.fileno(), False)
        pending, output = _PendingInput(feed), bytearray()
        with selectors.DefaultSelector() as pipes:
            pipes.register(stdin, selectors.EVENT_WRITE)
            pipes.register(stdout, selectors.EVENT_READ)
            while len(output) < limit_bytes:
                stop_if_cancelled()
                for key, _ in pipes.select(CHECK_SECONDS):
                    if key.fileobj is stdin:
                        if not pending.write_some(stdin.fileno()):
                            pipes.unregister(stdin)
                            stdin.close()
                    elif piece := os.read(stdout.fileno(), limit_bytes - len(output)):
                        output += piece
                    else:
                        return bytes(output)
        return bytes(output)

    def end(self, *, at_once: bool) -> int:
        """Its exit status, once it and the timer thread are gone."""
        self._timer.cancel()
        self._timer.join()
        if at_once:
            self._kill()
        try:
            status = self._process.wait(EXIT_SECONDS)
        except subprocess.TimeoutExpired:
            self._kill()
            status = self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe:
                pipe.close()
        return status

    def _time_out(self) -> None:
        self.is_late = True
        self._kill()

    def _kill(self) -> None:
        # Never after a wait: only until then the PID cannot belong to another process.
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)


class _PendingInput:
    """What a child still has to be fed, written as its pipe takes it."""

    def __init__(self, feed: Iterable[bytes]) -> None:
        self._feed = iter(feed)
        self._unwritten = memoryview(b"")

    def write_some(self, handle: int) -> bool:
        """False when everything is written, or when the child closed its end."""
        while not self._unwritten:
            piece = next(self._feed, None)
            if piece is None:
                return False
            self._unwritten = memoryview(piece)
        try:
            self._unwritten = self._unwritten[os.write(handle, self._unwritten) :]
        except BlockingIOError:
            pass
        except BrokenPipeError:
            return False
        return True
