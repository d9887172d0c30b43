"""Tries from inside a unit what its fences should refuse, and says which of them hold.

A score that rates directives on paper is blind to those that a system silently ignores; an attempt
from the inside is not. Runs as a plain file: `python -I -S -E probe.py HOME CLAUDE STATE`. Prints
one line for each thing tried: `up`, `down` or `untried`, a tab, and its name.
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
# Of what the unit hides in the home, the first that exists is tried.
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
    """None when there are no keys to try it with."""
    there = [home / name for name in KEYS if os.path.lexists(home / name)]
    return os.access(there[0], os.R_OK) if there else None


def can_run_written_memory() -> bool:
    protection = mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC
    try:
        mmap.mmap(-1, mmap.PAGESIZE, prot=protection).close()
    except OSError:
        return False
    return True


def can_reach_manager() -> bool:
    """Whether the user manager listens to us; it would start anything without these fences."""
    line = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    line.settimeout(1)
    try:
        line.connect(f"{os.environ['XDG_RUNTIME_DIR']}/systemd/private")
    except OSError:
        return False
    finally:
        line.close()
    return True


def can_use_landlock() -> bool | None:
    """Whether the filter lets the daemon fence itself; None where the kernel has no Landlock."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.syscall(LANDLOCK_CREATE_RULESET, None, 0, LANDLOCK_ASK_VERSION) > 0:
        return True
    return None if ctypes.get_errno() in {errno.ENOSYS, errno.EOPNOTSUPP} else False


def can_use_openat2() -> bool | None:
    """Whether the filter lets the daemon hold a path beneath its folder; None for an old kernel."""
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
    """Whether the kernel's own account of this process has this value."""
    lines = Path("/proc/self/status").read_text(encoding="utf-8", errors="replace").splitlines()
    return f"{field}:\t{value}" in lines


def verdicts(home: Path, claude: Path, state: Path) -> dict[str, bool | None]:
    """What holds, by name; None is what could not be tried."""
    keys = can_read_keys(home)
    return {
        WRITES: can_write(claude) and can_write(state),
        "the daemon can fence itself with Landlock": can_use_landlock(),
        "the daemon can open paths beneath a folder alone": can_use_openat2(),
        "the rest of the home is read-only": not can_write(home),
        "temporary files of others are read-only": not can_write(Path("/tmp")),  # noqa: S108 - the place is the question
        "keys and logins are hidden": None if keys is None else not keys,
        "the user manager is out of reach": not can_reach_manager(),
        "no new privileges": is_set("NoNewPrivs", "1"),
        "system calls are filtered": is_set("Seccomp", "2"),
        "written memory cannot be run": not can_run_written_memory(),
    }


def main() -> None:
    words = {True: "up", False: "down", None: "untried"}
    for name, holds in verdicts(*map(Path, sys.argv[1:4])).items():
        print(f"{words[holds]}\t{name}")


if __name__ == "__main__":
    main()
