"""Extraction by a model behind a command, with the built-in rules where it cannot be asked.

Rules
- A failure that lasts (no client, one that is too old, no login) leaves the turns to the built-in
  rules: nobody is worse off than without a model. One that passes (the plan, the day's limits) lets
  them wait in the queue.
- A person's plan is not used for a backlog: turns older than `backlog_seconds`, imported ones above
  all, are left to the built-in rules. A few days without a plan, or an import, must not use up the
  next weeks.
- One run at a time, and none before the pace allows it; the worker does not even begin.
"""

import time
from collections.abc import Callable
from datetime import datetime

from memoryd.extraction.rules.batching import Pause
from memoryd.extraction.task import ExtractionOutcome, ExtractionTask, Extractor
from memoryd.llm.paced import PacedProvider
from memoryd.transcripts.rules.turns import Turn

JOB = "extraction"


class ProgramExtractor:
    def __init__(
        self,
        by_model: Extractor,
        by_rules: Extractor,
        pace: PacedProvider,
        *,
        backlog_seconds: float,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._by_model = by_model
        self._by_rules = by_rules
        self._pace = pace
        self._backlog_seconds = backlog_seconds
        self._now = now

    async def extract(self, task: ExtractionTask) -> ExtractionOutcome:
        oldest = self._now() - self._backlog_seconds
        if self._pace.problem() is not None or is_backlog(task.turns, oldest):
            return await self._by_rules.extract(task)
        outcome = await self._by_model.extract(task)
        if outcome.verdict == "paused" and self._pace.problem() is not None:
            return await self._by_rules.extract(task)
        return outcome

    def rest(self) -> Pause | None:
        """Until when no run may begin; blocks."""
        if self._pace.problem() is not None:
            return None
        verdict = self._pace.verdict(JOB)
        return None if verdict.allowed else Pause(verdict.reason, self._now(), verdict.until)


def is_backlog(turns: tuple[Turn, ...], oldest: float) -> bool:
    """Whether even the last of these turns ended before `oldest`."""
    return all(_ended(turn) < oldest for turn in turns)


def _ended(turn: Turn) -> float:
    try:
        return datetime.fromisoformat(turn.ended).timestamp()
    except ValueError:  # a transcript without times
        return 0.0
