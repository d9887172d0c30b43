"""What the checks of faults share: a daemon to break, and a list of what should not have been."""

import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from memoryd.base import paths
from tests.support.running import Daemon, Peer, make_home

PATIENCE_SECONDS = 120.0
BODY = "Integration tests talk to a real database, because a mock hid a broken migration.\n"


class Ground:
    """A home with one project, and the daemon that serves it."""

    def __init__(self, folder: Path, **env: str) -> None:
        self.home = make_home(folder)
        self.cwd = str(self.home / "app")
        Path(self.cwd).mkdir()
        self.state = self.home / ".local/state/memoryd"
        self.memory = self.home / ".claude/projects" / paths.slug(self.cwd) / "memory"
        self.daemon = Daemon(self.home, **env)

    @contextmanager
    def serving(self) -> Iterator[Peer]:
        """The daemon runs inside, and is ended afterwards whatever happened."""
        self.daemon.start()
        try:
            with self.daemon.peer() as peer:
                yield peer
        finally:
            self.daemon.end()

    @property
    def pid(self) -> int:
        assert self.daemon.process is not None
        return self.daemon.process.pid

    @property
    def is_alive(self) -> bool:
        return self.daemon.process is not None and self.daemon.process.poll() is None

    def save(self, peer: Peer, name: str, body: str = BODY) -> Any:
        """The whole answer, an error as well."""
        given = {"name": name, "description": f"about {name}", "type": "project", "body": body}
        return peer.ask("memory/save", cwd=self.cwd, **given)

    def write(self, name: str, body: str = BODY) -> Path:
        """A memory that another program wrote."""
        self.memory.mkdir(parents=True, exist_ok=True)
        path = self.memory / f"project_{name}.md"
        head = f"---\nname: {name}\ndescription: about {name}\ntype: project\n---\n"
        path.write_text(f"{head}\n{body}", encoding="utf-8")
        return path

    def recalled(self, peer: Peer, query: str) -> list[str]:
        found = peer.call("recall", query=query, cwd=self.cwd)["memories"]
        return [Path(one["path"]).name for one in found]

    def temporary_files(self) -> list[str]:
        return [path.name for path in self.home.rglob("*.tmp")]


def eventually(holds: Callable[[], bool], seconds: float = PATIENCE_SECONDS) -> bool:
    """Whether something comes true before the patience ends."""
    deadline = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


def offsets(size: int, count: int) -> list[int]:
    """So many places of a file, from its first byte to its last."""
    return sorted({place * (size - 1) // max(1, count - 1) for place in range(count)})


@contextmanager
def small_disk(folder: Path, kilobytes: int) -> Iterator[bool]:
    """A file system of this size at the folder; False where one may not be mounted."""
    folder.mkdir(parents=True, exist_ok=True)
    size = f"size={kilobytes}k,mode=700"
    command = ["mount", "-t", "tmpfs", "-o", size, "tmpfs", str(folder)]
    try:
        is_mounted = subprocess.run(command, capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        is_mounted = False
    try:
        yield is_mounted
    finally:
        if is_mounted:
            subprocess.run(["umount", "--lazy", str(folder)], check=False)


def fill_up(folder: Path) -> Path:
    """A file that takes what is left of the disk."""
    path = folder / "filling"
    with path.open("wb", buffering=0) as file:
        try:
            while True:
                file.write(b"x" * 4096)
        except OSError:
            return path
