"""Spending on disk: debited before the call, safe from a kill, totals by day, job and project."""

from contextlib import suppress
from datetime import UTC, date, datetime
from pathlib import Path

import pytest

from memoryd.base.config import Budget, Price
from memoryd.llm.guards import MeteredProvider
from memoryd.llm.rules.messages import (
    AssistantTurn,
    BudgetReached,
    ModelAnswer,
    ModelRequest,
    ProviderDown,
    Text,
    Usage,
    UserTurn,
)
from memoryd.llm.rules.spending import Breaker, Spent
from memoryd.llm.spending_table import SpendingTable, Total
from memoryd.system.database import Database

TODAY = date(2026, 11, 20)
YESTERDAY = date(2026, 11, 19)
LAST_MONTH = date(2026, 10, 31)
USAGE = Usage(10, 20, 30, 40)


@pytest.fixture
def path(home: Path) -> Path:
    return home / ".local/state/memoryd/state.db"


@pytest.fixture
def spending(database: Database) -> SpendingTable:
    return SpendingTable(database)


async def test_a_reservation_counts_until_it_is_settled_or_released(
    spending: SpendingTable,
) -> None:
    kept = await spending.reserve("extraction", "/p", "m", 0.50, TODAY)
    given_back = await spending.reserve("extraction", "/p", "m", 0.25, TODAY)
    assert await spending.spent(TODAY) == Spent(0.75, 0.75)
    await spending.settle(kept, USAGE, 0.10)
    await spending.release(given_back)
    assert await spending.spent(TODAY) == Spent(0.10, 0.10)


async def test_days_and_months_are_counted_separately(spending: SpendingTable) -> None:
    for day, usd in ((TODAY, 1.0), (YESTERDAY, 2.0), (LAST_MONTH, 4.0)):
        await spending.reserve("dream", "/p", "m", usd, day)
    assert await spending.spent(TODAY) == Spent(1.0, 3.0)
    assert await spending.spent(LAST_MONTH) == Spent(4.0, 4.0)
    assert await spending.spent(date(2026, 12, 1)) == Spent(0.0, 0.0)


async def test_a_call_that_ends_after_midnight_is_paid_by_the_day_it_began(
    spending: SpendingTable,
) -> None:
    number = await spending.reserve("dream", "/p", "m", 1.0, YESTERDAY)
    await spending.settle(number, USAGE, 0.5)
    assert await spending.spent(YESTERDAY) == Spent(0.5, 0.5)
    assert (await spending.spent(TODAY)).today_usd == 0.0


async def test_totals_are_by_day_job_project_and_model(spending: SpendingTable) -> None:
    one = await spending.reserve("extraction", "/a", "small", 1.0, YESTERDAY)
    await spending.settle(one, USAGE, 0.25)
    await spending.reserve("dream", "/b", "big", 2.0, TODAY)
    await spending.reserve("extraction", "/a", "small", 4.0, LAST_MONTH)
    small, big = Total("", 0.25, 1, 0, 10, 20, 30, 40), Total("", 2.0, 1, 1, 0, 0, 0, 0)
    for key, names in (
        ("day", ["2026-11-19", "2026-11-20"]),
        ("job", ["dream", "extraction"]),
        ("project", ["/b", "/a"]),
        ("model", ["big", "small"]),
    ):
        found = spending.totals(key, date(2026, 11, 1))  # type: ignore[arg-type]  # one of the keys
        assert [one.name for one in found] == names
        assert {(one.usd, one.calls, one.open_calls, one.output_tokens) for one in found} == {
            (kind.usd, kind.calls, kind.open_calls, kind.output_tokens) for kind in (small, big)
        }


async def test_the_breaker_survives_a_restart(spending: SpendingTable, path: Path) -> None:
    assert spending.kept_breaker() == Breaker()
    await spending.keep_breaker(Breaker(4, 0.0, 0.0))
    await spending.keep_breaker(Breaker(5, 1_700_000_000.5, 600.0))
    again = Database.open(str(path))
    assert SpendingTable(again).kept_breaker() == Breaker(5, 1_700_000_000.5, 600.0)
    again.close()


class Server:
    """Answers everything, or fails every time, and counts what it was asked."""

    def __init__(self, *, fails: bool) -> None:
        self.asked = 0
        self._fails = fails

    async def complete(self, request: ModelRequest, deadline_seconds: float) -> ModelAnswer:
        self.asked += 1
        if self._fails:
            raise ProviderDown("cut", may_have_cost=True)
        usage = Usage(input_tokens=1000, output_tokens=1000)
        return ModelAnswer(AssistantTurn(b"[]"), "", (), "complete", "tool_use", usage)


@pytest.mark.parametrize("fails", [True, False])
async def test_no_call_exceeds_the_cap_even_across_restarts(
    spending: SpendingTable, fails: bool
) -> None:
    server = Server(fails=fails)
    moment = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
    request = ModelRequest("j", "/p", "m", 1000, (), (UserTurn((Text("x" * 2000),)),))
    prices, budget = {"m": Price(input_usd=1.0, output_usd=5.0)}, Budget(usd_per_day=0.10)

    for _ in range(60):
        # A new provider each time: nothing but the spending remembers.
        metered = MeteredProvider(
            server, spending, budget, prices, breaker=Breaker(), now=lambda: moment
        )
        with suppress(ProviderDown, BudgetReached):
            await metered.complete(request, 1.0)
    assert 0 < server.asked < 40
    assert 0.09 < (await spending.spent(TODAY)).today_usd <= 0.10
