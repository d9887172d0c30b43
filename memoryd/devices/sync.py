"""One sync of a person's machines: open what is new, plan, take, send.

- The planner is team memory's (`team/rules/plan`): it compares hashes and versions, and does not
  care that a row's name is a keyed hash and its text is sealed.
- A row is opened when its version is new here. What is refused (`row_seals`) is named; if this
  machine has the file, it is sent over it again. Nothing of a refused row is ever written.
- Rows of projects that are not on this machine wait on the server, sealed.
- Changed on two machines: the newer one, by the server's clock, is in the file. The other one is in
  the history, and named.
- Every step may be the last: what was agreed is noted after the file, or the row, is there.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Final

import anyio.to_thread
import msgspec

from memoryd.base.errors import Conflict, NotFound, Refused
from memoryd.devices.device_table import AGREED, DeviceTable
from memoryd.devices.keyring import Keyring
from memoryd.devices.opened_rows import BATCH_BYTES, OpenedRows, Ready, in_batches
from memoryd.devices.own_files import OwnFile, OwnFiles
from memoryd.devices.own_places import OwnPlace, OwnPlaces
from memoryd.devices.private_server import PrivateServer, RowHead, RowPush
from memoryd.devices.row_seals import NOT_OURS
from memoryd.devices.rules.payloads import RowPayload, Unreadable, newer_wins, why_not_named
from memoryd.devices.sealing import NotOpened
from memoryd.memories.rules.retirement import is_in_retired
from memoryd.team.rules.entries import SkippedEntry, batches
from memoryd.team.rules.plan import (
    ABSENT,
    KnownEntry,
    PlannedPull,
    PlannedPush,
    ServerEntry,
    SyncPlan,
    agreed,
    plan,
)
from memoryd.team.team_table import LostChange, TeamTable

ROUNDS: Final = 6
# No file has this hash: what is on the server is not what anybody wrote.
NOT_TAKEN: Final = "refused"


class DeviceReport(msgspec.Struct, frozen=True, kw_only=True):
    """What one sync did and left, by shown names; `waiting` counts rows of projects not here."""

    pulled: list[str] = []
    pushed: list[str] = []
    removed: list[str] = []
    conflicts: list[str] = []
    refused: list[SkippedEntry] = []
    skipped: list[SkippedEntry] = []
    unsent: int = 0
    rows: int = 0
    waiting: dict[str, int] = {}

    @property
    def did_something(self) -> bool:
        return bool(self.pulled or self.pushed or self.removed or self.conflicts)


class PrivateSync:
    """Used by one task at a time, with whichever connection there is."""

    def __init__(
        self,
        table: DeviceTable,
        agreed_table: TeamTable,
        places: OwnPlaces,
        files: OwnFiles,
        now: Callable[[], float],
    ) -> None:
        self._agreed = agreed_table
        self._rows = OpenedRows(table, agreed_table)
        self._places = places
        self._files = files
        self._now = now
        self._local: dict[str, OwnFile] = {}
        self._here: dict[tuple[str, str], OwnPlace] = {}
        self._clock_off = 0.0
        self._begin()

    def _begin(self) -> None:
        self._pulled: dict[str, None] = {}
        self._pushed: dict[str, None] = {}
        self._removed: dict[str, None] = {}
        self._conflicts: dict[str, None] = {}
        self._skipped: dict[str, str] = {}

    def forget(self) -> None:
        """Another vault: nothing read so far holds."""
        self._rows.forget()

    async def run(
        self,
        server: PrivateServer,
        keyring: Keyring,
        *,
        clock_off: float,
        may_push: Callable[[], bool],
    ) -> DeviceReport:
        """Syncs until both sides agree, as far as they may."""
        self._begin()
        self._rows.use(keyring)
        self._clock_off = clock_off
        for _ in range(ROUNDS):
            await self._rows.read(server)
            planned = await anyio.to_thread.run_sync(self._plan)
            await self._take_histories(server, planned)
            await anyio.to_thread.run_sync(self._note, planned)
            await self._pull(server, planned.pulls)
            lost = 0
            if may_push():
                lost += await self._push(server, planned.pushes)
                lost += await self._rows.reseal(server)
            if not lost and not planned.pulls:
                break
        return await anyio.to_thread.run_sync(self._report)

    # --- planning -------------------------------------------------------------------------------

    def _plan(self) -> SyncPlan:
        self._here = {(one.directory.scope, one.project): one for one in self._places.here()}
        self._local = {}
        for here in self._here.values():
            for one in self._files.found_in(here):
                if reason := why_not_named(one.place):
                    self._skipped[one.place.shown] = reason
                else:
                    self._local[self._rows.seals.name_of(one.place)] = one
        known = self._agreed.known(AGREED)
        usable = self._usable(known)
        local = {
            name: one.sha256
            for name, one in self._local.items()
            if name in usable or name not in self._rows.heads
        }
        known = {name: one for name, one in known.items() if self._is_here(name)}
        return plan(local, known, usable, self._removals(known, local))

    def _usable(self, known: dict[str, KnownEntry]) -> dict[str, ServerEntry]:
        """The rows that concern this machine; a refused one is what nobody wrote."""
        usable: dict[str, ServerEntry] = {}
        for name, head in self._rows.heads.items():
            seen = self._rows.seen.get(name)
            if self._rows.is_refused(head):
                if name in known and self._rows.seals.is_replaced(
                    head, self._rows.refused[name].reason
                ):
                    # Ours is sent over it.
                    usable[name] = ServerEntry(name, head.version, NOT_TAKEN, head.device)
                    known[name] = agreed(usable[name])
            elif seen is not None and seen.version == head.version and self._is_here(name):
                usable[name] = ServerEntry(name, head.version, seen.sha256, head.device)
        return usable

    def _removals(self, known: dict[str, KnownEntry], local: dict[str, str]) -> set[str]:
        """What was removed here on purpose, and is still on the server."""
        asked: set[str] = set()
        for name, one in known.items():
            seen = self._rows.seen.get(name)
            if name in local or one.kept == ABSENT or seen is None:
                continue
            here = self._here[seen.place.scope, seen.place.project]
            is_gone = one.kept == NOT_TAKEN and seen.sha256 == ABSENT
            if is_gone or self._files.was_removed(here, seen.place):
                asked.add(name)
        return asked

    def _is_here(self, name: str) -> bool:
        seen = self._rows.seen.get(name)
        return seen is not None and (seen.place.scope, seen.place.project) in self._here

    def _note(self, planned: SyncPlan) -> None:
        self._agreed.note(AGREED, planned.settled)
        self._agreed.forget(AGREED, list(planned.forgotten))

    # --- taking ---------------------------------------------------------------------------------

    async def _take_histories(self, server: PrivateServer, planned: SyncPlan) -> None:
        """What was forgotten before it was ever here can be restored here too."""
        known = await anyio.to_thread.run_sync(self._agreed.known, AGREED)
        new = [
            self._rows.heads[name]
            for name, one in planned.settled.items()
            if one.sha256 == ABSENT and name not in known
        ]
        for batch in in_batches(new):
            found = await server.sealed(batch)
            await anyio.to_thread.run_sync(self._take_history, list(found.values()))

    def _take_history(self, rows: Sequence[tuple[RowHead, bytes]]) -> None:
        for head, sealed in rows:
            try:
                payload = self._rows.seals.opened(head, sealed)
                here = self._here[payload.place.scope, payload.place.project]
                self._files.take(here, payload, ABSENT, self._clock_off)
            except (NotOpened, Unreadable, Conflict, NotFound, Refused):
                continue

    async def _pull(self, server: PrivateServer, pulls: Sequence[PlannedPull]) -> None:
        by_name = {one.entry.name: one for one in pulls}
        heads = [self._rows.heads[name] for name in by_name]
        # What was retired first: then the file that is gone is known to be retired.
        heads.sort(key=lambda one: not is_in_retired(self._rows.seen[one.name].place.path))
        for batch in in_batches(heads):
            found = await server.sealed(batch)
            rows = [(by_name[one.name], *found[one.name]) for one in batch if one.name in found]
            await anyio.to_thread.run_sync(partial(self._take, rows))
        if pulls:
            await anyio.to_thread.run_sync(self._finish, pulls)

    def _take(self, rows: Iterable[tuple[PlannedPull, RowHead, bytes]]) -> None:
        noted: dict[str, KnownEntry] = {}
        for pull, head, sealed in rows:
            if head.version != pull.entry.version:
                continue  # changed since: the next round sees it
            try:
                payload = self._rows.seals.opened(head, sealed)
                if pull.is_conflict:
                    self._settle(pull, payload)
                else:
                    self._put(pull, payload)
            except (Conflict, NotFound, Refused):  # changed at this moment: the next plan sees it
                continue
            except (NotOpened, Unreadable):
                self._rows.refuse(head, NOT_OURS)
                continue
            noted[head.name] = agreed(pull.entry)
        self._agreed.note(AGREED, noted)

    def _put(self, pull: PlannedPull, payload: RowPayload) -> int:
        place = payload.place
        here = self._here[place.scope, place.project]
        number = self._files.take(here, payload, pull.local, self._clock_off)
        (self._removed if payload.text is None else self._pulled)[place.shown] = None
        return number

    def _settle(self, pull: PlannedPull, payload: RowPayload) -> None:
        """Changed here and there: the newer one stays, the other one is in the history."""
        mine = self._local[pull.entry.name]
        is_own = pull.entry.author == self._rows.seals.own.device
        if is_own and self._files.has_had(mine, pull.entry.sha256):
            return  # sent from here just before a kill, and changed since
        at = self._files.changed_at(mine) - self._clock_off
        if newer_wins(at, mine.sha256, payload.at, pull.entry.sha256):
            number = self._files.keep_aside(mine, payload, self._clock_off)
        else:
            if mine.place.kind == "checkpoint":
                self._files.put_aside(mine)
            number = self._put(pull, payload)
        self._conflicts[payload.place.shown] = None
        other = self._rows.seals.own.name_of(pull.entry.author)
        self._agreed.note_lost(AGREED, LostChange(payload.place.path, self._now(), other, number))

    def _finish(self, pulls: Sequence[PlannedPull]) -> None:
        for scope, project in {
            (seen.place.scope, seen.place.project)
            for one in pulls
            if (seen := self._rows.seen.get(one.entry.name)) and seen.place.kind == "memory"
        }:
            self._files.finish(self._here[scope, project])

    # --- sending --------------------------------------------------------------------------------

    async def _push(self, server: PrivateServer, pushes: Sequence[PlannedPush]) -> int:
        """Returns how many lost against another machine."""
        lost = 0
        for batch in batches(((one, self._size_of(one)) for one in pushes), BATCH_BYTES):
            ready = await anyio.to_thread.run_sync(self._ready, batch)
            heads = await self._rows.send(server, ready)
            payloads = {push.name: payload for payload, push in ready}
            sent = [(one, payloads[one.name]) for one in heads]
            await anyio.to_thread.run_sync(self._sent, sent)
            lost += len(ready) - len(heads)
        if pushes:
            await server.notify()
        return lost

    def _size_of(self, push: PlannedPush) -> int:
        head = self._rows.heads.get(push.name)
        return head.bytes if head else 4096

    def _ready(self, pushes: Sequence[PlannedPush]) -> list[Ready]:
        ready: list[Ready] = []
        for one in pushes:
            seen = self._rows.seen.get(one.name)
            counter = (seen.counter if seen else 0) + 1
            payload: RowPayload | None = None
            if one.sha256:
                payload = self._files.payload(self._local[one.name], counter, self._clock_off)
            elif seen is not None:
                here = self._here[seen.place.scope, seen.place.project]
                payload = self._files.removal(here, seen.place, counter, self._clock_off)
            if payload is not None:  # else it changed at this moment
                sealed = self._rows.seals.sealed(one.name, payload)
                ready.append((payload, RowPush(one.name, sealed, one.base)))
        return ready

    def _sent(self, rows: Sequence[tuple[RowHead, RowPayload]]) -> None:
        seen = self._rows.sent(rows)
        self._agreed.note(
            AGREED, {one.name: KnownEntry(one.version, one.sha256, one.sha256) for one in seen}
        )
        for _, payload in rows:
            (self._removed if payload.text is None else self._pushed)[payload.place.shown] = None

    # --- telling --------------------------------------------------------------------------------

    def _report(self) -> DeviceReport:
        planned = self._plan()
        waiting: dict[str, int] = {}
        for name, head in self._rows.heads.items():
            seen = self._rows.seen.get(name)
            if seen and seen.version == head.version and seen.sha256 and not self._is_here(name):
                project = seen.place.project
                waiting[project] = waiting.get(project, 0) + 1
        return DeviceReport(
            pulled=list(self._pulled),
            pushed=list(self._pushed),
            removed=list(self._removed),
            conflicts=list(self._conflicts),
            refused=[
                SkippedEntry(one.shown, one.reason)
                for name, one in self._rows.refused.items()
                if name in self._rows.heads and self._rows.heads[name].version == one.version
            ],
            skipped=[SkippedEntry(*one) for one in self._skipped.items()],
            unsent=len(planned.pushes),
            rows=len(self._rows.heads),
            waiting=waiting,
        )
