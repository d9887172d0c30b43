"""How far every transcript has been read, in state.db.

A cursor and the turns before it are stored in one transaction, so that each turn comes exactly
once; the caller of `save` opens that transaction.
"""

from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager

import msgspec

from memoryd.base.file_stamp import FileStamp
from memoryd.system.database import Cell, Database
from memoryd.transcripts.rules.cursor import Cursor, Fingerprint

_COLUMNS = (
    "path, device, inode, size, mtime_ns, ctime_ns, head_bytes, head, tail,"
    " offset, old_until, is_settled, rest_seconds, snapshot"
)


_Row = tuple[int, str, int, int, int, int, int, int, bytes, bytes, int, int, int, float]


class CursorTable:
    def __init__(self, database: Database) -> None:
        self._database = database

    def transaction(self) -> AbstractContextManager[None]:
        return self._database.transaction()

    def begun_at(self) -> float | None:
        """When memoryd first started on this machine; None before that."""
        rows = msgspec.convert(self._database.run("select at from first_start"), list[tuple[float]])
        return rows[0][0] if rows else None

    def begin(self, existing: Iterable[tuple[Cursor, bytes]], at: float) -> list[Cursor]:
        """Stores the existing files as read, all or none."""
        with self._database.transaction():
            self._database.run("insert into first_start values (?)", at)
            return [self.save(cursor, snapshot) for cursor, snapshot in existing]

    def load(self) -> tuple[list[Cursor], list[Cursor]]:
        """All cursors: those whose file was in place, and the lost ones."""
        return self._select("lost_at is null"), self._select("lost_at is not null")

    def save(self, cursor: Cursor, snapshot: bytes) -> Cursor:
        """The cursor with its row number, which never changes."""
        cells = (*_cells(cursor), snapshot)
        if cursor.number:
            self._database.run(
                f"update transcripts set ({_COLUMNS}) = (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?),"  # noqa: S608 - fixed words
                " lost_at = null where number = ?",
                *cells,
                cursor.number,
            )
            return cursor
        rows = self._database.run(
            f"insert into transcripts ({_COLUMNS})"  # noqa: S608 - fixed words
            " values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) returning number",
            *cells,
        )
        ((number,),) = msgspec.convert(rows, list[tuple[int]])
        return msgspec.structs.replace(cursor, number=number)

    def snapshot(self, cursor: Cursor) -> bytes:
        """The parser's state when the cursor was saved; empty for a cursor that never was."""
        rows = self._database.run(
            "select snapshot from transcripts where number = ?", cursor.number
        )
        return msgspec.convert(rows, list[tuple[bytes]])[0][0] if rows else b""

    def mark_lost(self, cursors: Iterable[Cursor], at: float) -> None:
        self._database.run_many(
            "update transcripts set lost_at = ? where number = ?",
            [(at, cursor.number) for cursor in cursors],
        )

    def forget_lost(self, before: float) -> set[int]:
        """Deletes cursors lost before this time; returns their numbers."""
        sql = "delete from transcripts where lost_at < ? returning number"
        rows = msgspec.convert(self._database.run(sql, before), list[tuple[int]])
        return {number for (number,) in rows}

    def with_old_part(self) -> list[Cursor]:
        """Cursors of transcripts in place that existed at the first start, oldest first."""
        return self._select("old_until > 0 and lost_at is null")

    def unlearned(self) -> list[Cursor]:
        """Cursors, lost ones included, whose old turns are not in the turn table yet."""
        return self._select("old_until > 0 and not is_learned")

    def mark_learned(self, cursor: Cursor) -> None:
        self._database.run("update transcripts set is_learned = 1 where number = ?", cursor.number)

    def _select(self, condition: str) -> list[Cursor]:
        rows = self._database.run(
            "select number, path, device, inode, size, mtime_ns, ctime_ns, head_bytes, head, tail,"  # noqa: S608 - fixed words
            f" offset, old_until, is_settled, rest_seconds from transcripts where {condition}"
            " order by mtime_ns, path"
        )
        found: list[Cursor] = []
        for cells in rows:
            try:
                found.append(_cursor(cells))
            except msgspec.ValidationError:  # damaged: its file is read again
                self._database.run("delete from transcripts where number = ?", cells[0])
        return found


def _cells(cursor: Cursor) -> tuple[Cell, ...]:
    stamp, fingerprint = cursor.stamp, cursor.fingerprint
    return (
        cursor.path,
        stamp.device,
        stamp.inode,
        stamp.size,
        stamp.mtime_ns,
        stamp.ctime_ns,
        fingerprint.head_bytes,
        fingerprint.head,
        fingerprint.tail,
        cursor.offset,
        cursor.old_until,
        int(cursor.is_settled),
        cursor.rest_seconds,
    )


def _cursor(cells: Sequence[Cell]) -> Cursor:
    row = msgspec.convert(cells, _Row)
    number, path, *numbers, head, tail, offset, old_until, is_settled, rest_seconds = row
    *stamp, head_bytes = numbers
    return Cursor(
        path=path,
        stamp=FileStamp(*stamp),
        fingerprint=Fingerprint(head_bytes, head, tail),
        offset=offset,
        old_until=old_until,
        is_settled=bool(is_settled),
        number=number,
        rest_seconds=rest_seconds,
    )
