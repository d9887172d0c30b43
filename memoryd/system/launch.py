"""Becomes another program that yields to everything else and ends with the daemon.

Run as a script, `python -I -S launch.py PARENT PROGRAM ARGUMENT...`: what has to happen between
fork and exec must not happen in a daemon with many threads. The parent's death ends the program on
Linux only; elsewhere its deadline does, if the daemon is there to keep it.
"""

import os
import sys
from contextlib import suppress

PR_SET_PDEATHSIG = 1
SIGKILL = 9
NICE = 10
CANNOT_START = 127


def main(parent: int, command: list[str]) -> None:
    with suppress(OSError):  # the service's own fences may forbid it
        os.nice(NICE)
    if sys.platform == "linux":
        import ctypes  # noqa: PLC0415 - only Linux has the call

        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0)
        if os.getppid() != parent:  # it died before the call
            return
    try:
        os.execv(command[0], command)  # noqa: S606 - without a shell, which is the point
    except OSError as error:
        sys.stderr.write(f"{command[0]}: {error.strerror}\n")
        sys.exit(CANNOT_START)


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2:])
