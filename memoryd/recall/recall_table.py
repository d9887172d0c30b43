"""The table `recalls`: how often a memory was given to a session, and when last.

It is written with what sessions were given (`surfaced`), in batches and off the event loop.
"""

from typing import Final

import msgspec

from memoryd.system.database import Database

COUNT_ONE: Final = (
    "insert into recalls (path, times, last_at, session_id) values (?, 1, ?, ?)"
    " on conflict (path) do update set times = times + 1, last_at = excluded.last_at,"
    " session_id = excluded.session_id"
)


class RecallCount(msgspec.Struct, frozen=True):
    times: int = 0
    last_at: float | None = None
    session_id: str = ""


class RecallTable:
    """Blocking, safe from any thread."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def paths(self) -> list[str]:
        """Everything that was ever given."""
        rows = self._database.run("select path from recalls")
        return [path for (path,) in msgspec.convert(rows, list[tuple[str]])]

    def of(self, path: str) -> RecallCount:
        rows = self._database.run(
            "select times, last_at, session_id from recalls where path = ?", path
        )
        found = msgspec.convert(rows, list[tuple[int, float, str]])
        return RecallCount(*found[0]) if found else RecallCount()
