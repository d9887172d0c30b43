"""One sync of one project: read all three sides, plan (`rules/plan`), pull, then push.

- Heads of entries are kept from the last time, as far as they still hold (`heads`).
- Every step may be the last: what was agreed is noted after the file, or the row, is there. After
  a kill the next sync finds equal hashes, and notes it then.
- A push that lost against another one is planned again, with what won.
- While a dream runs nothing is pushed; it is still pulled.
- Everything that blocks (files, SQLite) runs in a thread.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Final

import anyio.to_thread
import msgspec

from memoryd.base.config import TeamSettings
from memoryd.base.errors import Conflict, NotFound, Refused
from memoryd.team.heads import followed
from memoryd.team.local_files import LocalFiles, team_directory
from memoryd.team.postgres import TeamServer
from memoryd.team.review import TeamReview, samples
from memoryd.team.rules.address import ServerAddress
from memoryd.team.rules.entries import (
    EntryPush,
    EntryText,
    SkippedEntry,
    batches,
    hash_of,
    over_the_cap,
    why_not_named,
    why_not_shared,
    why_not_taken,
)
from memoryd.team.rules.plan import (
    ABSENT,
    EntryVersion,
    KnownEntry,
    PlannedPull,
    PlannedPush,
    ServerEntry,
    SyncPlan,
    agreed,
    declined,
    fingerprint,
    plan,
)
from memoryd.team.team_table import JoinedProject, TeamTable

ROUNDS: Final = 6


class SyncReport(msgspec.Struct, frozen=True, kw_only=True):
    """What one sync did and left; all by entry name.

    `waiting` are to be pushed later, `held` wait for a person, `skipped` stay on this machine,
    `refused` stay on the server, `left_out` were removed on this machine only.
    """

    pulled: list[str] = []
    pushed: list[str] = []
    removed: list[str] = []
    conflicts: list[str] = []
    waiting: list[str] = []
    held: list[SkippedEntry] = []
    skipped: list[SkippedEntry] = []
    refused: list[SkippedEntry] = []
    left_out: list[str] = []
    entries: int = 0

    @property
    def did_something(self) -> bool:
        return bool(self.pulled or self.pushed or self.removed or self.conflicts)

    @property
    def is_settled(self) -> bool:
        """Whether the next sync has nothing to do unless something changes on either side."""
        return not (self.waiting or self.held)


class ProjectSync:
    """Syncs one project; used by one task at a time, with whichever connection there is."""

    def __init__(
        self,
        project: JoinedProject,
        table: TeamTable,
        files: LocalFiles,
        review: TeamReview,
        settings: TeamSettings,
        now: Callable[[], float],
    ) -> None:
        self.project = project
        self.directory = team_directory(project.folder)
        self._table = table
        self._files = files
        self._review = review
        self._settings = settings
        self._now = now
        self._heads: dict[str, ServerEntry] = {}
        self._refused: dict[str, tuple[EntryVersion, str]] = {}
        self._begin()

    def _begin(self) -> None:
        self._pulled: dict[str, None] = {}
        self._pushed: dict[str, None] = {}
        self._removed: dict[str, None] = {}
        self._conflicts: dict[str, None] = {}
        self._skipped: dict[str, str] = {}

    async def is_in_step(self, server: TeamServer) -> bool:
        """Whether the server still has what it had when this was synced last."""
        there = await server.fingerprint(self.project.project)
        return there == fingerprint(self._heads.values())

    async def run(self, server: TeamServer, *, may_push: Callable[[], bool]) -> SyncReport:
        """Syncs until both sides agree, as far as they may."""
        self._begin()
        for _ in range(ROUNDS):
            await self._read_heads(server)
            planned = await self._plan(server)
            await self._note(planned)
            await self._pull(server, planned.pulls)
            lost = await self._push(server, planned.pushes) if may_push() else 0
            if not lost and not planned.pulls:
                break
        return await self._report(await self._plan(server))

    # --- planning -------------------------------------------------------------------------------

    async def _read_heads(self, server: TeamServer) -> None:
        project = self.project.project
        there = await server.fingerprint(project)
        self._heads = await followed(self._heads, there, partial(server.heads, project))

    async def _plan(self, server: TeamServer) -> SyncPlan:
        """The plan, after what people decided about those who are new here."""
        address = server.address
        planned = await anyio.to_thread.run_sync(self._plan_with, address)
        if not planned.held:
            return planned
        shown = samples(planned.held)
        texts = [one for batch in _batched(shown) for one in await self._texts(server, batch)]
        if await anyio.to_thread.run_sync(self._decide, address.place, texts):
            return await anyio.to_thread.run_sync(self._plan_with, address)
        return planned

    def _plan_with(self, address: ServerAddress) -> SyncPlan:
        folder = self.project.folder
        authors = None
        if self._settings.accept == "review":
            authors = {address.user, *self._table.authors(address.place)}
        usable = {
            name: head
            for name, head in self._heads.items()
            if not why_not_named(name) and self._why_refused(head) == ""
        }
        return plan(
            self._files.hashes(self.directory),
            self._table.known(folder),
            usable,
            self._table.removals(folder),
            lambda head: authors is not None and head.author not in authors,
        )

    def _decide(self, place: str, texts: Sequence[EntryText]) -> bool:
        """Applies what people said in the inbox; true if that changes the plan."""
        is_changed = False
        local = self._files.hashes(self.directory)
        for entry in texts:
            verdict = self._review.verdict_on(self.project, entry)
            if verdict == "accepted":
                self._table.accept_author(place, entry.author, at=self._now())
                self._review.withdraw(self.project, entry.author)
            elif verdict == "rejected":
                kept = declined(self._heads[entry.name], local.get(entry.name, ABSENT))
                self._table.note(self.project.folder, {entry.name: kept})
            is_changed = is_changed or verdict != "waiting"
        return is_changed

    async def _note(self, planned: SyncPlan) -> None:
        await anyio.to_thread.run_sync(self._note_now, planned)

    def _note_now(self, planned: SyncPlan) -> None:
        folder = self.project.folder
        self._table.note(folder, planned.settled)
        self._table.forget(folder, list(planned.forgotten))
        done = {*planned.outrun, *planned.forgotten}
        done |= {
            name
            for name in self._table.removals(folder)
            if name not in self._heads or self._heads[name].sha256 == ABSENT
        }
        for name in done:
            self._table.removal_is_done(folder, name)

    # --- pulling --------------------------------------------------------------------------------

    async def _pull(self, server: TeamServer, pulls: Sequence[PlannedPull]) -> None:
        by_name = {one.entry.name: one for one in pulls}
        for batch in _batched([one.entry for one in pulls]):
            texts = await self._texts(server, batch)
            work = partial(self._take, [(by_name[one.name], one) for one in texts])
            await anyio.to_thread.run_sync(work)
        if pulls:
            await anyio.to_thread.run_sync(self._files.finish, self.directory)

    async def _texts(self, server: TeamServer, batch: Sequence[ServerEntry]) -> list[EntryText]:
        """The texts of these heads that may be taken; the others are refused from now on."""
        heads = {one.name: one for one in batch}
        found = {one.name: one for one in await server.texts(self.project.project, batch)}
        for name, head in heads.items():
            entry = found.get(name)
            is_its_own = entry is not None and entry.author == head.author
            if entry is None or not is_its_own or entry.sha256 != head.sha256:
                reason = "its text is not on the server"
            else:
                reason = why_not_taken(entry)
            if reason:
                self._refused[name] = (head.version, reason)
                found.pop(name, None)
        return list(found.values())

    def _why_refused(self, head: ServerEntry) -> str:
        version, reason = self._refused.get(head.name, (None, ""))
        return reason if version == head.version else ""

    def _take(self, pulls: Iterable[tuple[PlannedPull, EntryText]]) -> None:
        noted: dict[str, KnownEntry] = {}
        for pull, entry in pulls:
            try:
                lost = self._files.lost_change(self.directory, pull)
                if lost is not None:
                    self._table.note_lost(self.project.folder, lost)
                self._files.take(self.directory, pull, entry)
            except (Conflict, NotFound, Refused):  # changed at this moment: the next plan sees it
                continue
            noted[entry.name] = agreed(pull.entry)
            (self._removed if entry.text is None else self._pulled)[entry.name] = None
            if pull.is_conflict:
                self._conflicts[entry.name] = None
        self._table.note(self.project.folder, noted)

    # --- pushing --------------------------------------------------------------------------------

    async def _push(self, server: TeamServer, pushes: Sequence[PlannedPush]) -> int:
        """Returns how many lost against somebody else's."""
        ready = await anyio.to_thread.run_sync(self._ready, pushes)
        lost = 0
        for batch in batches((one, one.bytes) for one in ready):
            heads = await server.push(self.project.project, batch)
            await anyio.to_thread.run_sync(self._pushed_now, heads)
            lost += len(batch) - len(heads)
        if ready:
            await server.notify(self.project.project)
        return lost

    def _ready(self, pushes: Sequence[PlannedPush]) -> list[EntryPush]:
        """What may be sent, with its text as it was planned with."""
        live = sum(one.sha256 != ABSENT for one in self._heads.values())
        new = [one.name for one in pushes if one.base is None]
        too_many = {*over_the_cap(new, live, self._settings.entry_cap)}
        ready: list[EntryPush] = []
        for one in pushes:
            text = self._files.text(self.directory, one.name) if one.sha256 else None
            if one.sha256 and (text is None or hash_of(text) != one.sha256):
                continue  # changed at this moment
            reason = "" if text is None else why_not_shared(one.name, text)
            if one.name in too_many:
                cap = self._settings.entry_cap
                reason = f"the project has {cap} entries already (team.entry_cap)"
            if reason:
                self._skipped[one.name] = reason
            else:
                ready.append(EntryPush(one.name, one.sha256, text, one.base))
        return ready

    def _pushed_now(self, heads: Sequence[ServerEntry]) -> None:
        folder = self.project.folder
        self._heads |= {one.name: one for one in heads}
        self._table.note(folder, {one.name: agreed(one) for one in heads})
        for one in heads:
            if one.sha256 == ABSENT:
                self._table.removal_is_done(folder, one.name)
                self._removed[one.name] = None
            else:
                self._pushed[one.name] = None

    # --- telling --------------------------------------------------------------------------------

    async def _report(self, planned: SyncPlan) -> SyncReport:
        return await anyio.to_thread.run_sync(self._report_on, planned)

    def _report_on(self, planned: SyncPlan) -> SyncReport:
        local = self._files.hashes(self.directory)
        known = self._table.known(self.project.folder)
        refused = {
            name: why_not_named(name) or self._why_refused(head)
            for name, head in self._heads.items()
        }
        return SyncReport(
            pulled=list(self._pulled),
            pushed=list(self._pushed),
            removed=list(self._removed),
            conflicts=list(self._conflicts),
            waiting=[one.name for one in planned.pushes if one.name not in self._skipped],
            held=[SkippedEntry(one.name, one.author) for one in planned.held],
            skipped=[SkippedEntry(*one) for one in self._skipped.items()],
            refused=[SkippedEntry(name, why) for name, why in refused.items() if why],
            left_out=[
                name
                for name, one in known.items()
                if name not in local and one.sha256 != ABSENT and name in self._heads
            ],
            entries=sum(one.sha256 != ABSENT for one in self._heads.values()),
        )


def _batched(heads: Sequence[ServerEntry]) -> Iterable[list[ServerEntry]]:
    return batches((one, one.bytes) for one in heads)
