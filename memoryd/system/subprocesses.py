"""Child processes on a short lead: no shell, no terminal, no environment, and always an end.

- A child starts behind a fence, and in a session of its own, so that what it starts ends with it.
- What it is fed and what it prints pass through pipes; output beyond the limit is never kept. At
  its deadline, or when nobody waits for it any more, it is killed, however busy it is.
- A child outlives a killed daemon by no more than the processor time that it was allowed.
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

# Times are told in UTC, as in everything else that a model reads.
ENVIRONMENT: Final = {"LC_ALL": "C.UTF-8", "TZ": "UTC", "PATH": "/usr/bin:/bin"}
EXIT_SECONDS: Final = 1.0
LOOK_UP_SECONDS: Final = 0.1

ProcessEnding = Literal["itself", "output-limit", "deadline"]


class Finished(msgspec.Struct, frozen=True):
    """What a child printed, and whether it came to its own end."""

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
    """Runs a program given by its absolute path; OSError when it cannot be started."""
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
    """A running child, with a thread that waits to kill it."""

    def __init__(self, process: subprocess.Popen[bytes], seconds: float) -> None:
        self._process = process
        self.is_late = False
        if hasattr(resource, "prlimit"):
            # It may have ended already, or a filter may forbid to ask.
            with suppress(OSError):
                allowed = int(seconds) + 1
                resource.prlimit(process.pid, resource.RLIMIT_CPU, (allowed, allowed))
        self._timer = threading.Timer(seconds, self._is_over)
        self._timer.start()

    def talk(self, feed: Iterable[bytes], limit_bytes: int) -> bytes:
        """What it prints until it ends, is killed, or has said as much as is wanted."""
        stdin, stdout = self._process.stdin, self._process.stdout
        if stdin is None or stdout is None:
            raise AssertionError("a child is started with pipes")
        os.set_blocking(stdin.fileno(), False)
        words, output = _Words(feed), bytearray()
        with selectors.DefaultSelector() as pipes:
            pipes.register(stdin, selectors.EVENT_WRITE)
            pipes.register(stdout, selectors.EVENT_READ)
            while len(output) < limit_bytes:
                stop_if_cancelled()
                for key, _ in pipes.select(LOOK_UP_SECONDS):
                    if key.fileobj is stdin:
                        if not words.go_on(stdin.fileno()):
                            pipes.unregister(stdin)
                            stdin.close()
                    elif piece := os.read(stdout.fileno(), limit_bytes - len(output)):
                        output += piece
                    else:
                        return bytes(output)
        return bytes(output)

    def end(self, *, at_once: bool) -> int:
        """Its status, when it and the thread beside it are gone."""
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

    def _is_over(self) -> None:
        self.is_late = True
        self._kill()

    def _kill(self) -> None:
        # Never after a wait: until then the number cannot belong to anybody else.
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)


class _Words:
    """What a child is fed, as much at a time as its pipe takes."""

    def __init__(self, feed: Iterable[bytes]) -> None:
        self._feed = iter(feed)
        self._unsaid = memoryview(b"")

    def go_on(self, handle: int) -> bool:
        """False when all is said, or when the child has heard enough or was killed."""
        while not self._unsaid:
            piece = next(self._feed, None)
            if piece is None:
                return False
            self._unsaid = memoryview(piece)
        try:
            self._unsaid = self._unsaid[os.write(handle, self._unsaid) :]
        except BlockingIOError:
            pass
        except BrokenPipeError:
            return False
        return True
