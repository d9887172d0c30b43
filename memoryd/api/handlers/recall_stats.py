"""Answers `recall/stats`: which memories of a project were given, and what became of that."""

import msgspec

from memoryd.base.timestamps import iso_time
from memoryd.memories.scopes import Scopes
from memoryd.recall.usage import MemoryUsage, MemoryUse


class UseReport(msgspec.Struct, frozen=True, kw_only=True):
    """`is_held_back`: it is no longer injected unasked."""

    path: str
    given: int
    last_given: str
    used: int
    contradicted: int
    silent: int
    rule_given: int
    rule_followed: int
    rule_broken: int
    is_held_back: bool


class RecallStatsAnswer(msgspec.Struct, frozen=True):
    memories: list[UseReport]


class RecallStats:
    def __init__(self, scopes: Scopes, usage: MemoryUsage) -> None:
        self._scopes = scopes
        self._usage = usage

    def answer(self, cwd: str) -> RecallStatsAnswer:
        """Blocks."""
        folders = [one.path for one in self._scopes.project(cwd).directories]
        return RecallStatsAnswer([_report(use) for use in self._usage.below(folders)])


def _report(use: MemoryUse) -> UseReport:
    return UseReport(
        path=use.path,
        given=use.given,
        last_given=iso_time(use.last_given) if use.last_given else "",
        used=use.used,
        contradicted=use.contradicted,
        silent=use.silent,
        rule_given=use.rule_given,
        rule_followed=use.rule_followed,
        rule_broken=use.rule_broken,
        is_held_back=use.is_held_back,
    )
