"""What people ask about their own machines: add, list, revoke, sync, name a project.

Only a person adds and revokes machines. A password never comes with a request, and no key ever
leaves with an answer; the code is the only secret that is shown, to the person who asked for it.
"""

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, Literal

import anyio
import anyio.to_thread

from memoryd.base.errors import MemorydError, Refused
from memoryd.base.timestamps import iso_time
from memoryd.devices import answers
from memoryd.devices.device_table import AGREED
from memoryd.devices.keyring import Keyring
from memoryd.devices.members import Members
from memoryd.devices.own_places import OwnPlaces
from memoryd.devices.private_server import PrivateServer
from memoryd.devices.rules.codes import LIFETIME_SECONDS, read_code
from memoryd.devices.rules.shared_names import shown_name
from memoryd.devices.sync import DeviceReport
from memoryd.devices.worker import DeviceWorker
from memoryd.memories.scopes import Scopes
from memoryd.team.addresses import Addresses
from memoryd.team.answers import LostLine
from memoryd.team.postgres import TeamServer
from memoryd.team.rules.problems import CAN_WAIT, TeamProblem
from memoryd.team.schema import SCHEMA_VERSION
from memoryd.team.status import ABOVE_SECURITY
from memoryd.team.team_table import TeamTable

ASKED_SECONDS: Final = 120.0
# What to do when it took too long.
TRY_AGAIN: Final = "nothing is lost: see how it stands with memoryd device, and try again"
GOES_ON: Final = "nothing is lost, it goes on by itself: memoryd device"

By = Literal["user", "agent"]


class DeviceService:
    def __init__(
        self,
        scopes: Scopes,
        members: Members,
        places: OwnPlaces,
        worker: DeviceWorker,
        agreed: TeamTable,
        addresses: Addresses,
    ) -> None:
        self._scopes = scopes
        self._members = members
        self._places = places
        self._worker = worker
        self._agreed = agreed
        self._addresses = addresses

    async def init(
        self, members: list[str], *, dsn: str = "", by: By = "user"
    ) -> answers.DeviceInitAnswer:
        """The owner of the tables makes them, and lets these logins use them."""
        _only_a_person(by, "set up a database")
        address = await anyio.to_thread.run_sync(self._addresses.asked_for, dsn)
        with _in_time(TRY_AGAIN):
            server = await TeamServer.open(address)
            try:
                before = await server.set_up("", members, [])
            finally:
                await server.close()
        return answers.DeviceInitAnswer(
            server=address.shown, before=before, version=SCHEMA_VERSION, members=members
        )

    async def add(
        self,
        cwd: str,
        *,
        code: str = "",
        name: str = "",
        dsn: str = "",
        start_over: bool = False,
        by: By = "user",
    ) -> answers.DeviceAddAnswer:
        """Without a code: a code for another machine, and first of all this machine if need be."""
        _only_a_person(by, "add a machine")
        wanted = read_code(code) if code else ""
        if cwd:
            await self._scopes.find(cwd)  # the project is known from now on
        await anyio.to_thread.run_sync(self._addresses.asked_for, dsn)
        name = name or socket.gethostname()
        try:
            with self._addresses.trying(dsn) as is_another:
                if is_another:
                    await self._worker.reconnect()
                with _in_time(TRY_AGAIN):
                    if wanted:
                        return await self._join(wanted, name)
                    return await self._invite(name, start_over=start_over)
        except Exception:
            await self._worker.reconnect()  # to the server of before
            raise

    async def list(self) -> answers.DeviceList:
        worker, report = self._worker, self._worker.report
        state = worker.state
        try:
            keyring = await self._members.found()
        except MemorydError as error:
            return answers.DeviceList(
                is_added=True,
                is_on=worker.is_on,
                reason="key",
                message=error.message,
                hint=error.hint,
            )
        lost = await anyio.to_thread.run_sync(self._agreed.lost_changes, AGREED)
        warnings = [state.clock_warning] if state.clock_warning else []
        warnings += [ABOVE_SECURITY] if state.bypasses_security else []
        return answers.DeviceList(
            is_added=keyring is not None,
            is_on=worker.is_on,
            server=self._addresses.shown,
            devices=_lines(keyring) if keyring else [],
            epoch=keyring.keys.epoch if keyring else 0,
            is_connected=state.is_connected,
            listens=state.listens,
            reason=state.reason,
            message=state.message,
            hint=state.hint,
            warnings=warnings,
            last_sync=iso_time(worker.synced_at) if worker.synced_at else "",
            rows=report.rows,
            unsent=report.unsent,
            waiting={shown_name(one): count for one, count in report.waiting.items()},
            nameless=list(self._places.nameless),
            copies=[f"{root} (as {other})" for root, other in self._places.copies.items()],
            refused=report.refused,
            skipped=report.skipped,
            conflicts=[
                LostLine(one.entry, iso_time(one.at), one.author, one.version) for one in lost
            ],
        )

    async def revoke(self, name: str, *, by: By = "user") -> answers.DeviceRevokeAnswer:
        """One machine less; everything gets a new key."""
        _only_a_person(by, "revoke a machine")
        with _in_time(TRY_AGAIN):
            await self._worker.sync_now()  # so that what the old key wrote is known
            keyring = await self._worker.with_server(lambda server: self._revoked(server, name))
            await self._worker.sync_now()  # and gets the new one
        return answers.DeviceRevokeAnswer(
            revoked=name, epoch=keyring.keys.epoch, devices=[one.name for one in keyring.others]
        )

    async def sync(self, cwd: str = "") -> answers.DeviceSyncAnswer:
        if cwd:
            await self._scopes.find(cwd)
        with _in_time(GOES_ON):
            return _sync_answer(await self._worker.sync_now())

    async def project(self, cwd: str, name: str, *, by: By = "user") -> answers.DeviceProjectAnswer:
        """What the project of `cwd` is called on all machines of the person."""
        _only_a_person(by, "name a project")
        root = (await self._scopes.find(cwd)).root
        given = await anyio.to_thread.run_sync(self._places.name, root, name)
        self._worker.wake()
        return answers.DeviceProjectAnswer(root, given)

    # --- inside ---------------------------------------------------------------------------------

    async def _here(
        self, server: PrivateServer, known: Keyring | None, name: str, *, start_over: bool
    ) -> Keyring:
        """This machine's keys: those it has, or those of a new vault."""
        if known is not None and not start_over:
            return await self._members.refreshed(server, known)
        self._worker.forget()
        return await self._members.create(server, name, start_over=start_over)

    async def _invite(self, name: str, *, start_over: bool) -> answers.DeviceAddAnswer:
        known = await self._members.found()
        is_new = known is None or start_over
        keyring = await self._worker.with_server(
            lambda server: self._here(server, known, name, start_over=start_over)
        )
        self._turn_on()
        await self._first_sync()  # so that the new machine finds everything there
        code = await self._worker.with_server(lambda server: self._members.invite(server, keyring))
        return answers.DeviceAddAnswer(
            name=keyring.name,
            server=self._addresses.shown,
            is_new=is_new,
            code=code,
            expires_seconds=LIFETIME_SECONDS,
            devices=[one.name for one in keyring.others],
        )

    async def _first_sync(self) -> DeviceReport:
        """What can wait for the worker waits: a server that is away, busy or full."""
        try:
            return await self._worker.sync_now()
        except TeamProblem as error:
            if error.reason not in CAN_WAIT:
                raise
            return DeviceReport()

    async def _join(self, code: str, name: str) -> answers.DeviceAddAnswer:
        self._worker.forget()
        keyring = await self._worker.with_server(
            lambda server: self._members.join(server, code, name)
        )
        self._turn_on()
        report = await self._first_sync()
        return answers.DeviceAddAnswer(
            name=keyring.name,
            server=self._addresses.shown,
            is_new=True,
            devices=[one.name for one in keyring.others],
            sync=_sync_answer(report),
        )

    async def _revoked(self, server: PrivateServer, name: str) -> Keyring:
        keyring = await self._members.found()
        assert keyring is not None  # noqa: S101 - the sync before this needs one
        return await self._members.revoke(server, keyring, name)

    def _turn_on(self) -> None:
        self._worker.is_on = True
        self._worker.wake()


@contextmanager
def _in_time(hint: str) -> Iterator[None]:
    """Nobody waits for the server longer than this."""
    try:
        with anyio.fail_after(ASKED_SECONDS):
            yield
    except TimeoutError:
        raise TeamProblem("the server takes too long", hint, "busy") from None


def _only_a_person(by: By, what: str) -> None:
    if by != "user":
        raise Refused(f"only a person may {what}", hint="they do it in a terminal: memoryd device")


def _lines(keyring: Keyring) -> list[answers.DeviceLine]:
    return [
        answers.DeviceLine(one.name, iso_time(one.added), one.device == keyring.device)
        for one in keyring.others
    ]


def _sync_answer(report: DeviceReport) -> answers.DeviceSyncAnswer:
    return answers.DeviceSyncAnswer(
        pulled=report.pulled,
        pushed=report.pushed,
        removed=report.removed,
        conflicts=report.conflicts,
        refused=report.refused,
        skipped=report.skipped,
        waiting={shown_name(one): count for one, count in report.waiting.items()},
    )
