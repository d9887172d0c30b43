"""Machines that share a project through a real database: a home, a clone and a daemon each."""

import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from memoryd.base import paths
from tests.support.postgres import OWNER, TeamDatabase
from tests.support.running import Daemon, Peer, make_home

REMOTE = "git@example.com:acme/shop.git"
PROJECT = "example.com/acme/shop"
SETTLE_SECONDS = 120


class Machine:
    """A person's machine: its daemon, and a clone of the project."""

    def __init__(self, folder: Path, role: str, database: TeamDatabase, **team: object) -> None:
        self.role = role
        self.database = database
        self.daemon = Daemon(make_home(folder))
        self.root = self.daemon.home / "shop"
        git = self.root / ".git"
        (git / "objects").mkdir(parents=True)
        (git / "refs").mkdir()
        (git / "HEAD").write_text("ref: refs/heads/main\n")
        (git / "config").write_text(f'[remote "origin"]\n\turl = {REMOTE}\n')
        settings = {"dsn": database.dsn(role), "accept": "auto", "poll_seconds": 2} | team
        config = self.daemon.home / ".config/memoryd/config.toml"
        config.parent.mkdir(exist_ok=True)
        lines = [f"{key} = {value!r}".replace("'", '"') for key, value in settings.items()]
        config.write_text("\n".join(["[team]", *lines, ""]))

    def start(self) -> "Machine":
        self.daemon.start()
        return self

    def peer(self) -> Peer:
        return self.daemon.peer()

    def call(self, method: str, **params: Any) -> Any:
        with self.peer() as peer:
            return peer.call(method, cwd=str(self.root), **params)

    def ask(self, method: str, **params: Any) -> Any:
        with self.peer() as peer:
            return peer.ask(method, cwd=str(self.root), **params)

    def save(self, name: str, body: str, type_: str = "project", scope: str = "team") -> str:
        """The file name of a new memory."""
        answer = self.call(
            "memory/save", name=name, description=name, type=type_, body=body, scope=scope
        )
        return Path(answer["path"]).name

    @property
    def memory_folder(self) -> Path:
        return self.daemon.home / ".claude/projects" / paths.slug(str(self.root)) / "memory"

    @property
    def team_folder(self) -> Path:
        folder = self.memory_folder / "team"
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def write(self, file: str, text: str) -> None:
        """As an editor does it."""
        (self.team_folder / file).write_text(text)

    def files(self) -> dict[str, bytes]:
        """The team's files as they are on this machine."""
        found = {}
        for one in self.daemon.home.glob(".claude/projects/*/memory/team/*.md"):
            with suppress(FileNotFoundError):  # a sync removes it right now
                found[one.name] = one.read_bytes()
        found.pop("MEMORY.md", None)
        return found

    def inbox(self) -> list[Any]:
        return list(self.call("inbox/list")["items"])

    def run(self, *words: str, stdin: str = "") -> Any:
        return self.daemon.run("team", *words, "--project", str(self.root), stdin=stdin)


def set_up(database: TeamDatabase, machine: Machine, *members: str) -> None:
    """The owner of the database makes the tables, and these people members."""
    machine.call("team/init", dsn=database.dsn(OWNER), members=list(members))


def eventually(is_so: Callable[[], bool], what: str = "") -> None:
    deadline = time.monotonic() + SETTLE_SECONDS
    while not is_so():
        assert time.monotonic() < deadline, f"did not happen: {what}"
        time.sleep(0.05)
