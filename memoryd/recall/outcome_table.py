"""The table `outcomes`: how often an injected memory was used, contradicted, or neither showed."""

from typing import Final

import msgspec

from memoryd.recall.rules.outcomes import SILENT_TIMES, Outcome
from memoryd.system.database import Database

_COLUMNS: Final = {"used": "used", "contradicted": "contradicted", "silent": "silent"}


class OutcomeCounts(msgspec.Struct, frozen=True):
    used: int = 0
    contradicted: int = 0
    silent: int = 0


class OutcomeTable:
    """Blocking, safe from any thread."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, path: str, outcome: Outcome, at: float) -> None:
        column = _COLUMNS[outcome]
        self._database.run(
            f"insert into outcomes (path, {column}, last_at) values (?, 1, ?)"  # noqa: S608 - ours
            f" on conflict (path) do update set {column} = {column} + 1,"
            " last_at = excluded.last_at",
            path,
            at,
        )

    def counts(self, path: str) -> OutcomeCounts:
        rows = self._database.run(
            "select used, contradicted, silent from outcomes where path = ?", path
        )
        found = msgspec.convert(rows, list[tuple[int, int, int]])
        return OutcomeCounts(*found[0]) if found else OutcomeCounts()

    def never_used(self) -> set[str]:
        """What was injected so often in vain that it is not injected unasked any more."""
        rows = self._database.run(
            "select path from outcomes where used = 0 and contradicted = 0 and silent >= ?",
            SILENT_TIMES,
        )
        return {path for (path,) in msgspec.convert(rows, list[tuple[str]])}

    def forget(self, path: str) -> None:
        """The memory was changed: its new text gets its own chance."""
        self._database.run("delete from outcomes where path = ?", path)
