"""Keeps joined projects in step with the team's database, for as long as the daemon runs.

- Nothing happens, and no driver is loaded, until a project is joined and a database is named.
- A project is synced 2 s after its last change here (at most 10 s after the first), at once when
  the server tells of a change there, and by polling: rarely where the server tells, since that
  may get lost, else every `team.poll_seconds`.
- A look at the server that finds nothing new costs one small query; the files are looked at only
  when they changed, and at every tenth look, since a notice may get lost too.
- A server that is away costs nothing but a try now and then: 1 s, 2 s, ... up to a minute apart.
  Nobody waits for it; whatever was changed is found again by the next plan.
- Pushes wait while a dream runs; its end wakes us.
- One lock: a sync on request and one in the background never run at the same time.
"""

import random
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from math import inf
from typing import Final

import anyio
import anyio.to_thread
import msgspec
import structlog

from memoryd.base.errors import MemorydError
from memoryd.base.events import TeamSynced, TeamTrouble
from memoryd.memories.records import MemoryChanged
from memoryd.system.notices import Notices
from memoryd.team.addresses import Addresses
from memoryd.team.postgres import TeamServer
from memoryd.team.rules.problems import TeamProblem, clock_warning
from memoryd.team.sync import ProjectSync, SyncReport
from memoryd.team.team_table import JoinedProject, TeamTable

DEBOUNCE_SECONDS: Final = 2.0
LONGEST_DEBOUNCE_SECONDS: Final = 10.0
HEARD_SECONDS: Final = 0.05
# How much rarer polling is where the server tells of changes.
LISTENING_FACTOR: Final = 5
# A change that nobody noticed is found this many looks later.
LOOKS_UNTIL_SYNC: Final = 10
FIRST_PAUSE_SECONDS: Final = 1.0
LONGEST_PAUSE_SECONDS: Final = 60.0

log = structlog.get_logger(__name__)


class ServerState(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of the connection, for people to see."""

    is_connected: bool = False
    reason: str = ""
    message: str = ""
    hint: str = ""
    listens: bool = False
    clock_warning: str = ""
    bypasses_security: bool = False


class _Due(msgspec.Struct):
    """When a project is to be synced next, on the loop's clock."""

    at: float = 0.0
    first_change: float = inf
    quiet_looks: int = 0
    """How often the server was looked at in a row without looking at the files."""
    is_quiet: bool = False
    """Nothing is known to have changed here since the last sync."""


class TeamWorker:
    """To be used on the event loop."""

    def __init__(
        self,
        table: TeamTable,
        notices: Notices,
        *,
        sync_of: Callable[[JoinedProject], ProjectSync],
        addresses: Addresses,
        poll_seconds: float,
        now: Callable[[], float],
    ) -> None:
        self._table = table
        self._notices = notices
        self._sync_of = sync_of
        self._addresses = addresses
        self._poll_seconds = poll_seconds
        self._now = now
        self._lock = anyio.Lock()
        self._server: TeamServer | None = None
        self._listening: set[str] = set()
        self._syncs: dict[str, ProjectSync] = {}
        self._due: dict[str, _Due] = {}
        self._woken = anyio.Event()
        self._failures = 0
        self._failing = ""
        self._retry_at = 0.0
        self.is_dreaming: Callable[[], bool] = lambda: False
        self.state = ServerState()
        self.reports: dict[str, SyncReport] = {}
        self.synced_at: dict[str, float] = {}
        self.troubles: dict[str, TeamProblem] = {}

    @property
    def problems(self) -> list[str]:
        """What keeps joined projects from being in step, each in a sentence with the next step."""
        found = [one for folder, one in self.troubles.items() if folder in self._due]
        said = [f"{one.message}: {one.hint}" for one in found]
        if self._due and self.state.message:
            said.append(f"{self.state.message}: {self.state.hint}")
        return [f"team memory: {one}" for one in said]

    # --- what wakes it --------------------------------------------------------------------------

    def changed(self, change: MemoryChanged) -> None:
        """A memory changed here; a burst of changes is one sync."""
        due = self._due.get(change.directory.path)
        if due is None or change.cause == "sync":
            return
        now, due.is_quiet = time.monotonic(), False
        due.first_change = min(due.first_change, now)
        due.at = min(now + DEBOUNCE_SECONDS, due.first_change + LONGEST_DEBOUNCE_SECONDS)
        self._woken.set()

    def wake(self) -> None:
        """Something was decided, joined or left, or a dream has ended: look at everything."""
        for due in self._due.values():
            due.at, due.is_quiet = 0.0, False
        self._retry_at = 0.0
        self._woken.set()

    def _heard(self, folder: str) -> None:
        due = self._due.get(folder)
        if due is not None:
            due.at = min(due.at, time.monotonic() + HEARD_SECONDS)
            self._woken.set()

    # --- running --------------------------------------------------------------------------------

    async def run(self) -> None:
        """Syncs until cancelled."""
        try:
            while True:
                self._woken = anyio.Event()
                await self._follow_table()
                due = min((one.at for one in self._due.values()), default=inf)
                due = max(due, self._retry_at) if due < inf else inf
                if due <= time.monotonic():
                    await self._sync_due()
                    continue
                with anyio.move_on_after(due - time.monotonic() if due < inf else None):
                    await self._woken.wait()
        finally:
            await self._disconnect()

    async def sync_now(self, project: JoinedProject) -> SyncReport:
        """One sync on request; raises what keeps it from happening."""
        await self._follow_table()
        self._due.setdefault(project.folder, _Due()).is_quiet = False
        try:
            return await self._sync(project)
        except MemorydError as error:
            self._failed(project.folder, error)
            raise

    async def leave(self, folder: str) -> None:
        """Waits for a sync that runs, so that it does not write after the project has left."""
        async with self._lock:
            await anyio.to_thread.run_sync(self._table.leave, folder)
            for known in (
                self._syncs,
                self._due,
                self.reports,
                self.synced_at,
                self.troubles,
            ):
                known.pop(folder, None)
        self._woken.set()

    async def reconnect(self) -> None:
        """The address has changed. A sync that runs ends first: it may still use the old one."""
        async with self._lock:
            await self._disconnect()
        self.wake()

    async def _follow_table(self) -> None:
        projects, has_address = await anyio.to_thread.run_sync(self._look)
        self._due = {one.folder: self._due.get(one.folder) or _Due() for one in projects}
        for one in projects:
            known = self._syncs.get(one.folder)
            if known is None or known.project != one:
                self._syncs[one.folder] = self._sync_of(one)
        if not self._due or not has_address:
            for due in self._due.values():
                due.at = inf
            async with self._lock:  # a sync on request may just be connecting
                await self._disconnect()

    def _look(self) -> tuple[list[JoinedProject], bool]:
        """The joined projects, and whether a database is named; a mistake in it counts."""
        try:
            return self._table.projects(), self._addresses.current() is not None
        except MemorydError:
            return self._table.projects(), True

    async def _sync_due(self) -> None:
        for folder, due in list(self._due.items()):
            if due.at <= time.monotonic() and folder in self._syncs:
                try:
                    await self._sync(self._syncs[folder].project)
                except TeamProblem as error:
                    if error.reason != "privileges":
                        self._failed(folder, error)
                        return
                    self.troubles[folder] = error  # of this project alone
                    self._works(folder)
                    due.at = time.monotonic() + self._poll_seconds
                except MemorydError as error:
                    self._failed(folder, error)
                    return
                except Exception:
                    log.exception("team-sync-failed", folder=folder)
                    bug = TeamProblem("team sync failed", "memoryd logs", "bug")
                    self._failed(folder, bug)
                    return

    async def _sync(self, project: JoinedProject) -> SyncReport:
        began = time.monotonic()
        async with self._lock, self._disconnected_by_failure():
            server = await self._connected(project)
            due = self._due.setdefault(project.folder, _Due())
            due.first_change, due.at = inf, began + self._pause_seconds(server)
            sync = self._syncs.setdefault(project.folder, self._sync_of(project))
            report = await self._look_or_sync(sync, server, due)
            self.synced_at[project.folder] = self._now()
            self.troubles.pop(project.folder, None)
        self._failures, self._retry_at = 0, 0.0
        self._works(project.folder)
        if report.did_something:
            self._notices.announce(
                TeamSynced(
                    project=project.root,
                    pulled=len(report.pulled),
                    pushed=len(report.pushed),
                    removed=len(report.removed),
                    conflicts=report.conflicts,
                    held=len(report.held),
                    skipped=len(report.skipped),
                    ms=round((time.monotonic() - began) * 1000),
                )
            )
        return report

    async def _look_or_sync(self, sync: ProjectSync, server: TeamServer, due: _Due) -> SyncReport:
        """Looks at the files only if something changed, or after some looks in any case."""
        folder = sync.project.folder
        before = self.reports.get(folder)
        due.quiet_looks += 1
        may_skip = due.is_quiet and due.quiet_looks < LOOKS_UNTIL_SYNC
        if before is not None and may_skip and await sync.is_in_step(server):
            return msgspec.structs.replace(before, pulled=[], pushed=[], removed=[], conflicts=[])
        due.is_quiet, due.quiet_looks = True, 0
        is_settled = False
        try:
            report = await sync.run(server, may_push=lambda: not self.is_dreaming())
            is_settled = report.is_settled
        finally:  # a change meanwhile, or a failure, means another look at the files
            due.is_quiet = due.is_quiet and is_settled
        self.reports[folder] = report
        return report

    def _pause_seconds(self, server: TeamServer) -> float:
        factor = LISTENING_FACTOR if server.listens else 1
        return self._poll_seconds * factor * random.uniform(0.8, 1.2)  # noqa: S311 - spreads load

    # --- the connection -------------------------------------------------------------------------

    async def _connected(self, project: JoinedProject) -> TeamServer:
        if self._server is not None and self._server.is_closed:
            await self._disconnect()
        if self._server is None:
            address = await anyio.to_thread.run_sync(self._addresses.needed)
            self._server = await TeamServer.open(address)
            await self._server.check()
            off = self._now() - await self._server.clock_seconds()
            self.state = msgspec.structs.replace(
                self.state,
                is_connected=True,
                clock_warning=clock_warning(off),
                bypasses_security=await self._server.bypasses_security(),
            )
        if project.folder not in self._listening:
            await self._server.check(project.project)
            folder = project.folder
            listens = await self._server.listen(project.project, lambda: self._heard(folder))
            self._listening.add(folder)
            self.state = msgspec.structs.replace(self.state, listens=listens)
        return self._server

    @asynccontextmanager
    async def _disconnected_by_failure(self) -> AsyncIterator[None]:
        """What is not this project's alone, or ends halfway, leaves no connection to the next."""
        try:
            yield
        except BaseException as error:
            is_of_project = isinstance(error, TeamProblem) and error.reason == "privileges"
            if not (is_of_project and self.state.is_connected):
                await self._disconnect()
            raise

    async def _disconnect(self) -> None:
        server, self._server = self._server, None
        self._listening.clear()
        trouble = self.state
        self.state = ServerState(reason=trouble.reason, message=trouble.message, hint=trouble.hint)
        if server is not None:
            await server.close()

    def _works(self, folder: str) -> None:
        """The trouble is over once what failed works: another project may have nothing to send."""
        if self.state.reason and (folder == self._failing or self._failing not in self._due):
            self._notices.announce(TeamTrouble(reason=""))
            cleared = {"reason": "", "message": "", "hint": ""}
            self.state = msgspec.structs.replace(self.state, **cleared)

    def _failed(self, folder: str, error: MemorydError) -> None:
        """Tries again later, each time less eagerly; tells people once."""
        self._failing = folder
        reason = error.reason if isinstance(error, TeamProblem) else error.kind
        if self.state.reason != reason:
            self._notices.announce(TeamTrouble(reason=reason, message=error.message))
        self.state = msgspec.structs.replace(
            self.state, reason=reason, message=error.message, hint=error.hint
        )
        pause = min(FIRST_PAUSE_SECONDS * 2**self._failures, LONGEST_PAUSE_SECONDS)
        self._failures = min(self._failures + 1, 20)
        self._retry_at = time.monotonic() + pause * random.uniform(0.5, 1.0)  # noqa: S311 - as above
        self._woken.set()
