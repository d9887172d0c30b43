"""Keeps the register of transcripts: which are there, and where reading stands in each.

Sweeps compare the register with the disk, one sweep at a time, and put what differs on the agenda.
The register is changed here and by whoever has just read a transcript; what is being read meanwhile
is left alone, and the next sweep comes soon.
"""

import time
from collections.abc import Callable, Iterable
from typing import Final, Protocol

import anyio
import anyio.to_thread
import msgspec
import structlog

from memoryd.base.errors import StorageError
from memoryd.base.file_stamp import Identity
from memoryd.transcripts.cursor_table import CursorTable
from memoryd.transcripts.rules.cursor import (
    LOST_SECONDS,
    Cursor,
    Differences,
    Plan,
    bytes_behind,
    differences,
    plan,
)
from memoryd.transcripts.scan import TranscriptScan, sweep
from memoryd.transcripts.work_queue import WorkQueue

PRUNE_SECONDS: Final = 3600.0
MENTIONS_MAX: Final = 1000

log = structlog.get_logger(__name__)


class FirstRun(Protocol):
    """Knows whether there was a first start, and can make one."""

    @property
    def has_begun(self) -> bool: ...

    def begin(self, found: TranscriptScan) -> list[Cursor]: ...


class WarnOnce:
    """Warns of each thing once, and not without end."""

    def __init__(self) -> None:
        self._made: set[tuple[str, str]] = set()

    def add(self, path: str, reason: str) -> None:
        if (path, reason) not in self._made and len(self._made) < MENTIONS_MAX:
            self._made.add((path, reason))
            log.warning("transcript-passed-over", path=path, reason=reason)


class SweepReport(msgspec.Struct):
    """How the last sweep went; `folders` are what can be watched, by full path."""

    began_at: float = -1.0
    took_seconds: float = 0.0
    behind_bytes: int = 0
    root_is_there: bool = False
    problem: str = ""
    folders: dict[str, Identity] = {}


class TranscriptRegistry:
    def __init__(
        self,
        *,
        root: str,
        cursors: CursorTable,
        beginner: FirstRun,
        agenda: WorkQueue,
        mentions: WarnOnce,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._root = root
        self._cursors = cursors
        self._beginner = beginner
        self._agenda = agenda
        self._mentions = mentions
        self._now = now
        self._lost: dict[int, Cursor] = {}
        self._one_at_a_time = anyio.Lock()
        self._pruned_at = 0.0
        self.known: dict[str, Cursor] = {}
        self.health = SweepReport()
        self.wanted = anyio.Event()

    async def load(self) -> None:
        here, lost = await anyio.to_thread.run_sync(self._cursors.load)
        self.known = {cursor.path: cursor for cursor in here}
        # After a death in the midst of a move, two may claim one name: the files will tell.
        beaten = [cursor for cursor in here if self.known[cursor.path] is not cursor]
        self._lost = {cursor.number: cursor for cursor in (*lost, *beaten)}

    def want(self) -> None:
        """Something may have happened that nobody told us."""
        self.wanted.set()

    async def sweep(self) -> SweepReport:
        """One that begins after the call; callers who wait at the same time share it."""
        asked_at = anyio.current_time()
        async with self._one_at_a_time:
            if self.health.began_at < asked_at:
                await self._sweep()
        return self.health

    async def _sweep(self) -> None:
        if (
            self.wanted.is_set()
        ):  # whoever waits for it has been woken; nobody waits for the new one
            self.wanted = anyio.Event()
        began_at = anyio.current_time()
        try:
            found, differing = await anyio.to_thread.run_sync(
                _compared, self._root, dict(self.known)
            )
        except OSError as error:
            self._fail(f"cannot look into {self._root}: {error.strerror}")
            return
        for oddity in found.oddities:
            self._mentions.add(oddity.path, oddity.reason)
        behind_bytes = 0
        if self._beginner.has_begun:
            behind_bytes = bytes_behind(self.known, differing.changed)
            await self._act_on(differing)
        else:
            await self._begin(found)
        self.health = SweepReport(
            began_at=began_at,
            took_seconds=anyio.current_time() - began_at,
            behind_bytes=behind_bytes,
            root_is_there=found.root_identity is not None,
            folders=_full_paths(found),
        )

    def _fail(self, problem: str) -> None:
        if self.health.problem != problem:
            log.warning("sweep-failed", problem=problem)
        self.health.problem = problem

    async def _begin(self, found: TranscriptScan) -> None:
        cursors = await anyio.to_thread.run_sync(self._beginner.begin, found)
        self.known = {cursor.path: cursor for cursor in cursors}
        log.info("first-start", transcripts=len(cursors))

    async def _act_on(self, differing: Differences) -> None:
        busy = self._agenda.busy
        in_work = {self.known[path].facts.identity for path in busy & self.known.keys()}
        changed = {
            path: facts
            for path, facts in differing.changed.items()
            if path not in busy and facts.identity not in in_work
        }
        gone = [path for path in differing.gone if path in self.known and path not in busy]
        if len(changed) + len(gone) < len(differing.changed) + len(differing.gone):
            self.want()
        what = plan(self.known, self._lost.values(), changed, gone)
        self._apply(what, gone)
        await self._store_losses(what.lost)

    def _apply(self, what: Plan, gone: Iterable[str]) -> None:
        for path in gone:
            del self.known[path]
        self._lost |= {cursor.number: cursor for cursor in what.lost if cursor.number}
        for cursor in what.placed:
            self.known[cursor.path] = cursor
            self._lost.pop(cursor.number, None)
        for path in (*what.look, *(cursor.path for cursor in what.placed)):
            self._agenda.add(path)

    async def _store_losses(self, lost: tuple[Cursor, ...]) -> None:
        now = self._now()
        is_time_to_prune = self._lost and abs(now - self._pruned_at) > PRUNE_SECONDS
        try:
            if lost:
                await anyio.to_thread.run_sync(self._cursors.lose, lost, now)
            if is_time_to_prune:
                self._pruned_at = now
                forgotten = await anyio.to_thread.run_sync(
                    self._cursors.forget_lost, now - LOST_SECONDS
                )
                for number in forgotten:
                    self._lost.pop(number, None)
        except StorageError as error:  # a loss that is not stored is found again at the next start
            log.warning("losses-not-stored", error=error.message)


def _compared(root: str, known: dict[str, Cursor]) -> tuple[TranscriptScan, Differences]:
    found = sweep(root, known)
    return found, differences(known, found.sighted, found.unread)


def _full_paths(found: TranscriptScan) -> dict[str, Identity]:
    folders = {f"{found.root}/{name}": which for name, which in found.folders.items()}
    if found.root_identity is not None:
        folders[found.root] = found.root_identity
    return folders
