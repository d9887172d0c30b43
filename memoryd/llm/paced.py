"""Guards around a model behind a command: one call at a time, within the day's limits.

    PacedProvider( MeteredProvider( ClaudeCodeProvider or CommandProvider ) )

Rules
- One call at a time, in all jobs together. So checking the limits and counting are one step. The
  wait for one's turn is part of the deadline.
- There are no retries: the client has made its own, and a call is expensive.
- A failure that will last (no client, one that is too old, no login) is remembered for an hour, in
  which nobody asks again; what would have asked is done without a model. A check asks anyway.
- A failure that will pass (the plan, the day's limits) is a pause: what waits, waits.
"""

from collections.abc import Callable, Mapping
from datetime import datetime
from functools import partial

import anyio
import anyio.to_thread
import msgspec

from memoryd.llm.anthropic_client import Provider
from memoryd.llm.plan_table import PlanTable
from memoryd.llm.rules.messages import (
    CHECK_JOB,
    BudgetReached,
    ModelAnswer,
    ModelRequest,
    ProviderDown,
    ProviderRefused,
)
from memoryd.llm.rules.plan import PlanLimits, PlanReason, PlanUse, PlanVerdict, may_ask

LONGEST_CALL_SECONDS = 120.0
UNUSABLE_SECONDS = 3600.0

HINTS: Mapping[PlanReason, str] = {
    "ok": "",
    "plan-calls": "jobs wait until midnight; the settings have a higher limit",
    "plan-tokens": "jobs wait until midnight; the settings have a higher limit",
    "plan-apart": "jobs wait until then",
    "plan-share": "it goes on tomorrow",
    "plan-used": "jobs wait until the plan is reset",
}


class Unusable(msgspec.Struct, frozen=True):
    """A lasting failure; it is believed until `until`, in seconds since the epoch."""

    error: ProviderRefused
    since: float
    until: float


class PacedProvider:
    def __init__(
        self,
        provider: Provider,
        table: PlanTable,
        limits: PlanLimits,
        model: str,
        now: Callable[[], datetime],
    ) -> None:
        self._provider = provider
        self._table = table
        self.limits = limits
        self.model = model
        self._now = now
        self._turn = anyio.Lock()
        self._unusable: Unusable | None = None

    def problem(self) -> ProviderRefused | None:
        """Why the model cannot be used for some time; None if it can, or may be tried again."""
        known, now = self._unusable, self._now().timestamp()
        return known.error if known is not None and known.since <= now < known.until else None

    def next_try(self) -> float:
        """When a problem is looked at again, in seconds since the epoch; 0 if there is none."""
        return self._unusable.until if self._unusable and self.problem() else 0.0

    def note_problem(self, error: ProviderRefused) -> None:
        now = self._now().timestamp()
        self._unusable = Unusable(error, now, now + UNUSABLE_SECONDS)

    async def complete(self, request: ModelRequest, deadline_seconds: float) -> ModelAnswer:
        began = anyio.current_time()
        try:
            with anyio.fail_after(deadline_seconds):
                await self._turn.acquire()
        except TimeoutError:
            raise ProviderDown(
                "another request is still being answered", may_have_cost=False, retryable=False
            ) from None
        try:
            left_seconds = deadline_seconds - (anyio.current_time() - began)
            return await self._answer(request, min(left_seconds, LONGEST_CALL_SECONDS))
        finally:
            self._turn.release()

    async def _answer(self, request: ModelRequest, seconds: float) -> ModelAnswer:
        await self._admit(request)
        own = msgspec.structs.replace(request, model=self.model)
        try:
            answer = await self._provider.complete(own, seconds)
        except ProviderRefused as error:
            if error.whole_account:
                self.note_problem(error)
            raise
        self._unusable = None
        return answer

    async def _admit(self, request: ModelRequest) -> None:
        problem = self.problem()
        if problem is not None and request.job != CHECK_JOB:
            raise problem
        follows = len(request.turns) > 1
        verdict = await anyio.to_thread.run_sync(
            partial(self.verdict, request.job, follows=follows)
        )
        if not verdict.allowed:
            hint, words = HINTS[verdict.reason], verdict.words
            raise BudgetReached(words, hint, reason=verdict.reason, until=verdict.until)
        if not follows:
            at = self._now().timestamp()
            await anyio.to_thread.run_sync(self._table.note_begin, request.job, at)

    def verdict(self, job: str, *, follows: bool = False) -> PlanVerdict:
        """Whether a job may ask now; blocks."""
        return may_ask(job, self.use(job), self.limits, self._now(), follows=follows)

    def use(self, job: str) -> PlanUse:
        """What all jobs have used today, and when this one began last; blocks."""
        return self._table.use(self.model, job, self._now().date())
