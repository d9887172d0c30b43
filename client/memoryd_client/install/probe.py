"""Tries from inside a unit what its fences should forbid, and reports which of them hold.

A system may silently ignore a directive; only an attempt from the inside shows that. Runs as a
plain file: `python -I -S -E probe.py HOME CLAUDE STATE`. Prints one line for each attempt: `up`,
`down` or `untried`, a tab, and its name.
"""

import ctypes
import errno
import mmap
import os
import socket
import sys
from pathlib import Path

# The same numbers on every architecture.
OPENAT2, LANDLOCK_CREATE_RULESET = 437, 444
LANDLOCK_ASK_VERSION = 1
WRITES = "memories and state can be written"
# What the unit hides in the home; the first that exists is tried.
KEYS = (".ssh", ".gnupg", ".aws", ".kube", ".docker", ".netrc", ".git-credentials")


def can_write(folder: Path) -> bool:
    path = folder / f".memoryd-probe-{os.getpid()}"
    try:
        path.touch(0o600, exist_ok=False)
    except OSError:
        return False
    path.unlink()
    return True


def can_read_keys(home: Path) -> bool | None:
    """None when there is nothing to try it with."""
    found = [home / name for name in KEYS if os.path.lexists(home / name)]
    return os.access(found[0], os.R_OK) if found else None


def can_run_written_memory() -> bool:
    protection = mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC
    try:
        mmap.mmap(-1, mmap.PAGESIZE, prot=protection).close()
    except OSError:
        return False
    return True


def can_reach_manager() -> bool:
    """Whether the user manager can be reached: it could start anything without these fences."""
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.settimeout(1)
    try:
        connection.connect(f"{os.environ['XDG_RUNTIME_DIR']}/systemd/private")
    except OSError:
        return False
    finally:
        connection.close()
    return True


def can_use_landlock() -> bool | None:
    """Whether the filter allows Landlock; None where the kernel has none."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.syscall(LANDLOCK_CREATE_RULESET, None, 0, LANDLOCK_ASK_VERSION) > 0:
        return True
    return None if ctypes.get_errno() in {errno.ENOSYS, errno.EOPNOTSUPP} else False


def can_use_openat2() -> bool | None:
    """Whether the filter allows openat2, which confines paths to a folder; None if too old."""
    libc = ctypes.CDLL(None, use_errno=True)
    how = (ctypes.c_uint64 * 3)(os.O_PATH, 0, 0)
    opened = libc.syscall(OPENAT2, -100, b"/", how, ctypes.sizeof(how))
    if opened < 0:
        is_old = os.uname().release.startswith(
            ("3.", "4.", "5.0", "5.1.", "5.2.", "5.3.", "5.4.", "5.5.")
        )
        return None if is_old else False
    os.close(opened)
    return True


def is_set(field: str, value: str) -> bool:
    """Whether the kernel reports this value for this process."""
    lines = Path("/proc/self/status").read_text(encoding="utf-8", errors="replace").splitlines()
    return f"{field}:\t{value}" in lines


def verdicts(home: Path, claude: Path, state: Path) -> dict[str, bool | None]:
    """Whether each fence holds, by name; None if it could not be tried."""
    keys = can_read_keys(home)
    return {
        WRITES: can_write(claude) and can_write(state),
        "the daemon can restrict itself with Landlock": can_use_landlock(),
        "the daemon can confine paths to a folder (openat2)": can_use_openat2(),
        "the rest of the home is read-only": not can_write(home),
        "the shared /tmp is read-only": not can_write(Path("/tmp")),  # noqa: S108 - the shared folder is what is tried
        "keys and logins are hidden": None if keys is None else not keys,
        "the user manager cannot be reached": not can_reach_manager(),
        "no new privileges": is_set("NoNewPrivs", "1"),
        "system calls are filtered": is_set("Seccomp", "2"),
        "writable memory cannot be executed": not can_run_written_memory(),
    }


def main() -> None:
    words = {True: "up", False: "down", None: "untried"}
    for name, holds in verdicts(*map(Path, sys.argv[1:4])).items():
        print(f"{words[holds]}\t{name}")


if __name__ == "__main__":
    main()
