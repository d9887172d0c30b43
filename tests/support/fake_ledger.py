"""A spending ledger and a clock in memory."""

from datetime import date, datetime, timedelta

from anyio.lowlevel import checkpoint

from memoryd.llm.rules.messages import Usage
from memoryd.llm.rules.spending import Breaker, Spent


class MemoryLedger:
    """Outlives the provider that writes to it, as the table on disk outlives a crash.

    Every call lets other tasks run, as the table on disk does.
    """

    def __init__(self) -> None:
        self._debits: dict[int, tuple[date, float]] = {}
        self.debits = 0
        self.breaker = Breaker()

    @property
    def total_usd(self) -> float:
        return sum(usd for _, usd in self._debits.values())

    async def spent(self, day: date) -> Spent:
        await checkpoint()
        month = [
            (at, usd)
            for at, usd in self._debits.values()
            if at.replace(day=1) == day.replace(day=1)
        ]
        return Spent(sum(usd for at, usd in month if at == day), sum(usd for _, usd in month))

    async def reserve(self, job: str, project: str, model: str, usd: float, day: date) -> int:
        await checkpoint()
        self.debits += 1
        self._debits[self.debits] = (day, usd)
        return self.debits

    async def settle(self, reservation: int, usage: Usage, usd: float) -> None:
        await checkpoint()
        self._debits[reservation] = (self._debits[reservation][0], usd)

    async def release(self, reservation: int) -> None:
        await checkpoint()
        del self._debits[reservation]

    async def keep_breaker(self, breaker: Breaker) -> None:
        await checkpoint()
        self.breaker = breaker


class SteppedClock:
    """Time that passes only by `step` and by `sleep`."""

    def __init__(self, start: datetime) -> None:
        self._start = start
        self._passed_seconds = 0.0
        self.slept: list[float] = []

    def now(self) -> datetime:
        return self._start + timedelta(seconds=self._passed_seconds)

    def monotonic(self) -> float:
        return self._passed_seconds

    def step(self, seconds: float) -> None:
        self._passed_seconds += seconds

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.step(seconds)
