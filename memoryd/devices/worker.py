"""Keeps this machine in step with the person's others, for as long as the daemon runs.

- Nothing happens, and no driver is loaded, until `sync.private` is on and this machine was added.
- A sync comes 2 s after the last change here (at most 10 s after the first), at once when another
  machine has sent something, and by polling, as with team memory; it has a connection of its own.
- A server that is away costs a try now and then, up to a minute apart. A machine that was revoked
  asks rarely.
- Nothing is sent while a dream runs. One lock: no two syncs at once.
"""

import random
import time
from collections.abc import Awaitable, Callable
from math import inf
from typing import Final, TypeVar

import anyio
import anyio.to_thread
import msgspec
import structlog

from memoryd.base.errors import MemorydError
from memoryd.base.events import DeviceSynced, DeviceTrouble
from memoryd.devices.keyring import Keyring
from memoryd.devices.members import Members
from memoryd.devices.private_server import PrivateServer
from memoryd.devices.rules import problems
from memoryd.devices.sync import DeviceReport, PrivateSync
from memoryd.memories.records import MemoryChanged
from memoryd.system.notices import Notices
from memoryd.team.postgres import TeamServer
from memoryd.team.rules.address import ServerAddress
from memoryd.team.rules.problems import TeamProblem, clock_warning
from memoryd.team.worker import (
    DEBOUNCE_SECONDS,
    FIRST_PAUSE_SECONDS,
    HEARD_SECONDS,
    LISTENING_FACTOR,
    LONGEST_DEBOUNCE_SECONDS,
    LONGEST_PAUSE_SECONDS,
    ServerState,
)

TRAVELS: Final = frozenset({"project", "user"})
# What only a person can change is not tried every second.
RARE_SECONDS: Final = 300.0
_RARE: Final = frozenset({"revoked", "key", "not-added", "driver"})

Answer = TypeVar("Answer")

log = structlog.get_logger(__name__)


class DeviceWorker:
    """To be used on the event loop."""

    def __init__(
        self,
        members: Members,
        sync: PrivateSync,
        notices: Notices,
        *,
        is_on: bool,
        address: Callable[[], ServerAddress],
        poll_seconds: float,
        now: Callable[[], float],
    ) -> None:
        self._members = members
        self._sync = sync
        self._notices = notices
        self._address = address
        self._poll_seconds = poll_seconds
        self._now = now
        self._lock = anyio.Lock()
        self._server: PrivateServer | None = None
        self._woken = anyio.Event()
        self._due = 0.0
        self._first_change = inf
        self._failures = 0
        self._clock_off = 0.0
        self.is_on = is_on
        self.is_dreaming: Callable[[], bool] = lambda: False
        self.state = ServerState()
        self.report = DeviceReport()
        self.synced_at = 0.0

    # --- what wakes it --------------------------------------------------------------------------

    def changed(self, change: MemoryChanged) -> None:
        """A memory changed here; a burst of changes is one sync."""
        if self.is_on and change.cause != "sync" and change.directory.scope in TRAVELS:
            self.soon()

    def soon(self) -> None:
        now = time.monotonic()
        self._first_change = min(self._first_change, now)
        due = min(now + DEBOUNCE_SECONDS, self._first_change + LONGEST_DEBOUNCE_SECONDS)
        self._due = due if self._failures == 0 else min(due, self._due)
        self._woken.set()

    def wake(self) -> None:
        """Something was decided: look at once."""
        self._due = 0.0
        self._woken.set()

    def _heard(self) -> None:
        self._due = min(self._due, time.monotonic() + HEARD_SECONDS)
        self._woken.set()

    # --- running --------------------------------------------------------------------------------

    async def run(self) -> None:
        """Syncs until cancelled."""
        try:
            while True:
                self._woken = anyio.Event()
                if not self.is_on:
                    async with self._lock:  # a machine may just be being added
                        await self._disconnect()
                    await self._woken.wait()
                    continue
                wait = self._due - time.monotonic()
                if wait > 0:
                    with anyio.move_on_after(wait):
                        await self._woken.wait()
                    continue
                await self._sync_due()
        finally:
            await self._disconnect()

    async def _sync_due(self) -> None:
        try:
            await self.sync_now()
        except MemorydError:
            return
        except Exception:
            log.exception("device-sync-failed")
            await self._failed(TeamProblem("the sync failed", "memoryd logs", "bug"))

    async def sync_now(self) -> DeviceReport:
        """One sync; raises what keeps it from happening."""
        keyring = await self._members.found()
        if keyring is None:
            error = problems.not_added()
            await self._failed(error)
            raise error
        return await self.with_server(lambda server: self._synced(server, keyring))

    async def with_server(self, work: Callable[[PrivateServer], Awaitable[Answer]]) -> Answer:
        """Something that needs the server, while no sync runs."""
        async with self._lock:
            try:
                answer = await work(await self._connected())
            except MemorydError as error:
                await self._failed(error)
                raise
        self._failures = 0
        if self.state.reason:
            self._notices.announce(DeviceTrouble(reason=""))
            cleared = {"reason": "", "message": "", "hint": ""}
            self.state = msgspec.structs.replace(self.state, **cleared)
        return answer

    async def _synced(self, server: PrivateServer, keyring: Keyring) -> DeviceReport:
        began = time.monotonic()
        self._first_change, self._due = inf, began + self._pause_seconds(server)
        keyring = await self._members.refreshed(server, keyring)
        report = await self._sync.run(
            server,
            keyring,
            clock_off=self._clock_off,
            may_push=lambda: not self.is_dreaming(),
        )
        self.report, self.synced_at = report, self._now()
        if report.did_something:
            self._notices.announce(
                DeviceSynced(
                    project="",
                    pulled=len(report.pulled),
                    pushed=len(report.pushed),
                    removed=len(report.removed),
                    conflicts=len(report.conflicts),
                    refused=len(report.refused),
                    ms=round((time.monotonic() - began) * 1000),
                )
            )
        return report

    def forget(self) -> None:
        """Another vault: nothing that was read holds."""
        self._sync.forget()
        self.report = DeviceReport()

    def _pause_seconds(self, server: PrivateServer) -> float:
        factor = LISTENING_FACTOR if server.server.listens else 1
        return self._poll_seconds * factor * random.uniform(0.8, 1.2)  # noqa: S311 - spreads load

    # --- the connection -------------------------------------------------------------------------

    async def reconnect(self) -> None:
        """The address has changed."""
        async with self._lock:
            await self._disconnect()
        self.wake()

    async def _connected(self) -> PrivateServer:
        if self._server is not None and self._server.server.is_closed:
            await self._disconnect()
        if self._server is not None:
            return self._server
        address = await anyio.to_thread.run_sync(self._address)
        opened = await TeamServer.open(address)
        server = PrivateServer(opened)
        try:
            await _check(opened)
            self._clock_off = self._now() - await opened.clock_seconds()
            listens = await server.listen(self._heard)
            bypasses_security = await opened.bypasses_security()
        except BaseException:
            await opened.close()
            raise
        self.state = msgspec.structs.replace(
            self.state,
            is_connected=True,
            listens=listens,
            clock_warning=clock_warning(self._clock_off),
            bypasses_security=bypasses_security,
        )
        self._server = server
        return server

    async def _disconnect(self) -> None:
        server, self._server = self._server, None
        self.state = msgspec.structs.replace(self.state, is_connected=False, listens=False)
        if server is not None:
            await server.server.close()

    async def _failed(self, error: MemorydError) -> None:
        """Tries again later, each time less eagerly; tells people once."""
        await self._disconnect()
        reason = error.reason if isinstance(error, TeamProblem) else error.kind
        if self.state.reason != reason:
            self._notices.announce(DeviceTrouble(reason=reason, message=error.message))
        self.state = ServerState(reason=reason, message=error.message, hint=error.hint)
        pause = min(FIRST_PAUSE_SECONDS * 2**self._failures, LONGEST_PAUSE_SECONDS)
        pause = RARE_SECONDS if reason in _RARE else pause
        self._failures = min(self._failures + 1, 20)
        self._due = time.monotonic() + pause * random.uniform(0.5, 1.0)  # noqa: S311 - as above
        self._woken.set()


async def _check(opened: TeamServer) -> None:
    """The tables fit; where there are none, or old ones, they are made if this login may do it."""
    try:
        await opened.check()
    except TeamProblem as error:
        if error.reason != "schema":
            raise
        try:
            await opened.set_up("", [], [])
        except TeamProblem:
            raise error from None
