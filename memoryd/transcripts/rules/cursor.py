"""Which transcript is which, whatever happens to the names of files.

Rules
- A transcript is named from the projects folder: `folder/session.jsonl`.
- A file is known by device and inode, and by a fingerprint of what was read of it: its first bytes
  and those before the place where reading goes on. The fingerprint has the last word. While it
  fits, whatever lies there is our file grown longer: renamed, copied back, on another disk. When it
  does not fit, the file is read from its beginning; turns that were seen before are known by id.
- A file that was seen under one name and now lies under another has moved, and its cursor with it.
  Of two names for one file, the one that we knew keeps it.
- A cursor whose file is in no place is lost, not forgotten: it is taken up again when the file
  comes back, for LOST_SECONDS.
- A file needs a look when any fact of it differs from what was read: size, times, identity. The
  time of change cannot be set back by programs, so a rewrite under an old date is seen as well.
"""

from collections.abc import Collection, Mapping

import msgspec

from memoryd.base.file_stamp import FileStamp

LOST_SECONDS = 7 * 24 * 3600.0
HEAD_BYTES = 4096
TAIL_BYTES = 256


class Fingerprint(msgspec.Struct, frozen=True, gc=False):
    """Hashes of a file's first bytes and of those before the cursor; empty where none are."""

    head_bytes: int = 0
    head: bytes = b""
    tail: bytes = b""


class Cursor(msgspec.Struct, frozen=True, gc=False):
    """How far one transcript has been read.

    `offset` is the first line that was not taken yet. What stands before `old_until` was there at
    the first start and counts as read. `is_settled` is false while an ended turn waits for silence.
    `number` is that of its row, 0 for one that was never stored.
    """

    path: str
    facts: FileStamp = FileStamp()
    fingerprint: Fingerprint = Fingerprint()
    offset: int = 0
    old_until: int = 0
    is_settled: bool = True
    number: int = 0

    @property
    def mtime(self) -> float:
        return self.facts.mtime_ns / 1e9

    def started_over(self) -> "Cursor":
        """The same place, for other content."""
        fresh = FileStamp(self.facts.device, self.facts.inode)
        return Cursor(self.path, fresh, number=self.number)


class Differences(msgspec.Struct, frozen=True):
    """`changed` files are not as their cursors left them; the files of `gone` were not seen."""

    changed: dict[str, FileStamp] = {}
    gone: list[str] = []


class Plan(msgspec.Struct, frozen=True):
    """What a sweep leads to.

    `look` needs reading as it stands; `placed` are cursors that are new at their path and need
    reading too; the files of `lost` are in no place.
    """

    look: tuple[str, ...] = ()
    placed: tuple[Cursor, ...] = ()
    lost: tuple[Cursor, ...] = ()


def differences(
    known: Mapping[str, Cursor], sighted: Mapping[str, FileStamp], unread_folders: Collection[str]
) -> Differences:
    """Compares what is known with what a sweep has seen; of an unread folder nothing is gone."""
    unseen = known.keys() - sighted.keys()
    return Differences(
        changed={
            path: facts
            for path, facts in sighted.items()
            if (cursor := known.get(path)) is None or cursor.facts != facts
        },
        gone=[path for path in unseen if path.partition("/")[0] not in unread_folders],
    )


def plan(
    known: Mapping[str, Cursor],
    lost: Collection[Cursor],
    changed: Mapping[str, FileStamp],
    gone: Collection[str],
) -> Plan:
    """What to do about files that differ from their cursors, and cursors without a file."""
    strange = {p: facts for p, facts in changed.items() if not _is_in_place(known.get(p), facts)}
    homeless = {path: known[path] for path in (*gone, *strange) if path in known}
    last_seen_at = {cursor.path: cursor for cursor in lost}
    moved = _moves([*homeless.values(), *lost], strange)
    taken = {id(cursor) for cursor in moved.values()}
    placed: list[Cursor] = []
    for path, facts in strange.items():
        here = homeless.get(path) or last_seen_at.get(path)
        cursor = moved.get(path) or (here if id(here) not in taken else None)
        placed.append(_put(cursor or Cursor(path), path, facts))
    kept = {cursor.number for cursor in placed if cursor.number}
    return Plan(
        look=tuple(path for path in changed if path not in strange),
        placed=tuple(placed),
        lost=tuple(cursor for cursor in homeless.values() if cursor.number not in kept),
    )


def _is_in_place(cursor: Cursor | None, facts: FileStamp) -> bool:
    return cursor is not None and cursor.facts.identity == facts.identity


def _moves(candidates: list[Cursor], strange: Mapping[str, FileStamp]) -> dict[str, Cursor]:
    """The cursors that belong to another name now, by that name."""
    by_identity = {cursor.facts.identity: cursor for cursor in reversed(candidates)}
    moved: dict[str, Cursor] = {}
    for path, facts in strange.items():
        cursor = by_identity.pop(facts.identity, None)
        if cursor is not None:
            moved[path] = cursor
    return moved


def _put(cursor: Cursor, path: str, facts: FileStamp) -> Cursor:
    seen = cursor.facts
    there = FileStamp(facts.device, facts.inode, seen.size, seen.mtime_ns, seen.ctime_ns)
    return msgspec.structs.replace(cursor, path=path, facts=there)


def bytes_behind(known: Mapping[str, Cursor], changed: Mapping[str, FileStamp]) -> int:
    """How many bytes of the changed files nobody has read yet."""
    return sum(_unread(known.get(path), facts) for path, facts in changed.items())


def _unread(cursor: Cursor | None, facts: FileStamp) -> int:
    if cursor is None or not _is_in_place(cursor, facts) or facts.size < cursor.facts.size:
        return facts.size
    return facts.size - cursor.facts.size
