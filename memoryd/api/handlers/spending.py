"""What extraction waits for and what was spent: for `status` and `cost`."""

from collections.abc import Callable
from datetime import datetime, timedelta
from math import inf

import msgspec

from memoryd.base.config import Budget, Settings
from memoryd.extraction.rules.batching import Pause
from memoryd.extraction.worker import ExtractionWorker
from memoryd.llm.connect import ModelServer, local_now
from memoryd.llm.rules.spending import Spent, may_call, may_spend
from memoryd.llm.spending_table import SpendingTable, Total
from memoryd.memories.rules.topics import iso_time

# The least that anything costs: what does not fit now does not fit at all.
LEAST_USD = 0.000_001


class QueueStatus(msgspec.Struct, frozen=True):
    """`held` turns wait for another turn, `parked` ones for a person."""

    waiting: int = 0
    running: int = 0
    held: int = 0
    parked: int = 0


class SpendingStatus(msgspec.Struct, frozen=True):
    """`reason` and `until` say why and how long all jobs that need a model wait."""

    today_usd: float = 0.0
    month_usd: float = 0.0
    paused: bool = False
    reason: str = ""
    until: str = ""
    usd_per_day: float = 0.0
    usd_per_month: float = 0.0


class CostReport(msgspec.Struct, frozen=True):
    since: str
    spending: SpendingStatus
    day_resets: str
    month_resets: str
    days: list[Total]
    jobs: list[Total]
    projects: list[Total]
    models: list[Total]


class SpendingReports:
    """Everything here blocks on the database."""

    def __init__(
        self,
        worker: ExtractionWorker,
        spending: SpendingTable,
        settings: Settings,
        models: ModelServer | None,
        now: Callable[[], datetime] = local_now,
    ) -> None:
        self._worker = worker
        self._table = spending
        self._settings = settings
        self._models = models
        self._now = now

    @property
    def provider(self) -> str:
        return "anthropic" if self._models else "embedded"

    @property
    def model(self) -> str:
        return self._settings.model.extraction if self._models else ""

    @property
    def model_host(self) -> str:
        return self._models.endpoint.host if self._models else ""

    def queue(self, settling: int) -> tuple[QueueStatus, list[str]]:
        """How the queue stands, and what a person should know about it."""
        report = self._worker.report()
        problems = list(report.problems)
        if report.parked:
            counted = "1 turn was" if report.parked == 1 else f"{report.parked} turns were"
            problems.append(
                f"{counted} parked: extraction failed too often ({report.parked_reason});"
                " memoryd import --retry-parked tries again"
            )
        status = QueueStatus(report.waiting + settling, report.running, report.held, report.parked)
        return status, problems

    def spending(self) -> SpendingStatus:
        now = self._now()
        spent = self._table.spent_by(now.date())
        pause = self._pause(spent, now)
        return SpendingStatus(
            today_usd=round(spent.today_usd, 6),
            month_usd=round(spent.month_usd, 6),
            paused=pause is not None,
            reason=pause.reason if pause else "",
            until=iso_time(pause.until) if pause else "",
            usd_per_day=self._settings.budget.usd_per_day,
            usd_per_month=self._settings.budget.usd_per_month,
        )

    def _pause(self, spent: Spent, now: datetime) -> Pause | None:
        """Why no model is asked at the moment, whichever job would ask it."""
        if self._models is None:
            return None
        for verdict in (
            may_call(self._models.metered.breaker, now.timestamp()),
            may_spend(spent, LEAST_USD, self._settings.budget, now),
        ):
            if not verdict.allowed:
                return Pause(verdict.reason, now.timestamp(), verdict.until)
        return self._worker.pause

    def cost(self, days: int) -> CostReport:
        now = self._now()
        since = now.date() - timedelta(days=days - 1)
        return CostReport(
            since=since.isoformat(),
            spending=self.spending(),
            day_resets=_resets(Budget(usd_per_day=0.0, usd_per_month=inf), now),
            month_resets=_resets(Budget(usd_per_day=inf, usd_per_month=0.0), now),
            days=self._table.totals("day", since),
            jobs=self._table.totals("job", since),
            projects=self._table.totals("project", since),
            models=self._table.totals("model", since),
        )


def _resets(caps: Budget, now: datetime) -> str:
    """When a cap that is reached now is lifted again."""
    return iso_time(may_spend(Spent(), LEAST_USD, caps, now).until)
