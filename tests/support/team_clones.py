"""A machine of a team without a daemon: its files, its tables and one sync at a time."""

from pathlib import Path

from memoryd.base.config import TeamSettings
from memoryd.memories.inbox_table import InboxTable
from memoryd.memories.store import Store
from memoryd.memories.version_table import VersionTable
from memoryd.system.database import Database
from memoryd.team.local_files import LocalFiles
from memoryd.team.postgres import TeamServer
from memoryd.team.review import TeamReview
from memoryd.team.sync import ProjectSync, SyncReport
from memoryd.team.team_table import JoinedProject, TeamTable
from tests.support.team import PROJECT


class Clone:
    def __init__(self, folder: Path, server: TeamServer, **settings: object) -> None:
        self.team = folder / "memory/team"
        self.team.mkdir(parents=True)
        self.server = server
        self.database = Database.open(str(folder / "state.db"))
        self.versions = VersionTable(self.database)
        self.store = Store(self.versions, now=lambda: 1_800_000_000.0)
        self.table = TeamTable(self.database)
        self.settings = TeamSettings(**({"accept": "auto"} | settings))  # type: ignore[arg-type]
        self.project = JoinedProject(str(self.team), str(folder), PROJECT, 0.0)
        self.table.join(self.project)
        self.restarted()

    def restarted(self) -> "Clone":
        """As after a kill: only what is on disk is left."""
        self.syncing = self.sync_of(self.project)
        return self

    def sync_of(self, project: JoinedProject) -> ProjectSync:
        files = LocalFiles(self.store, self.versions)
        review = TeamReview(InboxTable(self.database), lambda: 1_800_000_000.0)
        return ProjectSync(
            project, self.table, files, review, self.settings, lambda: 1_800_000_000.0
        )

    def write(self, file: str, body: str) -> None:
        (self.team / file).write_text(f"---\nname: Fact\ntype: project\n---\n\n{body}\n")

    def says(self) -> dict[str, str]:
        found = {one.name: one.read_text() for one in self.team.glob("*.md")}
        return {
            name: text.split("---\n\n")[1].strip()
            for name, text in found.items()
            if name != "MEMORY.md"
        }

    async def sync(self, *, may_push: bool = True) -> SyncReport:
        return await self.syncing.run(self.server, may_push=lambda: may_push)

    def close(self) -> None:
        self.database.close()
