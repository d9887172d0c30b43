"""Turns what a transcript has grown by into turns, and stores both in one transaction.

Rules
- Turns and the cursor that has passed them are stored together or not at all: a kill at any moment
  repeats work, never a turn. Until then nobody hears of a turn.
- One slice at a time: a long file gives way to others after SLICE_BYTES.
- An ended turn is confirmed by silence: the file's own time says that nothing was written for
  SETTLE_SECONDS, or the caller has watched that long and nothing new is there.
- A file that is not what the cursor read is read from its beginning.
- A file that copies turns of the time before the first start (a fork does) must not make them news.
  They are told by their date; then the old parts of all files are read for the ids in them, once.

All of this blocks and belongs into a worker thread; one cursor is read by one thread at a time.
"""

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from math import inf
from typing import Final

import msgspec

from memoryd.base.file_stamp import FileStamp
from memoryd.base.timestamps import seconds_of
from memoryd.transcripts.cursor_table import CursorTable
from memoryd.transcripts.file import TranscriptFile, open_transcript
from memoryd.transcripts.old_turns import old_turns
from memoryd.transcripts.rules.assembler import SETTLE_SECONDS, Follower
from memoryd.transcripts.rules.cursor import Cursor, Fingerprint
from memoryd.transcripts.rules.turns import Abandoned, Compacted, Turn, TurnEvent
from memoryd.transcripts.scan import TranscriptScan
from memoryd.transcripts.turn_table import QueuedTurn, TurnTable, root_named

SLICE_BYTES: Final = 4 * 1024 * 1024
FOLLOWERS_KEPT: Final = 32


class FileReplaced(Exception):
    """Another file lies under this name now; only a sweep can say what that means."""


class ReadResult(msgspec.Struct, frozen=True):
    """What one look at a transcript gave; `turns` are those nobody has seen before.

    `project` is that of the session's last turn, if any was seen.
    """

    cursor: Cursor
    project: str
    turns: Sequence[QueuedTurn]
    compactions: Sequence[Compacted]
    bytes_read: int
    bad_lines: int
    has_more: bool
    started_over: bool


class TranscriptReader:
    def __init__(
        self,
        root: str,
        cursors: CursorTable,
        queue: TurnTable,
        root_of: Callable[[str], str],
        now: Callable[[], float],
    ) -> None:
        self._root = root
        self._cursors = cursors
        self._queue = queue
        self._root_of = root_of
        self._now = now
        self._followers: OrderedDict[int, Follower] = OrderedDict()
        self._followers_lock = threading.Lock()
        self._learning = threading.Lock()
        self._may_be_unlearned = True
        self._begun_at = cursors.begun_at()

    @property
    def has_begun(self) -> bool:
        return self._begun_at is not None

    def begin(self, sweep: TranscriptScan) -> list[Cursor]:
        """The first start: all that exists counts as read."""
        at = self._now()
        existing = [self._as_read(path, facts) for path, facts in sweep.sighted.items()]
        cursors = self._cursors.begin(existing, at)
        self._begun_at = at
        return cursors

    def read(self, cursor: Cursor, quiet_seconds: float = 0.0) -> ReadResult:
        """The next slice; raises Doubt, or OSError where the file cannot be read."""
        with open_transcript(self._root, cursor.path) as file:
            if file.facts().identity != cursor.facts.identity:
                raise FileReplaced
            is_same = file.is_that_of(cursor)
            start = cursor if is_same else cursor.started_over()
            follower = self._take_follower(file, start) if is_same else Follower()
            return self._read_slice(file, start, follower, quiet_seconds)

    def _read_slice(
        self, file: TranscriptFile, cursor: Cursor, follower: Follower, quiet_seconds: float
    ) -> ReadResult:
        began_at, events = follower.next_offset, list[TurnEvent]()
        for chunk in file.chunks(began_at, SLICE_BYTES):
            events += follower.feed(chunk)
        read_until, facts = follower.next_offset, file.facts()
        if read_until >= facts.size:
            quiet = quiet_seconds if read_until == began_at else 0.0
            if max(quiet, self._now() - facts.mtime_ns / 1e9) >= SETTLE_SECONDS:
                events += follower.settle()
        snapshot = follower.snapshot()
        passed = msgspec.structs.replace(
            cursor,
            facts=FileStamp(*facts.identity, read_until, facts.mtime_ns, facts.ctime_ns),
            fingerprint=file.fingerprint(follower.stored_offset),
            offset=follower.stored_offset,
            is_settled=not follower.awaits_settling,
        )
        turns, stored = self._store(events, passed, snapshot)
        self._keep_follower(stored, follower)
        compactions = [event for event in events if isinstance(event, Compacted)]
        return ReadResult(
            cursor=stored,
            project=self._queue.last_project(compactions[0].session_id) if compactions else "",
            turns=turns,
            compactions=compactions,
            bytes_read=read_until - began_at,
            bad_lines=follower.bad_lines,
            has_more=read_until < facts.size,
            started_over=began_at == 0 and cursor.number > 0,
        )

    def _store(
        self, events: Iterable[TurnEvent], cursor: Cursor, snapshot: bytes
    ) -> tuple[list[QueuedTurn], Cursor]:
        turns = {
            event.id: QueuedTurn(event, root_named(event.cwd, self._root_of), cursor.path)
            for event in events
            if isinstance(event, Turn)
        }
        self._learn_old_turns([one.turn for one in turns.values()])
        new: list[QueuedTurn] = []
        with self._cursors.transaction():
            for event in events:
                match event:
                    case Turn():
                        new += self._queue.add([turns[event.id]], at=self._now())
                    case Abandoned():
                        self._queue.abandon(event.turn_id, cursor.path)
            return new, self._cursors.save(cursor, snapshot)

    def _learn_old_turns(self, turns: Sequence[Turn]) -> None:
        started = [seconds_of(turn.started) for turn in turns]
        oldest = min((at for at in started if at is not None), default=inf)
        if oldest >= (self._begun_at or 0.0):
            return
        with self._learning:
            unlearned = self._cursors.unlearned() if self._may_be_unlearned else []
            self._may_be_unlearned = bool(unlearned)
            for cursor in unlearned:
                if cursor.mtime >= oldest:
                    self._learn(cursor)

    def _learn(self, cursor: Cursor) -> None:
        found = old_turns(self._root, cursor, with_open=True)
        with suppress(FileNotFoundError, PermissionError):
            turns = [event for event in found if isinstance(event, Turn)]
            with self._cursors.transaction():
                self._queue.add_old(turns, cursor.path, at=self._now())
                self._cursors.mark_learned(cursor)

    def _as_read(self, path: str, facts: FileStamp) -> tuple[Cursor, bytes]:
        """A cursor at the end of a file; one that cannot be opened is believed to be like that."""
        fingerprint, after_newline = Fingerprint(), True
        with suppress(OSError), open_transcript(self._root, path) as file:
            facts = file.facts()
            fingerprint = file.fingerprint(facts.size)
            after_newline = file.line_ends_at(facts.size)
        cursor = Cursor(path, facts, fingerprint, facts.size, old_until=facts.size)
        return cursor, Follower.from_offset(facts.size, after_newline=after_newline).snapshot()

    def _take_follower(self, file: TranscriptFile, cursor: Cursor) -> Follower:
        """The one in memory if it stands where the cursor does, else that of the snapshot."""
        with self._followers_lock:
            kept = self._followers.pop(cursor.number, None)
        if kept and kept.next_offset == cursor.facts.size <= file.facts().size:
            return kept
        snapshot = self._cursors.snapshot(cursor)
        if snapshot:
            with suppress(msgspec.DecodeError):
                return Follower.restore(snapshot)
        # A snapshot of another version: what was seen is known by its id.
        after_newline = file.line_ends_at(cursor.old_until)
        return Follower.from_offset(cursor.old_until, after_newline=after_newline)

    def _keep_follower(self, cursor: Cursor, follower: Follower) -> None:
        with self._followers_lock:
            self._followers[cursor.number] = follower
            if len(self._followers) > FOLLOWERS_KEPT:
                self._followers.popitem(last=False)
