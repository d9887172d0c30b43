"""One person's machines around a real database: a home, a clone and a daemon each."""

from pathlib import Path
from typing import Any

from tests.support.postgres import TeamDatabase
from tests.support.team import Machine, eventually

__all__ = ["OwnMachine", "eventually"]


class OwnMachine(Machine):
    """A machine of one person."""

    def __init__(self, folder: Path, role: str, database: TeamDatabase, **team: object) -> None:
        super().__init__(folder, role, database, **team)
        self.name = folder.name

    def start(self) -> "OwnMachine":
        super().start()
        return self

    def add(self, code: str = "", **more: Any) -> Any:
        return self.call("device/add", code=code, name=self.name, **more)

    def keep(self, name: str, body: str, type_: str = "project", scope: str = "project") -> str:
        return self.save(name, body, type_, scope)

    def own_files(self) -> dict[str, bytes]:
        """The project's and the person's memories as they are on this machine."""
        claude = self.daemon.home / ".claude"
        found = [*claude.glob("projects/*/memory/*.md"), *claude.glob("memory/*.md")]
        return {one.name: one.read_bytes() for one in found if one.name != "MEMORY.md"}

    def write_own(self, file: str, text: str) -> None:
        """As another program does, into the project's folder."""
        self.memory_folder.mkdir(parents=True, exist_ok=True)
        (self.memory_folder / file).write_text(text)

    def sync(self) -> Any:
        return self.call("device/sync")

    def list(self) -> Any:
        with self.peer() as peer:
            return peer.call("device/list")

    def device(self, *words: str, stdin: str = "") -> Any:
        return self.daemon.run("device", *words, "--project", str(self.root), stdin=stdin)
