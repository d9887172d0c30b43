"""What this machine knows of the person's sealed rows and projects.

What was agreed and which changes lost are rows of team memory's tables, under a folder name of its
own (`AGREED`). All of it can be lost: then everything is compared as if for the first time.
Blocking, safe from any thread.
"""

from collections.abc import Collection, Mapping
from typing import Final

import msgspec

from memoryd.devices.rules.payloads import RowKind, RowPlace, RowScope
from memoryd.devices.rules.shared_names import SharedProject
from memoryd.system.database import Database
from memoryd.team.rules.plan import EntryVersion
from memoryd.team.team_table import TeamTable

AGREED: Final = "private"
_COLUMNS: Final = (
    "name, stamp, tie, epoch, counter, sha256, device, kind, scope, project, path, commit_id"
)


class SeenRow(msgspec.Struct, frozen=True, kw_only=True):
    """A row as it was last opened here; no hash is a removal."""

    name: str
    version: EntryVersion
    epoch: int
    counter: int
    sha256: str
    device: str
    place: RowPlace
    commit: str = ""


class NamedProject(msgspec.Struct, frozen=True):
    root: str
    project: str
    given: str


class DeviceTable:
    def __init__(self, database: Database) -> None:
        self._database = database

    def seen(self) -> dict[str, SeenRow]:
        rows = self._database.run(f"select {_COLUMNS} from private_rows")  # noqa: S608 - fixed words
        return {row[0]: _seen(*row) for row in msgspec.convert(rows, list[_Row])}

    def note(self, rows: Collection[SeenRow]) -> None:
        self._database.run_many(
            f"insert or replace into private_rows ({_COLUMNS})"  # noqa: S608 - fixed words
            " values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            [
                (
                    one.name,
                    one.version.stamp,
                    one.version.tie,
                    one.epoch,
                    one.counter,
                    one.sha256,
                    one.device,
                    one.place.kind,
                    one.place.scope,
                    one.place.project,
                    one.place.path,
                    one.commit,
                )
                for one in rows
            ],
        )

    def shared_projects(self) -> list[SharedProject]:
        """Every name that a machine of the person uses."""
        rows = self._database.run(
            "select project, max(commit_id) from private_rows where project != '' group by project"
        )
        return [SharedProject(*row) for row in msgspec.convert(rows, list[tuple[str, str]])]

    def projects(self) -> list[NamedProject]:
        """The projects of this machine."""
        rows = self._database.run("select root, project, given from private_projects")
        return [NamedProject(*row) for row in msgspec.convert(rows, list[tuple[str, str, str]])]

    def name_project(self, one: NamedProject) -> None:
        self._database.run(
            "insert or replace into private_projects values (?, ?, ?)",
            one.root,
            one.project,
            one.given,
        )

    def expect(self, counters: Mapping[str, int]) -> None:
        """How far rows had come, by another machine's word; none may come back older."""
        self._database.run_many(
            "insert or ignore into private_rows values"
            " (?, 0, 0, 0, ?, '?', '', 'memory', 'user', '', '', '')",
            [(name, counter - 1) for name, counter in counters.items()],
        )

    def start_over(self) -> None:
        """Another vault: nothing that was agreed holds."""
        with self._database.transaction():
            self._database.run("delete from private_rows")
            TeamTable(self._database).leave(AGREED)


def _seen(
    name: str,
    stamp: int,
    tie: int,
    epoch: int,
    counter: int,
    sha256: str,
    device: str,
    kind: RowKind,
    scope: RowScope,
    project: str,
    path: str,
    commit: str,
) -> SeenRow:
    return SeenRow(
        name=name,
        version=EntryVersion(stamp, tie),
        epoch=epoch,
        counter=counter,
        sha256=sha256,
        device=device,
        place=RowPlace(kind, scope, project, path),
        commit=commit,
    )


_Row = tuple[str, int, int, int, int, str, str, RowKind, RowScope, str, str, str]
