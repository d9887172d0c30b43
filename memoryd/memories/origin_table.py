"""The journal of who wrote what, by the hash of the bytes (`rules/origins`)."""

from collections.abc import Collection
from typing import Final, TypeAlias

import msgspec

from memoryd.memories.rules.origins import KeptOrigin, Origin
from memoryd.system.database import Database
from memoryd.system.folder import version_of

FEW: Final = 500  # so many SQLite takes in one question everywhere

OriginRow: TypeAlias = tuple[str, KeptOrigin, str]
"""The hash of the bytes, who wrote them, and which teammate if one did."""


class OriginTable:
    def __init__(self, database: Database) -> None:
        self._database = database

    def of(self, sha256: str) -> Origin:
        rows = self._database.run("select origin from origins where sha256 = ?", sha256)
        return msgspec.convert(rows[0][0], Origin) if rows else "found"

    def of_each(self, sha256s: Collection[str]) -> dict[str, Origin]:
        """Those of these bytes that were written by somebody known."""
        wanted = frozenset(sha256s)
        select = "select sha256, origin from origins"
        if len(wanted) <= FEW:
            marks = ", ".join("?" * len(wanted))
            rows = self._database.run(f"{select} where sha256 in ({marks})", *wanted)
        else:
            rows = self._database.run(select)
        kept = msgspec.convert(rows, list[tuple[str, Origin]])
        return {sha256: origin for sha256, origin in kept if sha256 in wanted}

    def all(self) -> list[OriginRow]:
        rows = self._database.run("select sha256, origin, author from origins")
        return msgspec.convert(rows, list[OriginRow])

    def put_all(self, rows: Collection[OriginRow]) -> None:
        self._database.run_many(
            "insert or ignore into origins (sha256, origin, author) values (?, ?, ?)", list(rows)
        )

    def note(self, data: bytes, origin: KeptOrigin | None) -> None:
        """Records who wrote these bytes, unless that is known already."""
        if origin is not None:
            self.note_hash(version_of(data), origin)

    def note_hash(self, sha256: str, origin: KeptOrigin) -> None:
        self._database.run(
            "insert or ignore into origins (sha256, origin) values (?, ?)", sha256, origin
        )

    def note_team(self, sha256: str, author: str) -> None:
        """Records that a teammate wrote these bytes, unless it is known who did."""
        self._database.run(
            "insert or ignore into origins (sha256, origin, author) values (?, 'team', ?)",
            sha256,
            author,
        )

    def author_of(self, sha256: str) -> str:
        """The teammate who wrote these bytes, empty if none did."""
        rows = self._database.run(
            "select author from origins where sha256 = ? and origin = 'team'", sha256
        )
        return str(rows[0][0]) if rows else ""

    def inherit(self, old: bytes, new: bytes) -> None:
        """The new bytes are the old ones in another form."""
        self.inherit_hash(version_of(old), version_of(new))

    def inherit_hash(self, old: str, new: str) -> None:
        self._database.run(
            "insert or ignore into origins (sha256, origin, author)"
            " select ?, origin, author from origins where sha256 = ?",
            new,
            old,
        )

    def index_of(self, folder: str) -> str:
        """The hash of the index that was last known to be ours, empty if there is none."""
        rows = self._database.run("select sha256 from own_indexes where folder = ?", folder)
        return str(rows[0][0]) if rows else ""

    def note_index(self, folder: str, sha256: str) -> None:
        self._database.run("insert or replace into own_indexes values (?, ?)", folder, sha256)

    def forget_unused(self) -> None:
        """Forgets bytes that no version holds any more."""
        self._database.run(
            "delete from origins where sha256 not in"
            " (select sha256 from versions where sha256 is not null)"
        )
