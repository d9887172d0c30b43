"""How a project stands with its team, told without asking the server: nobody waits for it."""

from memoryd.base.config import TeamSettings
from memoryd.base.errors import MemorydError
from memoryd.base.timestamps import iso_time
from memoryd.memories.scopes import Project, Scopes
from memoryd.memories.store import Store
from memoryd.team.addresses import Addresses
from memoryd.team.answers import LostLine, TeamStatus
from memoryd.team.local_files import LocalFiles
from memoryd.team.rules.entries import WARN_SHARE
from memoryd.team.rules.sharing import lean_of
from memoryd.team.sync import SyncReport
from memoryd.team.team_table import JoinedProject, TeamTable
from memoryd.team.worker import TeamWorker

ABOVE_SECURITY = (
    "this login stands above row-level security (a superuser): nothing but good will keeps it from"
    " other teams' rows; use a role of its own for each person"
)


class TeamStatusReader:
    """Blocking."""

    def __init__(
        self,
        scopes: Scopes,
        store: Store,
        table: TeamTable,
        files: LocalFiles,
        worker: TeamWorker,
        addresses: Addresses,
        settings: TeamSettings,
    ) -> None:
        self._scopes = scopes
        self._store = store
        self._table = table
        self._files = files
        self._worker = worker
        self._addresses = addresses
        self._settings = settings

    def of(self, cwd: str) -> TeamStatus:
        project = self._scopes.project(cwd)
        joined = self._table.joined(project.team.path)
        if joined is None:
            return TeamStatus(is_joined=False, server=self._addresses.shown)
        return self._of(project, joined)

    def _of(self, project: Project, joined: JoinedProject) -> TeamStatus:
        state, folder = self._worker.state, joined.folder
        report = self._worker.reports.get(folder) or SyncReport()
        trouble: MemorydError | None = self._worker.troubles.get(folder)
        synced = self._worker.synced_at.get(folder)
        return TeamStatus(
            is_joined=True,
            project=joined.project,
            server=self._addresses.shown,
            is_connected=state.is_connected,
            listens=state.listens,
            reason="privileges" if trouble else state.reason,
            message=trouble.message if trouble else state.message,
            hint=trouble.hint if trouble else state.hint,
            warnings=self._warnings(report),
            accept=self._settings.accept,
            last_sync=iso_time(synced) if synced else "",
            entries=report.entries,
            entry_cap=self._settings.entry_cap,
            waiting=self._waiting(joined, report),
            held=report.held,
            skipped=report.skipped,
            refused=report.refused,
            left_out=report.left_out,
            removals=sorted(self._table.removals(folder)),
            conflicts=[
                LostLine(one.entry, iso_time(one.at), one.author, one.version)
                for one in self._table.lost_changes(folder)
            ],
            suggested=[
                one.file
                for one in self._store.scan(project.memory)
                if not one.retired and lean_of(one.topic) == "team"
            ],
        )

    def _waiting(self, joined: JoinedProject, report: SyncReport) -> list[str]:
        """What was changed here and is not on the server yet, as far as it may go there."""
        known = self._table.known(joined.folder)
        here = self._files.hashes(self._scopes.project(joined.root).team)
        skipped = {one.name for one in report.skipped}
        return sorted(
            name
            for name, sha256 in here.items()
            if name not in skipped and (name not in known or known[name].kept != sha256)
        )

    def _warnings(self, report: SyncReport) -> list[str]:
        cap, state = self._settings.entry_cap, self._worker.state
        warnings = [state.clock_warning] if state.clock_warning else []
        if state.bypasses_security:
            warnings.append(ABOVE_SECURITY)
        if report.entries >= cap * WARN_SHARE:
            warnings.append(
                f"the project has {report.entries} of {cap} entries: remove some with memoryd team"
                " rm, or raise team.entry_cap"
            )
        return warnings
