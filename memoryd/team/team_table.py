"""What this machine knows of team memory: joined projects, what was agreed last, what is asked for.

All of it can be lost: joined again, a project is compared with the server as if for the first time,
and what differs stays in the history. Blocking, safe from any thread.
"""

from collections.abc import Mapping
from typing import Final

import msgspec

from memoryd.system.database import Database
from memoryd.team.rules.plan import EntryVersion, KnownEntry

CONFLICTS_KEPT: Final = 50


class JoinedProject(msgspec.Struct, frozen=True):
    """`folder` is the team's memory directory, `project` the name that all machines use."""

    folder: str
    root: str
    project: str
    joined: float


class LostChange(msgspec.Struct, frozen=True):
    """A change made here that lost: `version` brings it back, `author` wrote what won."""

    entry: str
    at: float
    author: str
    version: int


class TeamTable:
    def __init__(self, database: Database) -> None:
        self._database = database

    def projects(self) -> list[JoinedProject]:
        rows = self._database.run("select folder, root, project, joined from team_projects")
        return [JoinedProject(*row) for row in msgspec.convert(rows, list[_ProjectRow])]

    def joined(self, folder: str) -> JoinedProject | None:
        return next((one for one in self.projects() if one.folder == folder), None)

    def join(self, one: JoinedProject) -> None:
        """Under another name, nothing is known of what is on the server."""
        before = self.joined(one.folder)
        with self._database.transaction():
            if before is not None and before.project != one.project:
                self.leave(one.folder)
            self._database.run(
                "insert or replace into team_projects values (?, ?, ?, ?)",
                one.folder,
                one.root,
                one.project,
                one.joined,
            )

    def leave(self, folder: str) -> None:
        with self._database.transaction():
            for table in ("team_projects", "team_known", "team_removals", "team_conflicts"):
                self._database.run(f"delete from {table} where folder = ?", folder)  # noqa: S608 - fixed words

    def known(self, folder: str) -> dict[str, KnownEntry]:
        rows = self._database.run(
            "select entry, stamp, tie, sha256, kept from team_known where folder = ?", folder
        )
        return {
            entry: KnownEntry(EntryVersion(stamp, tie), sha256, kept)
            for entry, stamp, tie, sha256, kept in msgspec.convert(rows, list[_KnownRow])
        }

    def note(self, folder: str, agreed: Mapping[str, KnownEntry]) -> None:
        """These are agreed with the server."""
        self._database.run_many(
            "insert or replace into team_known values (?, ?, ?, ?, ?, ?)",
            [
                (folder, name, one.version.stamp, one.version.tie, one.sha256, one.kept)
                for name, one in agreed.items()
            ],
        )

    def forget(self, folder: str, names: list[str]) -> None:
        self._database.run_many(
            "delete from team_known where folder = ? and entry = ?",
            [(folder, name) for name in names],
        )

    def removals(self, folder: str) -> set[str]:
        rows = self._database.run("select entry from team_removals where folder = ?", folder)
        return {str(entry) for (entry,) in rows}

    def ask_removal(self, folder: str, name: str) -> None:
        self._database.run("insert or ignore into team_removals values (?, ?)", folder, name)

    def removal_is_done(self, folder: str, name: str) -> None:
        self._database.run("delete from team_removals where folder = ? and entry = ?", folder, name)

    def authors(self, server: str) -> set[str]:
        """Whose memories are taken over on this machine."""
        rows = self._database.run("select author from team_authors where server = ?", server)
        return {str(author) for (author,) in rows}

    def accept_author(self, server: str, author: str, *, at: float) -> None:
        self._database.run(
            "insert or ignore into team_authors values (?, ?, ?)", server, author, at
        )

    def lost_changes(self, folder: str) -> list[LostChange]:
        """Newest first."""
        rows = self._database.run(
            "select entry, at, author, version from team_conflicts where folder = ?"
            " order by id desc",
            folder,
        )
        return [LostChange(*row) for row in msgspec.convert(rows, list[_LostRow])]

    def note_lost(self, folder: str, lost: LostChange) -> None:
        with self._database.transaction():
            self._database.run(
                "insert into team_conflicts (folder, entry, at, author, version)"
                " values (?, ?, ?, ?, ?)",
                folder,
                lost.entry,
                lost.at,
                lost.author,
                lost.version,
            )
            self._database.run(
                "delete from team_conflicts where folder = ?1 and id not in (select id from"
                " team_conflicts where folder = ?1 order by id desc limit ?2)",
                folder,
                CONFLICTS_KEPT,
            )


_ProjectRow = tuple[str, str, str, float]
_KnownRow = tuple[str, int, int, str, str]
_LostRow = tuple[str, float, str, int]
