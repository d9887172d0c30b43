"""Registry of transcripts: which files exist, and how far each has been read.

A scan compares the registry with the disk and queues every file that differs. Scans run one at a
time. The registry is changed here and by the reader task that has just read a transcript; a scan
skips files that are being read, and asks for another scan soon.
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
from memoryd.transcripts.scan import FolderListing, Listings, TranscriptScan, scan
from memoryd.transcripts.work_queue import WorkQueue

PRUNE_SECONDS: Final = 3600.0
WARNINGS_MAX: Final = 1000

log = structlog.get_logger(__name__)


class FirstRun(Protocol):
    """Knows whether the first start has happened, and can perform it."""

    @property
    def has_begun(self) -> bool: ...

    def begin(self, found: TranscriptScan) -> list[Cursor]: ...


class WarnOnce:
    """Logs each warning once, up to a limit."""

    def __init__(self) -> None:
        self._logged: set[tuple[str, str]] = set()

    def warn(self, path: str, reason: str) -> None:
        if (path, reason) not in self._logged and len(self._logged) < WARNINGS_MAX:
            self._logged.add((path, reason))
            log.warning("transcript-skipped", path=path, reason=reason)


class ScanReport(msgspec.Struct):
    """How the last scan went; `folders` are those to watch, by full path."""

    began_at: float = -1.0
    took_seconds: float = 0.0
    behind_bytes: int = 0
    root_exists: bool = False
    problem: str = ""
    folders: dict[str, Identity] = {}


class TranscriptRegistry:
    def __init__(
        self,
        *,
        root: str,
        cursors: CursorTable,
        first_run: FirstRun,
        work_queue: WorkQueue,
        warn_once: WarnOnce,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._root = root
        self._cursors = cursors
        self._first_run = first_run
        self._work_queue = work_queue
        self._warn_once = warn_once
        self._now = now
        self._lost: dict[int, Cursor] = {}
        self._listings: dict[str, FolderListing] = {}
        self._scanning = anyio.Lock()
        self._pruned_at = 0.0
        self.known: dict[str, Cursor] = {}
        self.last_scan = ScanReport()
        self.scan_requested = anyio.Event()

    async def load(self) -> None:
        here, lost = await anyio.to_thread.run_sync(self._cursors.load)
        self.known = {cursor.path: cursor for cursor in here}
        # After a crash in the middle of a move, two cursors may claim one path; the next scan
        # decides between them by the files.
        displaced = [cursor for cursor in here if self.known[cursor.path] is not cursor]
        self._lost = {cursor.number: cursor for cursor in (*lost, *displaced)}

    def request_scan(self) -> None:
        """Something may have changed that no event reported."""
        self.scan_requested.set()

    async def scan(self) -> ScanReport:
        """Runs a scan that begins after this call; concurrent callers share one."""
        asked_at = anyio.current_time()
        async with self._scanning:
            if self.last_scan.began_at < asked_at:
                await self._scan()
        return self.last_scan

    async def _scan(self) -> None:
        if self.scan_requested.is_set():  # its waiters are awake; a new event has none yet
            self.scan_requested = anyio.Event()
        began_at = anyio.current_time()
        try:
            found, differing = await anyio.to_thread.run_sync(
                _compared, self._root, dict(self.known), self._listings
            )
        except OSError as error:
            self._fail(f"cannot list {self._root}: {error.strerror}")
            return
        for oddity in found.oddities:
            self._warn_once.warn(oddity.path, oddity.reason)
        behind_bytes = 0
        if self._first_run.has_begun:
            behind_bytes = bytes_behind(self.known, differing.changed)
            await self._act_on(differing)
        else:
            await self._begin(found)
        self.last_scan = ScanReport(
            began_at=began_at,
            took_seconds=anyio.current_time() - began_at,
            behind_bytes=behind_bytes,
            root_exists=found.root_identity is not None,
            folders=_full_paths(found),
        )

    def _fail(self, problem: str) -> None:
        if self.last_scan.problem != problem:
            log.warning("scan-failed", problem=problem)
        self.last_scan.problem = problem

    async def _begin(self, found: TranscriptScan) -> None:
        cursors = await anyio.to_thread.run_sync(self._first_run.begin, found)
        self.known = {cursor.path: cursor for cursor in cursors}
        log.info("first-start", transcripts=len(cursors))

    async def _act_on(self, differing: Differences) -> None:
        busy = self._work_queue.busy
        busy_files = {self.known[path].stamp.identity for path in busy & self.known.keys()}
        changed = {
            path: stamp
            for path, stamp in differing.changed.items()
            if path not in busy and stamp.identity not in busy_files
        }
        gone = [path for path in differing.gone if path in self.known and path not in busy]
        if len(changed) + len(gone) < len(differing.changed) + len(differing.gone):
            self.request_scan()
        steps = plan(self.known, self._lost.values(), changed, gone)
        self._apply(steps, gone)
        await self._save_lost(steps.lost)

    def _apply(self, steps: Plan, gone: Iterable[str]) -> None:
        for path in gone:
            del self.known[path]
        self._lost |= {cursor.number: cursor for cursor in steps.lost if cursor.number}
        for cursor in steps.placed:
            self.known[cursor.path] = cursor
            self._lost.pop(cursor.number, None)
        for path in (*steps.look, *(cursor.path for cursor in steps.placed)):
            self._work_queue.add(path)

    async def _save_lost(self, lost: tuple[Cursor, ...]) -> None:
        now = self._now()
        is_time_to_prune = self._lost and abs(now - self._pruned_at) > PRUNE_SECONDS
        try:
            if lost:
                await anyio.to_thread.run_sync(self._cursors.mark_lost, lost, now)
            if is_time_to_prune:
                self._pruned_at = now
                forgotten = await anyio.to_thread.run_sync(
                    self._cursors.forget_lost, now - LOST_SECONDS
                )
                for number in forgotten:
                    self._lost.pop(number, None)
        except StorageError as error:  # the next start finds them lost again
            log.warning("lost-cursors-not-saved", error=error.message)


def _compared(
    root: str, known: dict[str, Cursor], listings: Listings
) -> tuple[TranscriptScan, Differences]:
    found = scan(root, known, listings)
    return found, differences(known, found.files, found.unreadable)


def _full_paths(found: TranscriptScan) -> dict[str, Identity]:
    folders = {f"{found.root}/{name}": which for name, which in found.folders.items()}
    if found.root_identity is not None:
        folders[found.root] = found.root_identity
    return folders
