"""The table `tool_rules`: how often each rule was given at a tool call, and whether it was kept."""

import msgspec

from memoryd.recall.rules.tool_rules import Compliance
from memoryd.system.database import Database


class RuleCounts(msgspec.Struct, frozen=True):
    """`followed` and `broken` count sessions; in the rest of them nothing showed either way."""

    path: str = ""
    given: int = 0
    followed: int = 0
    broken: int = 0


class RuleTable:
    """Blocking, safe from any thread."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def was_given(self, path: str, at: float) -> None:
        self._database.run(
            "insert into tool_rules (path, given, last_given) values (?, 1, ?)"
            " on conflict (path) do update set given = given + 1, last_given = excluded.last_given",
            path,
            at,
        )

    def was_kept(self, path: str, compliance: Compliance) -> None:
        column = "followed" if compliance == "followed" else "broken"
        self._database.run(
            f"update tool_rules set {column} = {column} + 1 where path = ?",  # noqa: S608 - ours
            path,
        )

    def counts(self, path: str) -> RuleCounts:
        rows = self._database.run(
            "select path, given, followed, broken from tool_rules where path = ?", path
        )
        found = msgspec.convert(rows, list[tuple[str, int, int, int]])
        return RuleCounts(*found[0]) if found else RuleCounts(path)

    def total(self) -> RuleCounts:
        rows = self._database.run(
            "select '', coalesce(sum(given), 0), coalesce(sum(followed), 0),"
            " coalesce(sum(broken), 0) from tool_rules"
        )
        return RuleCounts(*msgspec.convert(rows, list[tuple[str, int, int, int]])[0])
