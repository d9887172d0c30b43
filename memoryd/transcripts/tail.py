"""Follows all transcripts: decides when to read which, and announces what was found.

Work is level-triggered. File events, the agent's hooks and the clock only say where to look now;
the truth is the file compared with its cursor, and a scan by stat finds every difference alone.

- A scan runs at the start, every `sweep_seconds`, and whenever something is unclear. Without a
  watch, or without a projects folder to watch, it runs more often.
- Only a scan decides which file is which; an unknown name requests one.
- A transcript whose turn has ended is read again after SETTLE_SECONDS: silence confirms the end.
- A file whose last turn has no ending is read again when it has been at rest for long enough; each
  scan looks for such files.
- A file that cannot be read is logged once and retried at each scan.
"""

import errno
import os
from typing import Final

import anyio
import anyio.to_thread
import msgspec
import structlog
from anyio.lowlevel import checkpoint

from memoryd.base import events
from memoryd.base.errors import Refused, StorageError
from memoryd.system.notices import Notices
from memoryd.system.watcher import Watcher
from memoryd.transcripts.cursor_table import CursorTable
from memoryd.transcripts.reader import FileReplaced, ReadResult, TranscriptReader
from memoryd.transcripts.registry import TranscriptRegistry, WarnOnce
from memoryd.transcripts.rules.assembler import SETTLE_SECONDS, is_session_transcript
from memoryd.transcripts.rules.turns import Compacted
from memoryd.transcripts.turn_table import QueuedTurn
from memoryd.transcripts.work_queue import WorkQueue

READERS: Final = 3
ROOT_MISSING_SECONDS: Final = 1.0
UNWATCHED_SECONDS: Final = 2.0
RETRY_SECONDS: Final = 5.0
# The Stop hook runs before the last lines are on disk; they come about 100 ms later.
AFTER_TURN_SECONDS: Final = (0.0, 0.05, 0.1, 0.2, 0.4)
EVENTS_AT_ONCE: Final = 16
NOT_A_FILE: Final = frozenset(
    {errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.ELOOP, errno.ENXIO, errno.EINVAL}
)

log = structlog.get_logger(__name__)


class TailStatus(msgspec.Struct, frozen=True):
    """`behind_bytes` are on disk and unread; `settling` turns have ended and wait for silence."""

    watched: int = 0
    behind_bytes: int = 0
    settling: int = 0


class Tail:
    def __init__(
        self,
        *,
        root: str,
        cursors: CursorTable,
        reader: TranscriptReader,
        notices: Notices,
        sweep_seconds: float,
    ) -> None:
        self._root = root
        self._reader = reader
        self._notices = notices
        self._sweep_seconds = sweep_seconds
        self._work_queue = WorkQueue()
        self._warn_once = WarnOnce()
        self._registry = TranscriptRegistry(
            root=root,
            cursors=cursors,
            first_run=reader,
            work_queue=self._work_queue,
            warn_once=self._warn_once,
        )
        self._watcher = Watcher(self._files_changed, self._registry.request_scan)
        self._quiet_since: dict[str, float] = {}
        self._open_sessions: dict[str, str] = {}
        self._storage_problem = ""

    async def begin(self) -> None:
        """Loads all cursors; on the first start, everything that exists counts as read.

        Must finish before the first request is answered: what a client writes after that is new.
        """
        await self._registry.load()
        await self._registry.scan()
        for path, cursor in self._registry.known.items():
            if not cursor.is_settled:
                self._work_queue.add(path)
        self._read_rested_files()

    async def run(self) -> None:
        """Follows until cancelled."""
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._watcher.run)
            tasks.start_soon(self._keep_scanning)
            for _ in range(READERS):
                tasks.start_soon(self._keep_reading)

    async def status(self) -> TailStatus:
        """How far reading is behind the disk as it is now."""
        scanned = await self._registry.scan()
        self._watcher.set_folders(scanned.folders)  # this scan may be the first to see a new one
        cursors = self._registry.known.values()
        settling = sum(not cursor.is_settled for cursor in cursors)
        return TailStatus(len(cursors), scanned.behind_bytes, settling)

    def forget_followers(self) -> None:
        """What is read next starts from the stored state, which somebody has changed."""
        self._reader.forget_followers()

    def open_sessions(self) -> frozenset[str]:
        """Sessions in which a turn has begun and not ended, as far as was read since the start."""
        return frozenset(list(self._open_sessions.values()))

    @property
    def problems(self) -> list[str]:
        """Problems for `status`, in sentences."""
        found = (self._watcher.problem, self._registry.last_scan.problem, self._storage_problem)
        return [problem for problem in found if problem]

    async def turn_ended(self, transcript: str) -> bool:
        """Reads a session's transcript now and a few times more; false for a sub-agent's."""
        path = await anyio.to_thread.run_sync(relative_path, self._root, transcript)
        if not is_session_transcript(path):
            return False
        for delay_seconds in AFTER_TURN_SECONDS:
            self._work_queue.add_later(path, delay_seconds)
        return True

    def _files_changed(self, paths: set[str]) -> None:
        for full_path in paths:
            path = full_path.removeprefix(f"{self._root}/")
            if path in self._registry.known:
                self._work_queue.add(path)
            elif "/" not in path or path == full_path or is_session_transcript(path):
                self._registry.request_scan()

    async def _keep_scanning(self) -> None:
        while True:
            scanned = self._registry.last_scan
            self._watcher.set_folders(scanned.folders)
            # Requests that come in a burst share one scan, and scans leave time for other work.
            await anyio.sleep(max(0.05, 4 * scanned.took_seconds))
            with anyio.move_on_after(self._pause_seconds()):
                await self._registry.scan_requested.wait()
            await self._registry.scan()
            self._read_rested_files()

    def _read_rested_files(self) -> None:
        for path, cursor in self._registry.known.items():
            if self._reader.is_at_rest(cursor):
                self._work_queue.add(path)

    def _pause_seconds(self) -> float:
        scanned = self._registry.last_scan
        if not scanned.root_exists:
            return min(ROOT_MISSING_SECONDS, self._sweep_seconds)
        if self._watcher.problem:
            return min(max(UNWATCHED_SECONDS, 50 * scanned.took_seconds), self._sweep_seconds)
        return self._sweep_seconds

    async def _keep_reading(self) -> None:
        while True:
            path = await self._work_queue.next()
            with self._work_queue.working_on(path):
                try:
                    await self._read(path)
                except Exception:
                    log.exception("transcript-read-failed", path=path)

    async def _read(self, path: str) -> None:
        cursor = self._registry.known.get(path)
        if cursor is None:
            self._registry.request_scan()
            return
        now = anyio.current_time()
        quiet_seconds = now - self._quiet_since.get(path, now)
        try:
            reading = await anyio.to_thread.run_sync(self._reader.read, cursor, quiet_seconds)
        except FileReplaced:
            self._file_replaced(path)
        except StorageError as error:
            self._storage_problem = error.message
            self._work_queue.add_later(path, RETRY_SECONDS)
        except OSError as error:
            if error.errno in NOT_A_FILE:
                self._file_replaced(path)
            else:
                self._warn_once.warn(path, error.strerror or type(error).__name__)
                if path in self._quiet_since:
                    self._work_queue.add_later(path, RETRY_SECONDS)
        else:
            self._storage_problem = ""
            self._registry.known[path] = reading.cursor
            self._note_open_turn(path, reading.open_session)
            self._schedule_next(path, reading)
            await self._announce(path, reading)

    def _note_open_turn(self, path: str, session_id: str) -> None:
        self._open_sessions.pop(path, None)
        if session_id:
            self._open_sessions[path] = session_id

    def _file_replaced(self, path: str) -> None:
        self._open_sessions.pop(path, None)
        self._quiet_since.pop(path, None)
        self._registry.request_scan()

    def _schedule_next(self, path: str, reading: ReadResult) -> None:
        """When to read again, if nothing else happens."""
        if reading.has_more:
            self._work_queue.add(path)
        elif reading.cursor.is_settled:
            self._quiet_since.pop(path, None)
        elif reading.bytes_read or path not in self._quiet_since:
            self._quiet_since[path] = anyio.current_time()
            self._work_queue.add_later(path, SETTLE_SECONDS + 0.01)

    async def _announce(self, path: str, reading: ReadResult) -> None:
        log.debug(
            "transcript-read",
            path=path,
            bytes=reading.bytes_read,
            offset=reading.cursor.offset,
            turns=len(reading.turns),
            started_over=reading.started_over,
        )
        if reading.bad_lines:
            self._warn_once.warn(path, "has unreadable lines")
        if reading.open_turn and reading.bytes_read and not reading.has_more:
            self._notices.post(reading.open_turn)
        for compacted in reading.compactions:
            self._announce_compaction(compacted, reading.project)
        for number, queued in enumerate(reading.turns, start=1):
            self._announce_turn(queued)
            if number % EVENTS_AT_ONCE == 0:
                await checkpoint()  # lets subscribers empty their short queues

    def _announce_turn(self, queued: QueuedTurn) -> None:
        turn = queued.turn
        self._notices.announce(
            events.TurnSeen(
                project=queued.project,
                session_id=turn.session_id,
                turn_id=turn.id,
                ending=turn.ending,
                continues=turn.continues,
                prompts=len(turn.prompts),
                tool_calls=turn.tool_call_count,
                context_tokens=turn.context_tokens,
                output_tokens=turn.output_tokens,
            )
        )
        self._notices.post(queued)

    def _announce_compaction(self, compacted: Compacted, project: str) -> None:
        """Repeated if the transcript is read from the beginning again."""
        self._notices.announce(
            events.SessionCompacted(
                project=project,
                session_id=compacted.session_id,
                trigger=compacted.trigger,
                tokens_before=compacted.tokens_before,
                tokens_after=compacted.tokens_after,
            )
        )
        self._notices.post(compacted)


def relative_path(root: str, transcript: str) -> str:
    """A transcript's path inside the projects folder; Refused for a file outside it."""
    folder, name = os.path.split(os.path.normpath(transcript))
    path = os.path.relpath(f"{os.path.realpath(folder)}/{name}", os.path.realpath(root))
    if path.startswith("..") or not transcript.startswith("/"):
        raise Refused(
            f"{transcript} is not a transcript in {root}",
            hint="CLAUDE_CONFIG_DIR must be the same for the agent and for memoryd",
        )
    return path
