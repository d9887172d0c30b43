"""What one sync does: local, last known and server state in; pulls, pushes and conflicts out.

Rules
- An entry is a name; what it says is known by its hash, and nothing here looks inside. The empty
  hash means absent: here a file that is not there, on the server a tombstone.
- A version is the server's: its clock in microseconds and a random tiebreak. Versions are only
  compared for equality, never with a clock of this machine.
- `KnownEntry` is what both sides agreed on last: the server's version, its hash there, and the
  hash that was on disk here (`kept`). The two hashes differ only for what was declined here.
- Changed here means: the file is not `kept`. Changed there means: the version is another one.
- Changed here only: pushed over the known version. Changed there only: pulled.
- Changed on both sides: the server wins. The text that loses was recorded before, and is named.
- Equal hashes are never a conflict, however they came about.
- A file that is gone here stays gone here until the server has a newer version. Only a removal
  that somebody asked for travels, as a tombstone over the version that they saw.
- An entry that the server lost (an old backup came back) is pushed again.
- What waits for a review, or was refused, is neither pulled nor pushed over.

A push is over a version (`base`): the server takes it only if that is still the current one. So
two machines that push at once have one winner; the other one plans again, and pulls.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Final, Literal, Protocol

import msgspec

ABSENT: Final = ""


class EntryVersion(msgspec.Struct, frozen=True, order=True):
    """The server's clock at the write, in microseconds, and a tiebreak."""

    stamp: int
    tie: int


class EntryHead(Protocol):
    """What tells versions apart, of whatever the server keeps."""

    @property
    def name(self) -> str: ...

    @property
    def version(self) -> EntryVersion: ...


class ServerEntry(msgspec.Struct, frozen=True):
    """The head of one entry on the server; without a hash it is a tombstone."""

    name: str
    version: EntryVersion
    sha256: str
    author: str = ""
    bytes: int = 0


class KnownEntry(msgspec.Struct, frozen=True):
    """What was agreed last; `kept` is what was on disk here then."""

    version: EntryVersion
    sha256: str
    kept: str


class PlannedPush(msgspec.Struct, frozen=True):
    """`base` is the version that it replaces, None for a new entry; no hash is a tombstone."""

    name: str
    sha256: str
    base: EntryVersion | None


class PlannedPull(msgspec.Struct, frozen=True):
    """`local` is what is on disk and will be replaced; with `is_conflict` it was changed here."""

    entry: ServerEntry
    local: str
    is_conflict: bool = False


class SyncPlan(msgspec.Struct, frozen=True):
    """`settled` agree already and only need to be known; `held` wait for a review here.

    `outrun` are removals that were asked for, of an entry that somebody changed since.
    """

    pulls: tuple[PlannedPull, ...] = ()
    pushes: tuple[PlannedPush, ...] = ()
    settled: Mapping[str, KnownEntry] = {}
    held: tuple[ServerEntry, ...] = ()
    outrun: tuple[str, ...] = ()
    forgotten: tuple[str, ...] = ()


def plan(
    local: Mapping[str, str],
    known: Mapping[str, KnownEntry],
    server: Mapping[str, ServerEntry],
    removals: Collection[str] = (),
    is_held: Callable[[ServerEntry], bool] = lambda _: False,
) -> SyncPlan:
    """`local` has the hash of every file here; `removals` are to become tombstones."""
    steps = {
        name: _step(
            name,
            local.get(name, ABSENT),
            known.get(name),
            server.get(name),
            wants_removal=name in removals,
            is_held=is_held,
        )
        for name in sorted({*local, *known, *server})
    }
    pulls = [one for one in steps.values() if isinstance(one, PlannedPull)]
    return SyncPlan(
        pulls=tuple(pulls),
        pushes=tuple(one for one in steps.values() if isinstance(one, PlannedPush)),
        settled={name: one for name, one in steps.items() if isinstance(one, KnownEntry)},
        held=tuple(one for one in steps.values() if isinstance(one, ServerEntry)),
        outrun=tuple(one.entry.name for one in pulls if one.entry.name in removals),
        forgotten=tuple(name for name, one in steps.items() if one == "forgotten"),
    )


Step = PlannedPull | PlannedPush | KnownEntry | ServerEntry | Literal["forgotten"] | None


def _step(
    name: str,
    here: str,
    last: KnownEntry | None,
    there: ServerEntry | None,
    *,
    wants_removal: bool,
    is_held: Callable[[ServerEntry], bool],
) -> Step:
    """What becomes of one entry: one of the rules above."""
    if there is None:
        if here != ABSENT and not wants_removal:
            return PlannedPush(name, here, None)
        return "forgotten" if last is not None else None
    if last is not None and last.version == there.version:
        if push := _push_over(name, here, last, there, wants_removal=wants_removal):
            return push
        return agreed(there) if here == there.sha256 != last.kept else None
    if here == there.sha256:
        return agreed(there)
    if is_held(there):
        return there
    was_changed = here not in {ABSENT, last.kept if last is not None else ABSENT}
    return PlannedPull(there, here, was_changed)


def agreed(entry: ServerEntry) -> KnownEntry:
    """Both sides have what the server has."""
    return KnownEntry(entry.version, entry.sha256, entry.sha256)


def declined(entry: ServerEntry, here: str) -> KnownEntry:
    """The server's version was refused here: what is on disk stays, and is not pushed."""
    return KnownEntry(entry.version, entry.sha256, here)


def _push_over(
    name: str, here: str, last: KnownEntry, there: ServerEntry, *, wants_removal: bool
) -> PlannedPush | None:
    """What to push over a version that did not change there; None if nothing."""
    if wants_removal:
        is_there = there.sha256 != ABSENT
        return PlannedPush(name, ABSENT, there.version) if is_there else None
    if here in {ABSENT, last.kept, there.sha256}:
        return None
    return PlannedPush(name, here, there.version)


class Fingerprint(msgspec.Struct, frozen=True):
    """All versions of a project in three numbers; another version makes another fingerprint."""

    count: int
    newest: int
    ties: int


def fingerprint(heads: Iterable[EntryHead]) -> Fingerprint:
    count = newest = ties = 0
    for one in heads:
        count += 1
        newest = max(newest, one.version.stamp)
        ties += one.version.tie
    return Fingerprint(count, newest, ties)
