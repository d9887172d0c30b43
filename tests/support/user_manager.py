"""A real `systemd --user` for tests, in namespaces of its own, as an ordinary user with a home.

Nothing of it is visible outside, and nothing is left when it ends: mounts, processes and sockets go
with the namespaces, and the one cgroup that it needs is removed. It takes root and a cgroup2
hierarchy to set up, so `why_not` says whether this machine can do it.
"""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

UID = 12340
HOME = "/home/person"
RUNTIME = f"/run/user/{UID}"
ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = ("systemd", "systemctl", "unshare", "nsenter", "setpriv", "mount")
ENVIRON = {
    "PATH": "/usr/bin:/bin:/usr/sbin:/sbin",
    "HOME": HOME,
    "USER": "person",
    "LANG": "C.UTF-8",
    "XDG_RUNTIME_DIR": RUNTIME,
}

# What the manager needs to see of a booted system, and what the tests need of this one: homes that
# hide the checkout or the interpreter are replaced by empty ones, with just those put back.
SET_UP = """
set -e
mount -t tmpfs -o mode=755 tmpfs /run
mkdir -p /run/systemd/system /run/systemd/unit-root /run/hold $RUNTIME
number=0
for path in "$@"; do
  number=$((number + 1)); mkdir /run/hold/$number; mount --bind "$path" /run/hold/$number
done
mount -t tmpfs -o mode=755 tmpfs /home
mount -t tmpfs -o mode=755 tmpfs /root
number=0
for path in "$@"; do
  number=$((number + 1)); mkdir -p "$path"; mount --move /run/hold/$number "$path"
done
mkdir -p $HOME
chown $PERSON:$PERSON $HOME $RUNTIME
chmod 700 $HOME $RUNTIME
echo $$ > $CGROUP/cgroup.procs
exec unshare --cgroup sh -c '
  umount -l /sys/fs/cgroup
  mount -t cgroup2 cgroup2 /sys/fs/cgroup
  exec setpriv --reuid $PERSON --regid $PERSON --clear-groups --inh-caps=-all \
    sh -c "systemd --user --log-target=console --log-level=warning & wait"
'
"""


def why_not() -> str | None:
    """Why this machine cannot run a user manager of its own, or None when it can."""
    if sys.platform != "linux":
        return "there is no systemd on this system"
    if os.getuid() != 0:
        return "only root can set up the namespaces for a user manager"
    missing = [name for name in PROGRAMS if shutil.which(name) is None]
    if missing:
        return f"{', '.join(missing)} not installed"
    if cgroup_root() is None:
        return "no cgroup2 hierarchy is mounted"
    trial = ["unshare", "--mount", "--pid", "--fork", "true"]
    done = subprocess.run(trial, check=False, capture_output=True)
    return None if done.returncode == 0 else "namespaces are not allowed here"


def cgroup_root() -> Path | None:
    for line in Path("/proc/self/mounts").read_text(encoding="utf-8").splitlines():
        _, folder, kind, *_ = line.split()
        if kind == "cgroup2" and os.access(folder, os.W_OK):
            return Path(folder)
    return None


def kept_paths() -> list[str]:
    """The folders below a home that the tests need."""
    needed = {str(ROOT), sys.prefix, sys.base_prefix}
    return sorted(path for path in needed if path.startswith(("/home/", "/root/")))


class CannotStart(Exception):
    """This machine lets a manager begin but not come up; the text says what it complained about."""


class UserManager:
    """Runs while the context is open; `run` does things as its user."""

    def __enter__(self) -> Self:
        root = cgroup_root()
        assert root is not None
        self._cgroup = root / f"memoryd-test-{os.getpid()}"
        self._cgroup.mkdir()
        for path in (self._cgroup, *self._cgroup.glob("cgroup.[pst]*")):
            os.chown(path, UID, UID)
        environ = ENVIRON | {"PERSON": str(UID), "RUNTIME": RUNTIME, "CGROUP": str(self._cgroup)}
        self._complaints = tempfile.TemporaryFile()
        namespaces = ("--mount", "--pid", "--ipc", "--mount-proc", "--propagation", "private")
        self._process = subprocess.Popen(
            ["unshare", *namespaces, "--fork", "sh", "-c", SET_UP, "-", *kept_paths()],
            env=environ,
            stderr=self._complaints,
        )
        try:
            self._wait_until_it_runs()
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._end()

    def run(
        self, *command: str, environ: dict[str, str] | None = None, timeout_seconds: float = 60
    ) -> subprocess.CompletedProcess[str]:
        """Runs a command as the manager's user."""
        return subprocess.run(
            [*self._way_in(), *command],
            env=ENVIRON | (environ or {}),
            capture_output=True,
            text=True,
            timeout=timeout_seconds,
            check=False,
        )

    def systemctl(self, *words: str) -> str:
        return self.run("systemctl", "--user", *words).stdout.strip()

    def read(self, path: str) -> str:
        return self.run("cat", path).stdout

    def _first_process(self) -> str:
        children = Path(f"/proc/{self._process.pid}/task/{self._process.pid}/children")
        return children.read_text(encoding="ascii").split()[0]

    def _way_in(self) -> Sequence[str]:
        first = self._first_process()
        enter = ("nsenter", "--target", first, "--mount", "--pid", "--ipc", "--cgroup", "--wd=/")
        person = ("--reuid", str(UID), "--regid", str(UID), "--clear-groups", "--inh-caps=-all")
        return (*enter, "setpriv", *person)

    def _wait_until_it_runs(self) -> None:
        deadline = time.monotonic() + 20
        while self._process.poll() is None and time.monotonic() < deadline:
            try:
                if self.systemctl("is-system-running", "--wait") in {"running", "degraded"}:
                    return
            except (OSError, IndexError):
                pass  # its first process is not there yet
            time.sleep(0.05)
        self._complaints.seek(0)
        said = self._complaints.read().decode("utf-8", "replace").strip()
        raise CannotStart(f"a user manager does not come up here: {said or 'no reason given'}")

    def _end(self) -> None:
        # The end of its first process is the end of a PID namespace, and everything in it.
        with suppress(OSError, IndexError):
            os.kill(int(self._first_process()), signal.SIGKILL)
        self._process.kill()
        self._process.wait(60)
        self._complaints.close()
        deadline = time.monotonic() + 10
        folders = sorted(self._cgroup.rglob("*/"), reverse=True)
        for folder in (*folders, self._cgroup):
            while folder.exists() and time.monotonic() < deadline:
                try:
                    folder.rmdir()
                except OSError:  # the kernel needs a moment to remove killed processes
                    time.sleep(0.02)
