"""What people ask of team memory: set up, join, leave, share, remove, look.

- Only a person sets up, joins, leaves, unshares and removes; an agent may share, sync and look.
- What needs the server and does not find it is noted and done later; the answer says so.
- A password never comes with a request: the address that a request names must be without one.
"""

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Literal

import anyio
import anyio.to_thread

from memoryd.base.config import TeamSettings
from memoryd.base.errors import InvalidInput, MemorydError, NotFound, Refused
from memoryd.base.timestamps import iso_time
from memoryd.memories.catalog import Catalog
from memoryd.memories.identities import Identities
from memoryd.memories.moving import Mover
from memoryd.memories.records import Listed
from memoryd.memories.scopes import Project, Scopes
from memoryd.memories.store import Store
from memoryd.team import answers
from memoryd.team.addresses import Addresses
from memoryd.team.local_files import LocalFiles
from memoryd.team.postgres import TeamServer
from memoryd.team.rules.entries import why_not_shared
from memoryd.team.rules.identity import shared_name
from memoryd.team.rules.plan import ABSENT, ServerEntry
from memoryd.team.rules.problems import CAN_WAIT, TeamProblem
from memoryd.team.schema import SCHEMA_VERSION
from memoryd.team.sync import SyncReport
from memoryd.team.team_table import JoinedProject, TeamTable
from memoryd.team.worker import TeamWorker

By = Literal["user", "agent"]


class TeamService:
    def __init__(
        self,
        *,
        scopes: Scopes,
        store: Store,
        catalog: Catalog,
        mover: Mover,
        identities: Identities,
        table: TeamTable,
        files: LocalFiles,
        worker: TeamWorker,
        addresses: Addresses,
        settings: TeamSettings,
        now: Callable[[], float],
    ) -> None:
        self._scopes = scopes
        self._store = store
        self._catalog = catalog
        self._mover = mover
        self._identities = identities
        self._table = table
        self._files = files
        self.worker = worker
        self._addresses = addresses
        self._settings = settings
        self._now = now

    # --- setting up -----------------------------------------------------------------------------

    async def init(
        self,
        cwd: str,
        *,
        dsn: str = "",
        members: list[str],
        leavers: list[str],
        name: str = "",
        remote: str = "",
        by: By = "user",
    ) -> answers.InitAnswer:
        """Makes or migrates the tables, and says who belongs to the project."""
        _only_a_person(by, "set up a team's database")
        project = await self._scopes.find(cwd)
        shared = await anyio.to_thread.run_sync(self._name_of, project, name, remote)
        address = await anyio.to_thread.run_sync(self._addresses.asked_for, dsn)
        chosen = members
        server = await TeamServer.open(address)
        try:
            before = await server.set_up(shared, chosen, leavers)
            if not chosen and not leavers and not await server.has_members(shared):
                chosen = [address.user]
                await server.set_up(shared, chosen, ())
        finally:
            await server.close()
        self.worker.wake()
        return answers.InitAnswer(
            project=shared,
            server=address.shown,
            before=before,
            version=SCHEMA_VERSION,
            members=chosen,
            removed=leavers,
        )

    async def join(
        self, cwd: str, *, dsn: str = "", name: str = "", remote: str = "", by: By = "user"
    ) -> answers.JoinAnswer:
        """From now on the team's memories of this project are shared."""
        _only_a_person(by, "join a team")
        project = await self._scopes.find(cwd)
        shared = await anyio.to_thread.run_sync(self._name_of, project, name, remote)
        address = await anyio.to_thread.run_sync(self._addresses.asked_for, dsn)
        joined = JoinedProject(project.team.path, project.root, shared, self._now())
        earlier = await anyio.to_thread.run_sync(self._table.joined, joined.folder)
        try:
            with self._addresses.trying(dsn) as is_another:
                if is_another:
                    await self.worker.reconnect()
                await anyio.to_thread.run_sync(self._table.join, joined)
                self.worker.wake()
                return await self._first_sync(joined, address.shown)
        except Exception:
            await self._not_joined(joined, earlier)
            raise

    async def _first_sync(self, joined: JoinedProject, server: str) -> answers.JoinAnswer:
        """What can wait for the worker waits: a server that is away, busy or full."""
        project = joined.project
        try:
            report = await self.worker.sync_now(joined)
        except TeamProblem as error:
            if error.reason not in CAN_WAIT:
                raise
            return answers.JoinAnswer(
                project=project, server=server, problem=error.message, hint=error.hint
            )
        return answers.JoinAnswer(project=project, server=server, sync=_sync_answer(report))

    async def _not_joined(self, joined: JoinedProject, earlier: JoinedProject | None) -> None:
        """Everything is as it was before; the address is already."""
        if earlier is None:
            await self.worker.leave(joined.folder)
        else:
            await anyio.to_thread.run_sync(self._table.join, earlier)
        await self.worker.reconnect()

    async def leave(self, cwd: str, *, by: By = "user") -> answers.LeaveAnswer:
        _only_a_person(by, "leave a team")
        joined = await self._joined(cwd)
        await self.worker.leave(joined.folder)
        project = await self._scopes.find(cwd)
        files = await anyio.to_thread.run_sync(self._store.scan, project.team)
        return answers.LeaveAnswer(joined.project, len(files))

    # --- every day ------------------------------------------------------------------------------

    async def sync(self, cwd: str) -> answers.SyncAnswer:
        joined = await self._joined(cwd)
        return _sync_answer(await self.worker.sync_now(joined))

    async def share(self, cwd: str, named: str) -> answers.SharedAnswer:
        """Moves a memory of the project to the team."""
        joined = await self._joined(cwd)
        moved = await anyio.to_thread.run_sync(self._share, cwd, named)
        return answers.SharedAnswer(moved[0], moved[1], await self._is_waiting(joined))

    async def unshare(self, cwd: str, named: str, *, by: By = "user") -> answers.SharedAnswer:
        """Makes a memory of the team private again, and removes it for the others."""
        _only_a_person(by, "take a memory back from the team")
        joined = await self._joined(cwd)
        moved = await anyio.to_thread.run_sync(self._unshare, cwd, named)
        return answers.SharedAnswer(moved[0], moved[1], await self._is_waiting(joined))

    async def remove(
        self, cwd: str, named: str, *, undo: bool = False, by: By = "user"
    ) -> answers.SharedAnswer:
        """Removes a memory for the whole team, or brings one back that was removed."""
        _only_a_person(by, "remove a memory for the team")
        joined = await self._joined(cwd)
        if undo:
            path, version = await self._bring_back(joined, named)
        else:
            path, version = await anyio.to_thread.run_sync(self._remove, joined, cwd, named)
        return answers.SharedAnswer(path, version, await self._is_waiting(joined))

    async def log(self, cwd: str, *, limit: int, path: str = "") -> answers.LogAnswer:
        """What the server recorded: who changed what and when, newest first."""
        joined = await self._joined(cwd)
        entry = path.rpartition("/")[2]
        server = await self._opened()
        try:
            found = await server.log(joined.project, limit, entry)
        finally:
            await server.close()
        return answers.LogAnswer(
            joined.project,
            [
                answers.LogLine(
                    iso_time(one.version.stamp / 1_000_000),
                    one.author,
                    one.name,
                    "removed" if one.sha256 == ABSENT else "saved",
                    one.bytes,
                )
                for one in found
            ],
        )

    # --- inside ---------------------------------------------------------------------------------

    def _name_of(self, project: Project, name: str, remote: str) -> str:
        remotes = self._identities.remotes_of(project.root)
        if remote and remote not in remotes:
            known = f"there are: {', '.join(sorted(remotes))}"
            none = "this project has none; name it: --name acme/shop"
            raise InvalidInput(f"there is no remote {remote!r} here", known if remotes else none)
        return shared_name(remotes, remote or self._settings.remote, name)

    async def _joined(self, cwd: str) -> JoinedProject:
        project = await self._scopes.find(cwd)
        joined = await anyio.to_thread.run_sync(self._table.joined, project.team.path)
        if joined is None:
            raise NotFound(
                "this project does not share memories with a team", hint="memoryd team join"
            )
        return joined

    async def _opened(self) -> TeamServer:
        address = await anyio.to_thread.run_sync(self._addresses.needed)
        server = await TeamServer.open(address)
        try:
            await server.check()
        except BaseException:
            await server.close()
            raise
        return server

    async def _is_waiting(self, joined: JoinedProject) -> bool:
        """Tries to tell the server at once; if that fails, the worker does it later."""
        with anyio.move_on_after(10), suppress(MemorydError):
            report = await self.worker.sync_now(joined)
            return bool(report.waiting)
        return True

    def _share(self, cwd: str, named: str) -> tuple[str, int]:
        one = self._catalog.find(cwd, named)
        project = self._scopes.project(cwd)
        if one.directory.scope == "team":
            raise InvalidInput(f"the team has {one.file} already", "memoryd team status")
        if one.directory.path != project.memory.path:
            raise Refused(
                f"{one.file} belongs to more than this project",
                f"first: memoryd demote {one.file}",
            )
        text = self._store.read(one.directory, one.file).data
        if reason := why_not_shared(one.file, text):
            raise Refused(f"{one.file} is not for the team: {reason}", "change it, or leave it")
        moved = self._mover.move(one.directory, one.file, project.team)
        return moved.path, moved.number

    def _unshare(self, cwd: str, named: str) -> tuple[str, int]:
        project = self._scopes.project(cwd)
        one = self._teams(cwd, named)
        moved = self._mover.move(one.directory, one.file, project.memory)
        self._table.ask_removal(project.team.path, one.file)
        return moved.path, moved.number

    def _remove(self, joined: JoinedProject, cwd: str, named: str) -> tuple[str, int]:
        try:
            one = self._teams(cwd, named)
        except NotFound:
            if named not in self._table.known(joined.folder):  # removed on this machine before
                raise
            self._table.ask_removal(joined.folder, named)
            return f"{joined.folder}/{named}", 0
        # First the wish, then the file: after a kill in between, the file goes by the tombstone.
        self._table.ask_removal(joined.folder, one.file)
        return one.path, self._files.remove(one.directory, one.file)

    def _teams(self, cwd: str, named: str) -> Listed:
        one = self._catalog.find(cwd, named)
        if one.directory.scope != "team" or one.retired:
            raise InvalidInput(
                f"{one.file} is not a memory of the team", "memoryd list --scope team"
            )
        return one

    async def _bring_back(self, joined: JoinedProject, named: str) -> tuple[str, int]:
        """Writes the last text of a removed entry here; the next sync pushes it."""
        server = await self._opened()
        try:
            found = [
                one for one in await server.log(joined.project, 100, named) if one.sha256 != ABSENT
            ]
            if not found:
                raise NotFound(f"the team never had {named}", hint="memoryd team log")
            head = ServerEntry(named, found[0].version, found[0].sha256, found[0].author)
            texts = await server.texts(joined.project, [head])
        finally:
            await server.close()
        if not texts or texts[0].text is None:
            raise NotFound(f"the text of {named} is gone", hint="memoryd team log")
        restore = partial(self._files.bring_back, joined.folder, texts[0])
        return await anyio.to_thread.run_sync(restore)


def _only_a_person(by: By, what: str) -> None:
    if by != "user":
        raise Refused(f"only a person may {what}", hint="they do it in a terminal: memoryd team")


def _sync_answer(report: SyncReport) -> answers.SyncAnswer:
    return answers.SyncAnswer(
        pulled=report.pulled,
        pushed=report.pushed,
        removed=report.removed,
        conflicts=report.conflicts,
        waiting=report.waiting,
        held=report.held,
        skipped=report.skipped,
        refused=report.refused,
        entries=report.entries,
    )
