"""Every version of every topic file: what it said, since when, and who changed it.

- Versions of one memory are numbered 1, 2, 3, ... in the order in which they were recorded. A
  number never changes and is never used again.
- Contents are stored once per hash, compressed; a version is a row that names one. A removal is a
  version without content, so that a forget can be undone.
- Old versions are pruned, but the newest of each memory are kept whatever their age. This also
  keeps the highest number, from which the next one follows. Only what was forgotten longer ago
  than the settings allow loses its texts too; the row that says so stays.
"""

import zlib
from collections.abc import Mapping, Sequence
from math import inf
from typing import Literal

import msgspec

from memoryd.base import config
from memoryd.base.errors import NotFound
from memoryd.memories.origin_table import OriginTable
from memoryd.system.database import Database
from memoryd.system.folder import version_of
from memoryd.system.packing import unpacked
from memoryd.text.decode import decoded

SECONDS_A_DAY = 86_400.0

Cause = Literal[
    "extraction",
    "dream",
    "user",
    "agent",
    "sync",
    "outside",
    "restore",
    "refused",
    "adopted",
    "imported",
    "move",
]


class Version(msgspec.Struct, frozen=True):
    """One line of a memory's history; `sha256` is empty where the file was removed."""

    version: int
    at: float
    cause: str
    session_id: str
    sha256: str
    bytes: int


class Newest(msgspec.Struct, frozen=True):
    """Number and hash of the newest version of a file; no hash where it was removed."""

    version: int
    sha256: str | None


class Then(msgspec.Struct, frozen=True):
    """What a file said at some moment, and since when."""

    since: float
    data: bytes


class Latest(msgspec.Struct, frozen=True):
    """The newest version of a file that still exists."""

    folder: str
    file: str
    at: float
    cause: str
    text: str


class VersionTable:
    def __init__(self, database: Database, keep: config.HistorySettings | None = None) -> None:
        self._database = database
        self._keep = keep or config.HistorySettings()
        self.origins = OriginTable(database)
        self._pruned_at = -inf

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
        """Adds a version, unless the newest one has the same content; returns its number."""
        last = self.newest(folder, file)
        if cause != "refused" and last is not None and last.sha256 == _hash(data):
            return last.version
        packed = None if data is None else zlib.compress(data)
        with self._database.transaction():
            number = self._insert(folder, file, data, packed, at, cause, session_id)
        self._prune_once_a_day(at)
        return number

    def record_found(
        self, folder: str, found: Mapping[str, bytes | None], *, at: float
    ) -> list[str]:
        """Records files as found on disk (None: gone) in one commit; returns those that changed."""
        changed = [file for file, data in found.items() if self._is_new(folder, file, data)]
        # Compressed before the transaction, which locks out every other user of the database.
        packed = {
            file: zlib.compress(data) for file in changed if (data := found[file]) is not None
        }
        with self._database.transaction():
            for file in changed:
                self._insert(folder, file, found[file], packed.get(file), at, "outside", "")
        if changed:
            self._prune_once_a_day(at)
        return changed

    def newest(self, folder: str, file: str) -> Newest | None:
        """The version that was accepted last; None for a file without history."""
        rows = self._database.run(
            "select number, sha256 from versions where folder = ? and file = ?"
            " and cause != 'refused' order by number desc limit 1",
            folder,
            file,
        )
        return Newest(*msgspec.convert(rows[0], tuple[int, str | None])) if rows else None

    def present(self, folder: str) -> set[str]:
        """The files of a folder whose newest version is not a removal."""
        rows = self._database.run(
            "select file from versions where sha256 is not null and id in (select max(id) from"
            " versions where folder = ? and cause != 'refused' group by file)",
            folder,
        )
        return {str(file) for (file,) in rows}

    def _is_new(self, folder: str, file: str, data: bytes | None) -> bool:
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
            self._database.run("insert or ignore into blobs values (?, ?)", sha256, packed)
        ((number,),) = self._database.run(
            "insert into versions (folder, file, sha256, bytes, at, cause, session_id, number)"
            " select ?1, ?2, ?3, ?4, ?5, ?6, ?7, coalesce(max(number), 0) + 1"
            " from versions where folder = ?1 and file = ?2 returning number",
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
        rows = self._database.run(
            "select number, at, cause, session_id, coalesce(sha256, ''), bytes from versions"
            " where folder = ? and file = ? order by number desc",
            folder,
            file,
        )
        return [msgspec.convert(row, Version, strict=False) for row in map(_fields, rows)]

    def content(self, folder: str, file: str, version: int) -> bytes:
        rows = self._database.run(
            "select packed from versions join blobs using (sha256)"
            " where folder = ? and file = ? and number = ?",
            folder,
            file,
            version,
        )
        if not rows or not isinstance(rows[0][0], bytes):
            raise NotFound(
                f"{file} has no version {version} with content",
                hint=f"memoryd history {file} lists them",
            )
        data = unpacked(rows[0][0])
        if data is None:
            raise NotFound(
                f"version {version} of {file} is damaged in the history",
                hint=f"memoryd history {file} lists the others",
            )
        return data

    def files(self, folder: str) -> list[str]:
        """Every file that has a history in this folder, present or not."""
        rows = self._database.run("select distinct file from versions where folder = ?", folder)
        return [str(row[0]) for row in rows]

    def latest(self, limit: int) -> list[Latest]:
        """The files that were written last, in all folders, newest first."""
        rows = self._database.run(
            "select folder, file, at, cause, packed from versions join blobs using (sha256)"
            " where id in (select max(id) from versions where cause != 'refused'"
            " group by folder, file) order by id desc limit ?",
            limit,
        )
        return [
            Latest(folder, file, at, cause, decoded(data))
            for folder, file, at, cause, packed in msgspec.convert(
                rows, list[tuple[str, str, float, str, bytes]]
            )
            if (data := unpacked(packed)) is not None
        ]

    def as_of(self, folder: str, at: float) -> dict[str, Then]:
        """The folder's files as they were at a moment, by name."""
        rows = self._database.run(
            "select file, at, packed from versions join blobs using (sha256) where id in ("
            " select max(id) from versions where folder = ? and at <= ? and cause != 'refused'"
            " group by file)",
            folder,
            at,
        )
        return {
            file: Then(since, data)
            for file, since, packed in msgspec.convert(rows, list[tuple[str, float, bytes]])
            if (data := unpacked(packed)) is not None
        }

    def made_by(
        self, folder: str, *, cause: Cause, session_id: str, since: float
    ) -> dict[str, int]:
        """The files that a session changed since a moment, each with its first such version."""
        rows = self._database.run(
            "select file, min(number) from versions where folder = ? and cause = ?"
            " and session_id = ? and at >= ? and sha256 is not null group by file order by min(id)",
            folder,
            cause,
            session_id,
            since,
        )
        return dict(msgspec.convert(rows, list[tuple[str, int]]))

    def follow(self, old: tuple[str, str], new: tuple[str, str], data: bytes, *, at: float) -> None:
        """A file was moved: its versions go with it, and one more says so."""
        packed = zlib.compress(data)
        self._database.run("delete from versions where folder = ? and file = ?", *new)
        self._database.run(
            "update versions set folder = ?, file = ? where folder = ? and file = ?", *new, *old
        )
        self._insert(*new, data, packed, at, "move", "")

    def attribute(self, folder: str, file: str, *, session_id: str) -> bool:
        """Names the agent as author of the newest version, if that was found without one."""
        rows = self._database.run(
            "update versions set cause = 'agent', session_id = ? where cause = 'outside' and id ="
            " (select max(id) from versions where folder = ? and file = ?) returning sha256",
            session_id,
            folder,
            file,
        )
        for (sha256,) in rows:
            if sha256 is not None:
                self.origins.note_hash(str(sha256), "agent-concluded")
        return bool(rows)

    def made_elsewhere(self, folder: str, file: str, *, at: float, cause: Cause) -> None:
        """The newest version came from another machine, where it was made then and so."""
        self._database.run(
            "update versions set at = ?, cause = ? where cause = 'sync' and id ="
            " (select max(id) from versions where folder = ? and file = ?)",
            at,
            cause,
            folder,
            file,
        )

    def move(self, folder: str, file: str, to_folder: str, to_file: str, *, keep: bool) -> None:
        """Gives a memory's history to another one, in front of what that has; or a copy of it."""
        with self._database.transaction():
            ((last,),) = self._database.run(
                "select coalesce(max(number), 0) from versions where folder = ? and file = ?",
                to_folder,
                to_file,
            )
            columns = "sha256, bytes, at, cause, session_id"
            self._database.run(
                "insert into versions (folder, file, number, "  # noqa: S608 - fixed words
                f"{columns}) select ?1, ?2, number + ?3, {columns} from versions"
                " where folder = ?4 and file = ?5 order by number",
                to_folder,
                to_file,
                last,
                folder,
                file,
            )
            if not keep:
                self.drop(folder, file)

    def drop(self, folder: str, file: str) -> None:
        """Deletes the history of a memory; its texts go when nothing else needs them."""
        self._database.run("delete from versions where folder = ? and file = ?", folder, file)

    def _prune_once_a_day(self, now: float) -> None:
        if now - self._pruned_at >= SECONDS_A_DAY:
            self._pruned_at = now
            self.prune(
                now=now, keep_days=self._keep.keep_days, keep_versions=self._keep.keep_versions
            )
            if self._keep.forgotten_days is not None:
                self.drop_forgotten(now - self._keep.forgotten_days * SECONDS_A_DAY)

    def drop_forgotten(self, before: float) -> int:
        """Deletes the texts of memories that were removed before a moment; returns how many."""
        with self._database.transaction():
            gone = self._database.run(
                "delete from versions where exists (select 1 from versions as last where"
                " last.folder = versions.folder and last.file = versions.file"
                " and last.sha256 is null and last.at < ?1 and last.number > versions.number"
                " and not exists (select 1 from versions as later where"
                " later.folder = last.folder and later.file = last.file"
                " and later.number > last.number)) returning id",
                before,
            )
            self._drop_unused(gone)
        return len(gone)

    def prune(self, *, now: float, keep_days: int, keep_versions: int) -> int:
        """Deletes versions older than `keep_days`, except the newest ones of each memory."""
        with self._database.transaction():
            gone = self._database.run(
                "delete from versions where at < ? and id not in ("
                " select id from (select id, row_number() over"
                " (partition by folder, file order by id desc) as place from versions)"
                " where place <= ?) returning id",
                now - keep_days * SECONDS_A_DAY,
                keep_versions,
            )
            self._drop_unused(gone)
        return len(gone)

    def _drop_unused(self, gone: Sequence[object]) -> None:
        if gone:
            self._database.run(
                "delete from blobs where sha256 not in"
                " (select sha256 from versions where sha256 is not null)"
            )
            self.origins.forget_unused()


def _hash(data: bytes | None) -> str | None:
    return None if data is None else version_of(data)


def _fields(row: tuple[object, ...]) -> dict[str, object]:
    return dict(zip(Version.__struct_fields__, row, strict=True))
