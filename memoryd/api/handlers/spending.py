"""The extraction queue and what was spent, for `status` and `cost`."""

from collections.abc import Callable
from datetime import datetime, timedelta
from math import inf

import msgspec

from memoryd.base.config import Budget, Settings
from memoryd.base.timestamps import iso_time, next_try_words
from memoryd.extraction.by_program import JOB as EXTRACTION
from memoryd.extraction.rules.batching import Pause
from memoryd.extraction.worker import ExtractionWorker
from memoryd.llm.connect import Models, local_now
from memoryd.llm.rules.messages import told
from memoryd.llm.rules.spending import Spent, may_call, may_spend
from memoryd.llm.spending_table import SpendingTable, Total

# The smallest cost there is: if it does not fit the budget, nothing does.
LEAST_USD = 0.000_001


class QueueStatus(msgspec.Struct, frozen=True):
    """`held` turns wait for another turn, `parked` ones for a person."""

    waiting: int = 0
    running: int = 0
    held: int = 0
    parked: int = 0


class SpendingStatus(msgspec.Struct, frozen=True):
    """`reason` and `until` say why and until when jobs that need a model wait."""

    today_usd: float = 0.0
    month_usd: float = 0.0
    paused: bool = False
    reason: str = ""
    until: str = ""
    usd_per_day: float = 0.0
    usd_per_month: float = 0.0


class PlanStatus(msgspec.Struct, frozen=True):
    """Today's use of a model behind a command; `problem` says why the built-in rules do its work.

    `next_try` is when that is looked at again; `waits` and `until` say why and until when the next
    extraction waits.
    """

    model: str
    calls: int
    calls_per_day: int
    tokens: int
    tokens_per_day: int
    problem: str = ""
    hint: str = ""
    waits: str = ""
    until: str = ""
    next_try: str = ""


class CostReport(msgspec.Struct, frozen=True):
    since: str
    spending: SpendingStatus
    day_resets: str
    month_resets: str
    days: list[Total]
    jobs: list[Total]
    projects: list[Total]
    models: list[Total]
    plan: PlanStatus | None = None


class SpendingReports:
    """Everything here blocks on the database."""

    def __init__(
        self,
        worker: ExtractionWorker,
        spending: SpendingTable,
        settings: Settings,
        models: Models | None,
        now: Callable[[], datetime] = local_now,
    ) -> None:
        self._worker = worker
        self._table = spending
        self._settings = settings
        self._models = models
        self._now = now

    @property
    def provider(self) -> str:
        return self._models.provider if self._models else "embedded"

    @property
    def model(self) -> str:
        model = self._settings.model.extraction
        return self._models.model_of(model) if self._models else ""

    @property
    def model_host(self) -> str:
        return self._models.host if self._models else ""

    def queue(self, settling: int) -> tuple[QueueStatus, list[str]]:
        """The queue's numbers, and its problems in sentences."""
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

    def plan(self) -> PlanStatus | None:
        """Only for a model behind a command."""
        pace = self._models.pace if self._models else None
        if pace is None:
            return None
        use, verdict, problem = pace.use(EXTRACTION), pace.verdict(EXTRACTION), pace.problem()
        return PlanStatus(
            model=pace.model,
            calls=use.calls,
            calls_per_day=pace.limits.calls_per_day,
            tokens=use.tokens,
            tokens_per_day=pace.limits.tokens_per_day,
            problem=told(problem) if problem else "",
            hint=problem.hint if problem else "",
            waits=verdict.words,
            until="" if verdict.allowed else iso_time(verdict.until),
            next_try=iso_time(pace.next_try()) if problem else "",
        )

    def provider_problems(self) -> list[str]:
        """What the provider's last failure was, and when it is tried again."""
        failure = self._models.metered.last_failure if self._models else None
        pace = self._models.pace if self._models else None
        if failure is None or (pace and pace.problem()):  # the plan tells the latter
            return []
        now = self._now()
        pause = self._pause(self._table.spent_by(now.date()), now)
        when = next_try_words(pause.until if pause else 0.0, now.timestamp())
        return [f"{failure.words}; {when}"]

    def _pause(self, spent: Spent, now: datetime) -> Pause | None:
        """Why no job may call the model now."""
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
            plan=self.plan(),
        )


def _resets(caps: Budget, now: datetime) -> str:
    """When a cap that is reached now resets."""
    return iso_time(may_spend(Spent(), LEAST_USD, caps, now).until)
