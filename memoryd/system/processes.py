"""Other processes of this machine: whether one is alive, and when it started.

PIDs are reused, so only PID and start time together identify a process.
"""

import os
import subprocess
import time
from pathlib import Path


def process_is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def start_ticks(pid: int) -> int | None:
    """When the process started, in clock ticks since boot; None where `/proc` does not say."""
    try:
        # The second field is the program's name in parentheses, which may itself contain any.
        fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
        return int(fields[19])
    except (OSError, IndexError, ValueError):
        return None


def process_started(pid: int) -> float | None:
    """When the process started, in seconds since the epoch; None if unknown."""
    ticks = start_ticks(pid)
    if ticks is None:
        return _started_by_ps(pid)
    boot = time.time() - time.clock_gettime(time.CLOCK_BOOTTIME)
    return boot + ticks / os.sysconf("SC_CLK_TCK")


def _started_by_ps(pid: int) -> float | None:
    try:
        done = subprocess.run(  # noqa: S603 - a fixed program and a number
            ["/bin/ps", "-p", str(pid), "-o", "lstart="],
            capture_output=True,
            text=True,
            timeout=2,
            check=True,
            env={"LC_ALL": "C"},
        )
        return time.mktime(time.strptime(done.stdout.strip(), "%a %b %d %H:%M:%S %Y"))
    except (OSError, ValueError, subprocess.SubprocessError):
        return None
