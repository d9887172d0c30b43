"""Guards between a job and the model server: budget, circuit breaker and retries.

    PatientProvider( MeteredProvider( AnthropicProvider ) )

Rules
- Each attempt is debited by itself, since each may be billed: so retries wrap the meter.
- Checking the totals and reserving happen under one lock; two jobs cannot both take the last cent.
- A reservation is released only if the server certainly billed nothing. A cancelled call, like a
  crashed one, stays debited.
- At most three attempts, all of them and their waits within one deadline, whatever the server asks
  for. A wait that does not fit is not started.
- A wait is half a second, doubling, or what the server asks for if that is longer, plus a little
  jitter, so that jobs that failed together do not retry together.
"""

import random
import time
from collections.abc import Awaitable, Callable, Mapping
from datetime import date, datetime
from typing import Protocol

import anyio
import msgspec

from memoryd.base.config import Budget, Price
from memoryd.llm.anthropic_client import Provider
from memoryd.llm.rules.messages import (
    CHECK_JOB,
    BudgetReached,
    ModelAnswer,
    ModelRequest,
    ProviderDown,
    ProviderPaused,
    ProviderRefused,
    Usage,
    told,
)
from memoryd.llm.rules.spending import (
    Breaker,
    PauseReason,
    SpendingVerdict,
    Spent,
    after_failure,
    after_pause,
    after_success,
    before_call,
    cost_usd,
    may_call,
    may_spend,
    price_of,
    worst_usage,
)

ATTEMPTS = 3
FIRST_WAIT_SECONDS = 0.5
# One attempt leaves time for another, even if the server hangs.
ATTEMPT_SECONDS = 120.0
DEADLINE_SECONDS = 180.0

# Message and hint.
PAUSE_MESSAGES: Mapping[PauseReason, tuple[str, str]] = {
    "ok": ("", ""),
    "day-cap": (
        "the daily budget is used up",
        "jobs wait until midnight; raise budget.usd_per_day to continue now",
    ),
    "month-cap": (
        "the monthly budget is used up",
        "jobs wait until next month; raise budget.usd_per_month to continue now",
    ),
    "breaker-open": (
        "the model server failed repeatedly or asked for a pause",
        "jobs wait and resume by themselves",
    ),
}


class Ledger(Protocol):
    """Spending on disk. `reserve` has reached the disk when it returns."""

    async def spent(self, day: date) -> Spent:
        """What is debited to this day and its month, reservations included."""

    async def reserve(self, job: str, project: str, model: str, usd: float, day: date) -> int:
        """Debits a call before it is made."""

    async def settle(self, reservation: int, usage: Usage, usd: float) -> None:
        """Replaces a reservation by the actual cost."""

    async def release(self, reservation: int) -> None:
        """Removes a reservation: the call was not billed."""

    async def keep_breaker(self, breaker: Breaker) -> None:
        """Saves the breaker, so that it survives a restart."""


class LastFailure(msgspec.Struct, frozen=True):
    """What the provider did last, if it failed; `at` is in seconds since the epoch."""

    words: str
    hint: str
    at: float


class MeteredProvider:
    """Debits every call before it is made, and refuses calls that the caps or breaker forbid."""

    def __init__(
        self,
        provider: Provider,
        ledger: Ledger,
        budget: Budget,
        prices: Mapping[str, Price],
        *,
        unpriced: Price | None = None,
        breaker: Breaker | None = None,
        now: Callable[[], datetime] = lambda: datetime.now().astimezone(),
    ) -> None:
        self._provider = provider
        self._ledger = ledger
        self._budget = budget
        self._prices = prices
        self._unpriced = unpriced
        self._now = now
        self._reserving = anyio.Lock()
        self.breaker = breaker or Breaker()
        self.last_failure: LastFailure | None = None

    async def complete(self, request: ModelRequest, deadline_seconds: float) -> ModelAnswer:
        price = price_of(request.model, self._prices, self._unpriced)
        reservation = await self._reserve(request, cost_usd(worst_usage(request), price))
        try:
            answer = await self._provider.complete(request, deadline_seconds)
        except (ProviderDown, ProviderPaused, ProviderRefused) as error:
            if not (isinstance(error, ProviderDown) and error.may_have_cost):
                await self._ledger.release(reservation)
            self.last_failure = LastFailure(told(error), error.hint, self._now().timestamp())
            await self._count_failure(error)
            raise
        self.last_failure = None
        await self._set_breaker(after_success())
        # If the server does not count tokens, the worst case stays debited.
        if not answer.usage.prompt_tokens:
            return answer
        usd = cost_usd(answer.usage, price)
        await self._ledger.settle(reservation, answer.usage, usd)
        return msgspec.structs.replace(answer, usd=usd)

    def pause(self) -> SpendingVerdict:
        """Whether the provider's failures, or its own wish, keep jobs from calling it now."""
        return may_call(self.breaker, self._now().timestamp())

    async def verdict(self, estimate_usd: float, job: str = "") -> SpendingVerdict:
        """Whether a call that may cost this much would be made now."""
        now, verdict = self._now(), self.pause()
        # A person who tries the provider may have repaired what made it fail.
        if not verdict.allowed and job != CHECK_JOB:
            return verdict
        return may_spend(await self._ledger.spent(now.date()), estimate_usd, self._budget, now)

    async def _reserve(self, request: ModelRequest, usd: float) -> int:
        async with self._reserving:
            verdict = await self.verdict(usd, request.job)
            if not verdict.allowed:
                message, hint = PAUSE_MESSAGES[verdict.reason]
                raise BudgetReached(message, hint, reason=verdict.reason, until=verdict.until)
            now = self._now()
            await self._set_breaker(before_call(self.breaker, now.timestamp()))
            return await self._ledger.reserve(
                request.job, request.project, request.model, usd, now.date()
            )

    async def _count_failure(self, error: ProviderDown | ProviderPaused | ProviderRefused) -> None:
        now = self._now().timestamp()
        if isinstance(error, ProviderPaused):
            await self._set_breaker(after_pause(self.breaker, error.pause_seconds, now))
        elif isinstance(error, ProviderDown) or error.whole_account:
            await self._set_breaker(after_failure(self.breaker, now))
        else:
            # The server is healthy: it rejected one bad request.
            await self._set_breaker(after_success())

    async def _set_breaker(self, breaker: Breaker) -> None:
        if breaker != self.breaker:
            self.breaker = breaker
            await self._ledger.keep_breaker(breaker)


class PatientProvider:
    """Retries where that can help."""

    def __init__(
        self,
        provider: Provider,
        *,
        attempt_seconds: float = ATTEMPT_SECONDS,
        sleep: Callable[[float], Awaitable[None]] = anyio.sleep,
        monotonic: Callable[[], float] = time.monotonic,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        self._provider = provider
        self._attempt_seconds = attempt_seconds
        self._sleep = sleep
        self._monotonic = monotonic
        self._jitter = jitter

    async def complete(
        self, request: ModelRequest, deadline_seconds: float = DEADLINE_SECONDS
    ) -> ModelAnswer:
        ends_at = self._monotonic() + deadline_seconds
        attempt = 1
        while True:
            left_seconds = ends_at - self._monotonic()
            try:
                return await self._provider.complete(
                    request, min(left_seconds, self._attempt_seconds)
                )
            except (ProviderDown, ProviderPaused) as error:
                wait_seconds = wait_after(error, attempt, self._jitter())
                left_seconds = ends_at - self._monotonic()
                if wait_seconds is None or wait_seconds >= left_seconds:
                    raise
            await self._sleep(wait_seconds)
            attempt += 1


def wait_after(error: ProviderDown | ProviderPaused, attempt: int, jitter: float) -> float | None:
    """How long to wait before a retry, or None if a retry is pointless."""
    if attempt >= ATTEMPTS or not error.retryable:
        return None
    asked = error.pause_seconds if isinstance(error, ProviderPaused) else error.retry_after_seconds
    own_seconds: float = FIRST_WAIT_SECONDS * 2 ** (attempt - 1)
    return max(own_seconds, asked or 0.0) + jitter * FIRST_WAIT_SECONDS
