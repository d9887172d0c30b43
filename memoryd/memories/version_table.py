"""Every version of every topic file: what it said, since when, and who changed it.

Contents are kept once by their hash and compressed; a version is a line that names one. A removal
is a version too, without content, so that a forget can be undone. Old versions are thinned out, but
the newest of each memory stay whatever their age.
"""

import zlib
from collections.abc import Mapping
from math import inf
from typing import Literal

import msgspec

from memoryd.base import config
from memoryd.base.errors import NotFound
from memoryd.system.database import Database
from memoryd.system.folder import version_of

SECONDS_A_DAY = 86_400.0

Cause = Literal["extraction", "dream", "user", "agent", "sync", "outside", "restore", "refused"]


class Version(msgspec.Struct, frozen=True):
    """One line of a memory's history; `sha256` is empty where the file was removed."""

    version: int
    at: float
    cause: str
    session_id: str
    sha256: str
    bytes: int


class Newest(msgspec.Struct, frozen=True):
    """What names the newest version of a file; no `sha256` where it was removed."""

    version: int
    sha256: str | None


class Then(msgspec.Struct, frozen=True):
    """What a file said at some moment, and since when."""

    since: float
    data: bytes


class Latest(msgspec.Struct, frozen=True):
    """The newest version of a file that is still there."""

    folder: str
    file: str
    at: float
    cause: str
    text: str


class VersionTable:
    def __init__(self, state: Database, keep: config.HistorySettings | None = None) -> None:
        self._state = state
        self._keep = keep or config.HistorySettings()
        self._thinned_at = -inf

    def record(
        self,
        folder: str,
        file: str,
        data: bytes | None,
        *,
        at: float,
        cause: Cause,
        session_id: str = "",
    ) -> int:
        """Adds a version, unless the newest one says the same; returns its number."""
        last = self.newest(folder, file)
        if cause != "refused" and last is not None and last.sha256 == _hash(data):
            return last.version
        packed = None if data is None else zlib.compress(data)
        with self._state.transaction():
            number = self._insert(folder, file, data, packed, at, cause, session_id)
        self._thin_out_once_a_day(at)
        return number

    def record_found(
        self, folder: str, found: Mapping[str, bytes | None], *, at: float
    ) -> list[str]:
        """Adds what others made of these files (None: gone), in one commit; those that are news."""
        news = [file for file, data in found.items() if self._is_news(folder, file, data)]
        # Before the transaction: nobody else can read or write the database during one.
        packed = {file: zlib.compress(data) for file in news if (data := found[file]) is not None}
        with self._state.transaction():
            for file in news:
                self._insert(folder, file, found[file], packed.get(file), at, "outside", "")
        if news:
            self._thin_out_once_a_day(at)
        return news

    def newest(self, folder: str, file: str) -> Newest | None:
        """The version that was taken in last; None for a file that is not known."""
        rows = self._state.run(
            "select id, sha256 from versions where folder = ? and file = ?"
            " and cause != 'refused' order by id desc limit 1",
            folder,
            file,
        )
        return Newest(*msgspec.convert(rows[0], tuple[int, str | None])) if rows else None

    def _is_news(self, folder: str, file: str, data: bytes | None) -> bool:
        last = self.newest(folder, file)
        return (last.sha256 if last else None) != _hash(data)

    def _insert(
        self,
        folder: str,
        file: str,
        data: bytes | None,
        packed: bytes | None,
        at: float,
        cause: Cause,
        session_id: str,
    ) -> int:
        sha256 = _hash(data)
        if packed is not None:
            self._state.run("insert or ignore into blobs values (?, ?)", sha256, packed)
        ((number,),) = self._state.run(
            "insert into versions (folder, file, sha256, bytes, at, cause, session_id)"
            " values (?, ?, ?, ?, ?, ?, ?) returning id",
            folder,
            file,
            sha256,
            len(data or b""),
            at,
            cause,
            session_id,
        )
        return int(str(number))

    def versions(self, folder: str, file: str) -> list[Version]:
        """Newest first."""
        rows = self._state.run(
            "select id, at, cause, session_id, coalesce(sha256, ''), bytes from versions"
            " where folder = ? and file = ? order by id desc",
            folder,
            file,
        )
        return [msgspec.convert(row, Version, strict=False) for row in map(_fields, rows)]

    def content(self, folder: str, file: str, version: int) -> bytes:
        rows = self._state.run(
            "select packed from versions join blobs using (sha256)"
            " where folder = ? and file = ? and id = ?",
            folder,
            file,
            version,
        )
        if not rows or not isinstance(rows[0][0], bytes):
            raise NotFound(
                f"{file} has no version {version} with content",
                hint=f"memoryd history {file} lists them",
            )
        return zlib.decompress(rows[0][0])

    def files(self, folder: str) -> list[str]:
        """Every file that ever was in the folder, as far as the history goes back."""
        rows = self._state.run("select distinct file from versions where folder = ?", folder)
        return [str(row[0]) for row in rows]

    def latest(self, limit: int) -> list[Latest]:
        """The files that were written last, in all folders, newest first."""
        rows = self._state.run(
            "select folder, file, at, cause, packed from versions join blobs using (sha256)"
            " where id in (select max(id) from versions where cause != 'refused'"
            " group by folder, file) order by id desc limit ?",
            limit,
        )
        return [
            Latest(folder, file, at, cause, zlib.decompress(packed).decode("utf-8", "replace"))
            for folder, file, at, cause, packed in msgspec.convert(
                rows, list[tuple[str, str, float, str, bytes]]
            )
        ]

    def as_of(self, folder: str, at: float) -> dict[str, Then]:
        """The folder's files as they were at a moment, by name."""
        rows = self._state.run(
            "select file, at, packed from versions join blobs using (sha256) where id in ("
            " select max(id) from versions where folder = ? and at <= ? and cause != 'refused'"
            " group by file)",
            folder,
            at,
        )
        return {
            file: Then(since, zlib.decompress(packed))
            for file, since, packed in msgspec.convert(rows, list[tuple[str, float, bytes]])
        }

    def made_by(
        self, folder: str, *, cause: Cause, session_id: str, since: float
    ) -> dict[str, int]:
        """The files that a session changed since a moment, each with its first such version."""
        rows = self._state.run(
            "select file, min(id) from versions where folder = ? and cause = ? and session_id = ?"
            " and at >= ? and sha256 is not null group by file order by min(id)",
            folder,
            cause,
            session_id,
            since,
        )
        return dict(msgspec.convert(rows, list[tuple[str, int]]))

    def attribute(self, folder: str, file: str, *, cause: Cause, session_id: str) -> None:
        """Says who made the newest version, once that is known of one found from outside."""
        self._state.run(
            "update versions set cause = ?, session_id = ? where cause = 'outside' and id ="
            " (select max(id) from versions where folder = ? and file = ?)",
            cause,
            session_id,
            folder,
            file,
        )

    def _thin_out_once_a_day(self, now: float) -> None:
        if now - self._thinned_at >= SECONDS_A_DAY:
            self._thinned_at = now
            self.thin_out(
                now=now, keep_days=self._keep.keep_days, keep_versions=self._keep.keep_versions
            )

    def thin_out(self, *, now: float, keep_days: int, keep_versions: int) -> int:
        """Drops versions older than `keep_days` beyond the newest ones of each memory."""
        with self._state.transaction():
            gone = self._state.run(
                "delete from versions where at < ? and id not in ("
                " select id from (select id, row_number() over"
                " (partition by folder, file order by id desc) as place from versions)"
                " where place <= ?) returning id",
                now - keep_days * SECONDS_A_DAY,
                keep_versions,
            )
            if gone:
                self._state.run(
                    "delete from blobs where sha256 not in"
                    " (select sha256 from versions where sha256 is not null)"
                )
        return len(gone)


def _hash(data: bytes | None) -> str | None:
    return None if data is None else version_of(data)


def _fields(row: tuple[object, ...]) -> dict[str, object]:
    return dict(zip(Version.__struct_fields__, row, strict=True))
