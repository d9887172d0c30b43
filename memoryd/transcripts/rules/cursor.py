"""Which transcript is which, even when files are renamed, moved or replaced.

Rules
- A transcript's path is relative to the projects folder: `folder/session.jsonl`.
- A file is identified by device and inode, and by a fingerprint of what was read of it: its first
  bytes and those before the cursor. The fingerprint has the last word. While it matches, the file
  is ours and only grew, even if it was renamed, copied back, or is on another disk now. When it
  does not match, the file is read from the beginning; turns seen before are recognised by id.
- A file seen under one name and now found under another has moved, and its cursor moves with it.
  If one file has two names, the known one keeps the cursor.
- A cursor whose file is gone is lost, not forgotten: for LOST_SECONDS it is used again if the file
  comes back.
- A file is read when any part of its stamp differs from what was read: size, times, identity.
  Programs cannot set ctime back, so a rewrite with an old date is noticed too.
"""

from collections.abc import Collection, Mapping

import msgspec

from memoryd.base.file_stamp import FileStamp

LOST_SECONDS = 7 * 24 * 3600.0
HEAD_BYTES = 4096
TAIL_BYTES = 256


class Fingerprint(msgspec.Struct, frozen=True, gc=False):
    """Hashes of a file's first bytes and of those before the cursor; empty if there are none."""

    head_bytes: int = 0
    head: bytes = b""
    tail: bytes = b""


class Cursor(msgspec.Struct, frozen=True, gc=False):
    """How far one transcript has been read.

    `offset` is the start of the first unread line. Bytes before `old_until` existed at the first
    start and count as read. `is_settled` is false while an ended turn waits for silence.
    `rest_seconds` is how long the file must be quiet until its open turn counts, 0 if there is
    none. `number` is the row number, 0 if never stored.
    """

    path: str
    stamp: FileStamp = FileStamp()
    fingerprint: Fingerprint = Fingerprint()
    offset: int = 0
    old_until: int = 0
    is_settled: bool = True
    number: int = 0
    rest_seconds: float = 0.0

    @property
    def mtime(self) -> float:
        return self.stamp.mtime_ns / 1e9

    def is_at_rest(self, now: float) -> bool:
        """Whether a turn is open that nobody works on any more."""
        return 0.0 < self.rest_seconds <= now - self.mtime

    def started_over(self) -> "Cursor":
        """A cursor at the start of the same file, which holds other content now."""
        fresh = FileStamp(self.stamp.device, self.stamp.inode)
        return Cursor(self.path, fresh, number=self.number)


class Differences(msgspec.Struct, frozen=True):
    """`changed` files differ from their cursors; `gone` files were not found."""

    changed: dict[str, FileStamp] = {}
    gone: list[str] = []


class Plan(msgspec.Struct, frozen=True):
    """What to do after a scan.

    `look` are paths to read; `placed` are cursors new at their path, to be read too; the files of
    `lost` cursors are gone.
    """

    look: tuple[str, ...] = ()
    placed: tuple[Cursor, ...] = ()
    lost: tuple[Cursor, ...] = ()


def differences(
    known: Mapping[str, Cursor], found: Mapping[str, FileStamp], unreadable: Collection[str]
) -> Differences:
    """Compares cursors with the files found; in an unreadable folder nothing counts as gone."""
    missing = known.keys() - found.keys()
    return Differences(
        changed={
            path: stamp
            for path, stamp in found.items()
            if (cursor := known.get(path)) is None or cursor.stamp != stamp
        },
        gone=[path for path in missing if path.partition("/")[0] not in unreadable],
    )


def plan(
    known: Mapping[str, Cursor],
    lost: Collection[Cursor],
    changed: Mapping[str, FileStamp],
    gone: Collection[str],
) -> Plan:
    """What to do about files that differ from their cursors, and cursors without a file."""
    replaced = {p: stamp for p, stamp in changed.items() if not _is_in_place(known.get(p), stamp)}
    displaced = {path: known[path] for path in (*gone, *replaced) if path in known}
    last_seen_at = {cursor.path: cursor for cursor in lost}
    moved = _moves([*displaced.values(), *lost], replaced)
    taken = {id(cursor) for cursor in moved.values()}
    placed: list[Cursor] = []
    for path, stamp in replaced.items():
        here = displaced.get(path) or last_seen_at.get(path)
        cursor = moved.get(path) or (here if id(here) not in taken else None)
        placed.append(_put(cursor or Cursor(path), path, stamp))
    kept = {cursor.number for cursor in placed if cursor.number}
    return Plan(
        look=tuple(path for path in changed if path not in replaced),
        placed=tuple(placed),
        lost=tuple(cursor for cursor in displaced.values() if cursor.number not in kept),
    )


def _is_in_place(cursor: Cursor | None, stamp: FileStamp) -> bool:
    return cursor is not None and cursor.stamp.identity == stamp.identity


def _moves(candidates: list[Cursor], replaced: Mapping[str, FileStamp]) -> dict[str, Cursor]:
    """The cursors whose files have a new path, by that path."""
    by_identity = {cursor.stamp.identity: cursor for cursor in reversed(candidates)}
    moved: dict[str, Cursor] = {}
    for path, stamp in replaced.items():
        cursor = by_identity.pop(stamp.identity, None)
        if cursor is not None:
            moved[path] = cursor
    return moved


def _put(cursor: Cursor, path: str, stamp: FileStamp) -> Cursor:
    seen = cursor.stamp
    there = FileStamp(stamp.device, stamp.inode, seen.size, seen.mtime_ns, seen.ctime_ns)
    return msgspec.structs.replace(cursor, path=path, stamp=there)


def bytes_behind(known: Mapping[str, Cursor], changed: Mapping[str, FileStamp]) -> int:
    """How many bytes of the changed files are unread."""
    return sum(_unread(known.get(path), stamp) for path, stamp in changed.items())


def _unread(cursor: Cursor | None, stamp: FileStamp) -> int:
    if cursor is None or not _is_in_place(cursor, stamp) or stamp.size < cursor.stamp.size:
        return stamp.size
    return stamp.size - cursor.stamp.size
