"""Child processes on a short lead: no shell, no terminal, no environment, and always an end.

- A child starts behind a fence, and in a session of its own, so that what it starts ends with it.
- What it is fed and what it prints pass through pipes; output beyond the limit is never kept. At
  its deadline it is killed, however busy it is.
- A child outlives a killed daemon by no more than the processor time that it was allowed.
"""

import os
import resource
import signal
import subprocess
import threading
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Final, Literal

import msgspec

from memoryd.fence import Fence, run_fenced

# Times are told in UTC, as in everything else that a model reads.
ENVIRONMENT: Final = {"LC_ALL": "C.UTF-8", "TZ": "UTC", "PATH": "/usr/bin:/bin"}
EXIT_SECONDS: Final = 1.0

Ended = Literal["itself", "output-limit", "deadline"]


class Finished(msgspec.Struct, frozen=True):
    """What a child printed, and whether it came to its own end."""

    output: bytes
    status: int
    ended: Ended


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
    child = _Child(run_fenced(fence, lambda: _started(command, cwd)), seconds, feed)
    output = child.read(output_limit_bytes + 1)
    is_cut = len(output) > output_limit_bytes
    status = child.end(at_once=is_cut)
    ended: Ended = "deadline" if child.is_late else "output-limit" if is_cut else "itself"
    return Finished(output[:output_limit_bytes], status, ended)


def _started(command: Sequence[str], cwd: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(  # noqa: S603 - a list of arguments, a fixed program, no shell
        list(command),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        cwd=cwd,
        env=ENVIRONMENT,
        start_new_session=True,
    )


class _Child:
    """A running child with one thread that feeds it and one that waits to kill it."""

    def __init__(
        self, process: subprocess.Popen[bytes], seconds: float, feed: Iterable[bytes]
    ) -> None:
        self._process = process
        self._failures: list[BaseException] = []
        self.is_late = False
        if hasattr(resource, "prlimit"):
            # It may have ended already, or a filter may forbid to ask.
            with suppress(OSError):
                allowed = int(seconds) + 1
                resource.prlimit(process.pid, resource.RLIMIT_CPU, (allowed, allowed))
        self._timer = threading.Timer(seconds, self._is_over)
        self._feeder = threading.Thread(target=self._feed, args=(feed,), name="feeder")
        self._timer.start()
        self._feeder.start()

    def read(self, limit_bytes: int) -> bytes:
        """What it prints until it ends, is killed, or has said as much as is wanted."""
        stdout = self._process.stdout
        return stdout.read(limit_bytes) if stdout else b""

    def end(self, *, at_once: bool) -> int:
        """Its status, when it and the threads round it are gone; raises what the feed raised."""
        self._timer.cancel()
        self._timer.join()
        if at_once:
            self._kill()
        try:
            status = self._process.wait(EXIT_SECONDS)
        except subprocess.TimeoutExpired:
            self._kill()
            status = self._process.wait()
        self._feeder.join()
        if self._process.stdout:
            self._process.stdout.close()
        if self._failures:
            raise self._failures[0]
        return status

    def _is_over(self) -> None:
        self.is_late = True
        self._kill()

    def _kill(self) -> None:
        # Never after a wait: until then the number cannot belong to anybody else.
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)

    def _feed(self, feed: Iterable[bytes]) -> None:
        stdin = self._process.stdin
        try:
            for piece in feed:
                if stdin:
                    stdin.write(piece)
        except BrokenPipeError:
            pass  # it has heard enough, or was killed
        except BaseException as error:  # noqa: BLE001 - raised again by `end`
            self._failures.append(error)
        finally:
            if stdin:
                with suppress(BrokenPipeError):
                    stdin.close()
