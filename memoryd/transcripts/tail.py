"""Follows all transcripts: decides when to look at which, and tells of what was found.

Work is level-triggered. Events of the watch, the agent's hooks and the clock only say where to look
now; the truth is the file beside its cursor, and a sweep by stat finds every difference alone.

- A sweep comes at the start, every `sweep_seconds`, and after every doubt. Without a watch, or
  without a projects folder to watch, it comes more often.
- Only a sweep says which file is which; a name that is not known asks for one.
- A turn that has ended is looked at again after SETTLE_SECONDS, when silence confirms it.
- What cannot be read is mentioned once and tried again at each sweep.
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
IT_IS_NO_FILE: Final = frozenset(
    {errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.ELOOP, errno.ENXIO, errno.EINVAL}
)

log = structlog.get_logger(__name__)


class Lag(msgspec.Struct, frozen=True):
    """`behind` counts unread bytes on disk; `settling` turns have ended and wait for silence."""

    watched: int = 0
    behind: int = 0
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
        self._agenda = WorkQueue()
        self._mentions = WarnOnce()
        self._sweeper = TranscriptRegistry(
            root=root,
            cursors=cursors,
            beginner=reader,
            agenda=self._agenda,
            mentions=self._mentions,
        )
        self._watcher = Watcher(self._hint, self._sweeper.want)
        self._quiet_since: dict[str, float] = {}
        self._storage_problem = ""

    async def begin(self) -> None:
        """Learns where reading stands; on the first start, all that exists counts as read.

        To be done before anybody is answered: what a client writes after an answer is news.
        """
        await self._sweeper.load()
        await self._sweeper.sweep()
        for path, cursor in self._sweeper.known.items():
            if not cursor.is_settled:
                self._agenda.add(path)

    async def run(self) -> None:
        """Follows until cancelled."""
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._watcher.run)
            tasks.start_soon(self._sweep_for_ever)
            for _ in range(READERS):
                tasks.start_soon(self._read_for_ever)

    async def lag(self) -> Lag:
        """How far we are behind the disk as it is now."""
        health = await self._sweeper.sweep()
        cursors = self._sweeper.known.values()
        settling = sum(not cursor.is_settled for cursor in cursors)
        return Lag(len(cursors), health.behind_bytes, settling)

    @property
    def problems(self) -> list[str]:
        """What a person should know of, in sentences."""
        found = (self._watcher.problem, self._sweeper.health.problem, self._storage_problem)
        return [problem for problem in found if problem]

    async def turn_ended(self, transcript: str) -> bool:
        """Looks at a session's transcript now and for a moment longer; false for a sub-agent's."""
        path = await anyio.to_thread.run_sync(relative_path, self._root, transcript)
        if not is_session_transcript(path):
            return False
        for delay_seconds in AFTER_TURN_SECONDS:
            self._agenda.add_later(path, delay_seconds)
        return True

    def _hint(self, paths: set[str]) -> None:
        for full_path in paths:
            path = full_path.removeprefix(f"{self._root}/")
            if path in self._sweeper.known:
                self._agenda.add(path)
            elif "/" not in path or path == full_path or is_session_transcript(path):
                self._sweeper.want()

    async def _sweep_for_ever(self) -> None:
        while True:
            self._watcher.set_folders(self._sweeper.health.folders)
            # Doubts that come in a storm share a sweep, and sweeping is not all that is done.
            await anyio.sleep(max(0.05, 4 * self._sweeper.health.took_seconds))
            with anyio.move_on_after(self._pause_seconds()):
                await self._sweeper.wanted.wait()
            await self._sweeper.sweep()

    def _pause_seconds(self) -> float:
        health = self._sweeper.health
        if not health.root_is_there:
            return min(ROOT_MISSING_SECONDS, self._sweep_seconds)
        if self._watcher.problem:
            return min(max(UNWATCHED_SECONDS, 50 * health.took_seconds), self._sweep_seconds)
        return self._sweep_seconds

    async def _read_for_ever(self) -> None:
        while True:
            path = await self._agenda.next()
            with self._agenda.working_on(path):
                try:
                    await self._look(path)
                except Exception:
                    log.exception("look-failed", path=path)

    async def _look(self, path: str) -> None:
        cursor = self._sweeper.known.get(path)
        if cursor is None:
            self._sweeper.want()
            return
        now = anyio.current_time()
        quiet_seconds = now - self._quiet_since.get(path, now)
        try:
            reading = await anyio.to_thread.run_sync(self._reader.read, cursor, quiet_seconds)
        except FileReplaced:
            self._doubt(path)
        except StorageError as error:
            self._storage_problem = error.message
            self._agenda.add_later(path, RETRY_SECONDS)
        except OSError as error:
            if error.errno in IT_IS_NO_FILE:
                self._doubt(path)
            else:
                self._mentions.add(path, error.strerror or type(error).__name__)
                if path in self._quiet_since:
                    self._agenda.add_later(path, RETRY_SECONDS)
        else:
            self._storage_problem = ""
            self._sweeper.known[path] = reading.cursor
            self._go_on(path, reading)
            await self._announce(path, reading)

    def _doubt(self, path: str) -> None:
        self._quiet_since.pop(path, None)
        self._sweeper.want()

    def _go_on(self, path: str, reading: ReadResult) -> None:
        """When to look again, if nothing else happens."""
        if reading.has_more:
            self._agenda.add(path)
        elif reading.cursor.is_settled:
            self._quiet_since.pop(path, None)
        elif reading.bytes_read or path not in self._quiet_since:
            self._quiet_since[path] = anyio.current_time()
            self._agenda.add_later(path, SETTLE_SECONDS + 0.01)

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
            self._mentions.add(path, "has lines that cannot be read")
        for compacted in reading.compactions:
            self._announce_compaction(compacted, reading.project)
        for number, queued in enumerate(reading.turns, start=1):
            self._announce_turn(queued)
            if number % EVENTS_AT_ONCE == 0:
                await checkpoint()  # subscribers have short queues and need time to empty them

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
        """May come again for a transcript that is read from its beginning."""
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
    """A transcript's name from the projects folder; Refused for a file outside of it."""
    folder, name = os.path.split(os.path.normpath(transcript))
    path = os.path.relpath(f"{os.path.realpath(folder)}/{name}", os.path.realpath(root))
    if path.startswith("..") or not transcript.startswith("/"):
        raise Refused(
            f"{transcript} is no transcript below {root}",
            hint="CLAUDE_CONFIG_DIR has to be the same for the agent and for memoryd",
        )
    return path
