"""Reads what was appended to a transcript, and stores the turns in it and the new cursor together.

Rules
- Turns and the cursor behind them are stored in one transaction: a kill at any moment repeats work,
  never a turn. A turn is announced only after that.
- One slice at a time: after SLICE_BYTES a long file lets others go first.
- An ended turn is confirmed by silence: the file's mtime says that nothing was written for
  SETTLE_SECONDS, or the caller has watched that long and nothing new is there.
- A file at rest gives its open turn too, since nothing more will come (`assembler`).
- A file that does not match its cursor is read from the beginning.
- A file that copies turns from before the first start (a fork does) must not make them new. Their
  dates give them away; then the old parts of all files are read once, to learn the ids in them.

Everything here blocks, so it runs in worker threads; one cursor is read by one thread at a time.
"""

import errno
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from math import inf
from typing import Final

import msgspec

from memoryd.base.file_stamp import FileStamp
from memoryd.base.timestamps import seconds_of
from memoryd.transcripts.cursor_table import CursorTable
from memoryd.transcripts.file import ALL_BYTES, TranscriptFile, open_transcript
from memoryd.transcripts.rules.assembler import SETTLE_SECONDS, Follower
from memoryd.transcripts.rules.cursor import Cursor, Fingerprint
from memoryd.transcripts.rules.excluded import NOTHING_PRIVATE, PrivateNames
from memoryd.transcripts.rules.open_turn import OpenTurn, open_turn
from memoryd.transcripts.rules.turns import Abandoned, Compacted, Turn, TurnEvent
from memoryd.transcripts.scan import TranscriptScan
from memoryd.transcripts.turn_table import QueuedTurn, TurnTable, root_named

SLICE_BYTES: Final = 4 * 1024 * 1024
FOLLOWERS_KEPT: Final = 32


class FileReplaced(Exception):
    """The path names another file now; only a scan can tell what happened."""


class ReadResult(msgspec.Struct, frozen=True):
    """What reading one slice gave; `turns` are only those not seen before.

    `project` is that of the session's last turn, if there is one. `open_session` is the session if
    a turn of it has not ended, else empty; `open_turn` says how far that turn is while it runs.
    """

    cursor: Cursor
    project: str
    turns: Sequence[QueuedTurn]
    compactions: Sequence[Compacted]
    bytes_read: int
    bad_lines: int
    has_more: bool
    started_over: bool
    open_session: str = ""
    open_turn: OpenTurn | None = None


class TranscriptReader:
    def __init__(
        self,
        root: str,
        cursors: CursorTable,
        turns: TurnTable,
        root_of: Callable[[str], str],
        now: Callable[[], float],
        private: PrivateNames = NOTHING_PRIVATE,
        why_off: Callable[[str], str] = lambda _: "",
    ) -> None:
        self._root = root
        self._cursors = cursors
        self._turns = turns
        self._root_of = root_of
        self._private = private
        self._why_off = why_off
        self._now = now
        self._followers: OrderedDict[int, Follower] = OrderedDict()
        self._followers_lock = threading.Lock()
        self._learning = threading.Lock()
        self._may_be_unlearned = True
        self._begun_at = cursors.begun_at()

    @property
    def has_begun(self) -> bool:
        return self._begun_at is not None

    def begin(self, found: TranscriptScan) -> list[Cursor]:
        """The first start: everything that exists counts as read."""
        at = self._now()
        existing = [self._as_read(path, stamp) for path, stamp in found.files.items()]
        cursors = self._cursors.begin(existing, at)
        self._begun_at = at
        return cursors

    def forget_followers(self) -> None:
        """What is read next starts from the stored state, which somebody has changed."""
        with self._followers_lock:
            self._followers.clear()

    def is_at_rest(self, cursor: Cursor) -> bool:
        """Whether reading the file again now would give its open turn."""
        return cursor.is_at_rest(self._now())

    def read(self, cursor: Cursor, quiet_seconds: float = 0.0) -> ReadResult:
        """The next slice; raises FileReplaced, or OSError if the file cannot be read."""
        with open_transcript(self._root, cursor.path) as file:
            if file.stamp().identity != cursor.stamp.identity:
                raise FileReplaced
            is_same = file.matches(cursor)
            start = cursor if is_same else cursor.started_over()
            follower = (
                self._take_follower(file, start) if is_same else Follower(private=self._private)
            )
            return self._read_slice(file, start, follower, quiet_seconds)

    def _read_slice(
        self, file: TranscriptFile, cursor: Cursor, follower: Follower, quiet_seconds: float
    ) -> ReadResult:
        began_at, events = follower.next_offset, list[TurnEvent]()
        for chunk in file.chunks(began_at, SLICE_BYTES):
            events += follower.feed(chunk)
        read_until, stamp = follower.next_offset, file.stamp()
        if read_until >= stamp.size:
            quiet = quiet_seconds if read_until == began_at else 0.0
            quiet = max(quiet, self._now() - stamp.mtime_ns / 1e9)
            if quiet >= SETTLE_SECONDS:
                events += follower.settle()
            events += follower.rest(quiet)
        snapshot = follower.snapshot()
        passed = msgspec.structs.replace(
            cursor,
            stamp=FileStamp(*stamp.identity, read_until, stamp.mtime_ns, stamp.ctime_ns),
            fingerprint=file.fingerprint(follower.stored_offset),
            offset=follower.stored_offset,
            is_settled=not follower.awaits_settling,
            rest_seconds=follower.rest_seconds,
        )
        turns, stored = self._store(events, passed, snapshot)
        self._keep_follower(stored, follower)
        compactions = [event for event in events if isinstance(event, Compacted)]
        return ReadResult(
            cursor=stored,
            project=self._turns.last_project(compactions[0].session_id) if compactions else "",
            turns=turns,
            compactions=compactions,
            bytes_read=read_until - began_at,
            bad_lines=follower.bad_lines,
            has_more=read_until < stamp.size,
            started_over=began_at == 0 and cursor.number > 0,
            open_session=follower.open_session,
            open_turn=open_turn(follower.draft, cursor.path),
        )

    def _store(
        self, events: Iterable[TurnEvent], cursor: Cursor, snapshot: bytes
    ) -> tuple[list[QueuedTurn], Cursor]:
        turns = {
            event.id: self._queued(event, cursor.path)
            for event in events
            if isinstance(event, Turn)
        }
        self._learn_old_turns([one.turn for one in turns.values()])
        new: list[QueuedTurn] = []
        with self._cursors.transaction():
            for event in events:
                match event:
                    case Turn():
                        added = self._turns.add([turns[event.id]], at=self._now())
                        new += [one for one in added if not one.skipped]
                    case Abandoned():
                        self._turns.abandon(event.turn_id, cursor.path)
            return new, self._cursors.save(cursor, snapshot)

    def _queued(self, turn: Turn, path: str) -> QueuedTurn:
        """What was said while memory is off is skipped, even if it is on a minute later."""
        project = root_named(turn.cwd, self._root_of)
        off = self._why_off(project) if project else ""
        return QueuedTurn(turn, project, path, f"memory off: {off}" if off else "")

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
        found = old_turns(self._root, cursor, with_open=True, private=self._private)
        with suppress(FileNotFoundError, PermissionError):
            turns = [event for event in found if isinstance(event, Turn)]
            with self._cursors.transaction():
                self._turns.add_old(turns, cursor.path, at=self._now())
                self._cursors.mark_learned(cursor)

    def _as_read(self, path: str, stamp: FileStamp) -> tuple[Cursor, bytes]:
        """A cursor at the end of the file; if it cannot be opened, by its stamp alone."""
        fingerprint, after_newline = Fingerprint(), True
        with suppress(OSError), open_transcript(self._root, path) as file:
            stamp = file.stamp()
            fingerprint = file.fingerprint(stamp.size)
            after_newline = file.line_ends_at(stamp.size)
        cursor = Cursor(path, stamp, fingerprint, stamp.size, old_until=stamp.size)
        return cursor, Follower.from_offset(stamp.size, after_newline=after_newline).snapshot()

    def _take_follower(self, file: TranscriptFile, cursor: Cursor) -> Follower:
        """The follower in memory if it is where the cursor is, else one from the snapshot."""
        with self._followers_lock:
            kept = self._followers.pop(cursor.number, None)
        if kept and kept.next_offset == cursor.stamp.size <= file.stamp().size:
            return kept
        snapshot = self._cursors.snapshot(cursor)
        if snapshot:
            with suppress(msgspec.DecodeError):
                return Follower.restore(snapshot, self._private)
        # The snapshot is from another version. Turns stored before are recognised by id.
        after_newline = file.line_ends_at(cursor.old_until)
        return Follower.from_offset(
            cursor.old_until, after_newline=after_newline, private=self._private
        )

    def _keep_follower(self, cursor: Cursor, follower: Follower) -> None:
        with self._followers_lock:
            self._followers[cursor.number] = follower
            if len(self._followers) > FOLLOWERS_KEPT:
                self._followers.popitem(last=False)


def old_turns(
    root: str, cursor: Cursor, *, with_open: bool, private: PrivateNames = NOTHING_PRIVATE
) -> Iterator[Turn | Abandoned]:
    """The turns that began before the first start, each to its end, read from the file again.

    A last turn without an ending may still continue: it comes only `with_open`. Raises OSError if
    the file cannot be read, or holds other content now.
    """
    follower = Follower(private=private)
    with open_transcript(root, cursor.path) as file:
        if not file.matches(cursor):
            raise FileNotFoundError(errno.ENOENT, "replaced since the first start", cursor.path)
        for chunk in file.chunks(0, ALL_BYTES):
            for event in follower.feed(chunk):
                if isinstance(event, Turn) and event.first_offset >= cursor.old_until:
                    return
                if isinstance(event, Turn | Abandoned):
                    yield event
    for event in follower.finish() if with_open else follower.settle():
        if isinstance(event, Turn) and event.first_offset < cursor.old_until:
            yield event
