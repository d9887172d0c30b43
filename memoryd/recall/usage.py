"""How memories were used: given to sessions, used or contradicted there, kept as rules.

Blocking.
"""

from collections.abc import Sequence

import msgspec

from memoryd.recall.outcome_table import OutcomeCounts, OutcomeTable
from memoryd.recall.recall_table import RecallCount, RecallTable
from memoryd.recall.rule_table import RuleCounts, RuleTable
from memoryd.recall.rules.outcomes import SILENT_TIMES
from memoryd.system.database import Database


class MemoryUse(msgspec.Struct, frozen=True, kw_only=True):
    """`is_held_back`: injected in vain so often that it is only given to those who ask."""

    path: str
    given: int
    last_given: float | None
    session_id: str
    used: int
    contradicted: int
    silent: int
    rule_given: int
    rule_followed: int
    rule_broken: int

    @property
    def is_held_back(self) -> bool:
        return not (self.used or self.contradicted) and self.silent >= SILENT_TIMES


class MemoryUsage:
    def __init__(self, database: Database) -> None:
        self._database = database
        self._recalls = RecallTable(database)
        self._outcomes = OutcomeTable(database)
        self._rules = RuleTable(database)

    def of(self, path: str) -> MemoryUse:
        return _use(
            path, self._recalls.of(path), self._outcomes.counts(path), self._rules.counts(path)
        )

    def below(self, folders: Sequence[str]) -> list[MemoryUse]:
        """Everything of these directories that was ever given, most used first."""
        known = {path for path in self._recalls.paths() if path.rpartition("/")[0] in folders}
        uses = [self.of(path) for path in known]
        return sorted(uses, key=lambda use: (-use.used, -use.given, use.path))

    def moved(self, old_path: str, new_path: str) -> None:
        """What was counted for a memory goes on at its new path."""
        with self._database.transaction():
            for table in ("recalls", "outcomes", "tool_rules"):
                self._database.run(
                    f"update or replace {table} set path = ? where path = ?",  # noqa: S608 - ours
                    new_path,
                    old_path,
                )

    def rules(self) -> RuleCounts:
        return self._rules.total()


def _use(path: str, given: RecallCount, outcomes: OutcomeCounts, rule: RuleCounts) -> MemoryUse:
    return MemoryUse(
        path=path,
        given=given.times,
        last_given=given.last_at,
        session_id=given.session_id,
        used=outcomes.used,
        contradicted=outcomes.contradicted,
        silent=outcomes.silent,
        rule_given=rule.given,
        rule_followed=rule.followed,
        rule_broken=rule.broken,
    )
