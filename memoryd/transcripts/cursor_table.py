"""Where reading stands in every transcript, in state.db.

A cursor and the turns that it has passed are stored in one transaction, which is what makes a turn
come exactly once; so whoever saves a cursor opens the transaction.
"""

from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager

import msgspec

from memoryd.base.file_stamp import FileStamp
from memoryd.system.database import Cell, Database
from memoryd.transcripts.rules.cursor import Cursor, Fingerprint

_COLUMNS = (
    "path, device, inode, size, mtime_ns, ctime_ns, head_bytes, head, tail,"
    " offset, old_until, is_settled, snapshot"
)


_Row = tuple[int, str, int, int, int, int, int, int, bytes, bytes, int, int, int]


class CursorTable:
    def __init__(self, state: Database) -> None:
        self._state = state

    def transaction(self) -> AbstractContextManager[None]:
        return self._state.transaction()

    def begun_at(self) -> float | None:
        """When this machine's first start was; None when it is still to come."""
        rows = msgspec.convert(self._state.run("select at from first_start"), list[tuple[float]])
        return rows[0][0] if rows else None

    def begin(self, existing: Iterable[tuple[Cursor, bytes]], at: float) -> list[Cursor]:
        """Stores what exists as read, all of it or nothing."""
        with self._state.transaction():
            self._state.run("insert into first_start values (?)", at)
            return [self.save(cursor, snapshot) for cursor, snapshot in existing]

    def load(self) -> tuple[list[Cursor], list[Cursor]]:
        """All cursors: those whose file was in its place, and the lost ones."""
        return self._select("lost_at is null"), self._select("lost_at is not null")

    def save(self, cursor: Cursor, snapshot: bytes) -> Cursor:
        """The cursor with the number of its row, which it keeps."""
        cells = (*_cells(cursor), snapshot)
        if cursor.number:
            self._state.run(
                f"update transcripts set ({_COLUMNS}) = (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?),"  # noqa: S608 - fixed words
                " lost_at = null where number = ?",
                *cells,
                cursor.number,
            )
            return cursor
        rows = self._state.run(
            f"insert into transcripts ({_COLUMNS}) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"  # noqa: S608 - fixed words
            " returning number",
            *cells,
        )
        ((number,),) = msgspec.convert(rows, list[tuple[int]])
        return msgspec.structs.replace(cursor, number=number)

    def snapshot(self, cursor: Cursor) -> bytes:
        """What the parser knew when the cursor was saved; empty for a cursor that never was."""
        rows = self._state.run("select snapshot from transcripts where number = ?", cursor.number)
        return msgspec.convert(rows, list[tuple[bytes]])[0][0] if rows else b""

    def lose(self, cursors: Iterable[Cursor], at: float) -> None:
        self._state.run_many(
            "update transcripts set lost_at = ? where number = ?",
            [(at, cursor.number) for cursor in cursors],
        )

    def forget_lost(self, before: float) -> set[int]:
        """The numbers of those that were lost for too long."""
        sql = "delete from transcripts where lost_at < ? returning number"
        rows = msgspec.convert(self._state.run(sql, before), list[tuple[int]])
        return {number for (number,) in rows}

    def with_old_part(self) -> list[Cursor]:
        """Of transcripts in place that were there at the first start, oldest first."""
        return self._select("old_until > 0 and lost_at is null")

    def unlearned(self) -> list[Cursor]:
        """Those, lost ones too, whose old turns nobody has noted down yet."""
        return self._select("old_until > 0 and not is_learned")

    def mark_learned(self, cursor: Cursor) -> None:
        self._state.run("update transcripts set is_learned = 1 where number = ?", cursor.number)

    def _select(self, condition: str) -> list[Cursor]:
        rows = self._state.run(
            "select number, path, device, inode, size, mtime_ns, ctime_ns, head_bytes, head, tail,"  # noqa: S608 - fixed words
            f" offset, old_until, is_settled from transcripts where {condition}"
            " order by mtime_ns, path"
        )
        return [_cursor(cells) for cells in rows]


def _cells(cursor: Cursor) -> tuple[Cell, ...]:
    facts, fingerprint = cursor.facts, cursor.fingerprint
    return (
        cursor.path,
        facts.device,
        facts.inode,
        facts.size,
        facts.mtime_ns,
        facts.ctime_ns,
        fingerprint.head_bytes,
        fingerprint.head,
        fingerprint.tail,
        cursor.offset,
        cursor.old_until,
        int(cursor.is_settled),
    )


def _cursor(cells: Sequence[Cell]) -> Cursor:
    number, path, *numbers, head, tail, offset, old_until, is_settled = msgspec.convert(cells, _Row)
    *facts, head_bytes = numbers
    return Cursor(
        path=path,
        facts=FileStamp(*facts),
        fingerprint=Fingerprint(head_bytes, head, tail),
        offset=offset,
        old_until=old_until,
        is_settled=bool(is_settled),
        number=number,
    )
