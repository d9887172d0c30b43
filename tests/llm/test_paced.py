"""One call at a time within the day's limits, on a real table and with a clock of ours."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import anyio
import pytest

from memoryd.base.config import Budget
from memoryd.llm.guards import MeteredProvider
from memoryd.llm.paced import PacedProvider
from memoryd.llm.plan_table import UNKNOWN_CALL_TOKENS, PlanTable
from memoryd.llm.rules.messages import (
    BudgetReached,
    ModelAnswer,
    ModelRequest,
    ProviderDown,
    ProviderRefused,
    Text,
    UserTurn,
)
from memoryd.llm.rules.plan import PlanLimits, PlanPause
from memoryd.llm.rules.spending import FREE
from memoryd.llm.spending_table import SpendingTable
from memoryd.system.database import Database
from tests.support.scripted_model import answer_of, says

pytestmark = pytest.mark.anyio

MODEL = "claude-code/haiku"


class Scripted:
    """A provider that answers, or raises what it is told to."""

    def __init__(self) -> None:
        self.asked: list[ModelRequest] = []
        self.error: Exception | None = None
        self.gate: anyio.Event | None = None
        self.inside = self.most_inside = 0

    async def complete(self, request: ModelRequest, _deadline_seconds: float) -> ModelAnswer:
        self.asked.append(request)
        self.inside += 1
        self.most_inside = max(self.most_inside, self.inside)
        if self.gate is not None:
            await self.gate.wait()
        self.inside -= 1
        if self.error is not None:
            raise self.error
        return answer_of(says("yes", input_tokens=900, output_tokens=100))


class Bench:
    def __init__(self, home: Path, limits: PlanLimits | None = None) -> None:
        self.path = str(home / "state.db")
        self.limits = limits or PlanLimits(3, 10_000, 900.0)
        self.clock = datetime(2026, 11, 17, 12, tzinfo=UTC)
        self.scripted = Scripted()
        self.open()

    def open(self) -> None:
        """As after a restart."""
        self.database = Database.open(self.path)
        self.table = PlanTable(self.database)
        spending, now = SpendingTable(self.database), self.now
        metered = MeteredProvider(self.scripted, spending, Budget(), {}, unpriced=FREE, now=now)
        self.paced = PacedProvider(metered, self.table, self.limits, MODEL, now)

    def now(self) -> datetime:
        return self.clock

    def later(self, **delta: float) -> None:
        self.clock += timedelta(**delta)

    async def ask(self, job: str = "extraction", turns: int = 1, seconds: float = 30) -> str:
        request = ModelRequest(
            job, "/p", "claude-haiku-5-5", 100, (), (UserTurn((Text("Hi."),)),) * turns
        )
        return (await self.paced.complete(request, seconds)).text

    async def refusal(self, **asked: object) -> str:
        with pytest.raises(BudgetReached) as caught:
            await self.ask(**asked)  # type: ignore[arg-type]  # by name
        return caught.value.reason


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


async def test_calls_and_tokens_are_counted_and_survive_a_restart(bench: Bench) -> None:
    await bench.ask()
    bench.open()
    use = bench.paced.use("extraction")
    assert (use.calls, use.tokens) == (1, 1000)
    assert bench.scripted.asked[0].model == MODEL
    assert await bench.refusal() == "plan-apart", "the last call is remembered too"


async def test_the_days_calls_end_and_begin_again_at_midnight(bench: Bench) -> None:
    for _ in range(3):
        await bench.ask()
        bench.later(minutes=15)
    assert await bench.refusal() == "plan-calls"
    assert len(bench.scripted.asked) == 3
    bench.later(hours=12)
    assert await bench.ask() == "yes"


async def test_a_further_request_of_a_run_does_not_wait_but_counts(bench: Bench) -> None:
    await bench.ask()
    await bench.ask(turns=3)
    await bench.ask(turns=5)
    assert await bench.refusal(turns=7) == "plan-calls"


async def test_jobs_are_held_apart_each_for_itself(tmp_path: Path) -> None:
    bench = Bench(tmp_path, PlanLimits(24, 300_000, 900.0))
    await bench.ask()
    assert await bench.ask("notes") == "yes"
    assert await bench.refusal(job="notes") == "plan-apart"
    assert await bench.ask("check") == await bench.ask("check") == "yes"
    assert await bench.refusal(job="recall") == "plan-share"


async def test_a_call_that_may_have_cost_something_counts_as_a_large_one(tmp_path: Path) -> None:
    bench = Bench(tmp_path, PlanLimits(24, UNKNOWN_CALL_TOKENS, 0.0))
    bench.scripted.error = ProviderDown("late", may_have_cost=True, retryable=False)
    with pytest.raises(ProviderDown):
        await bench.ask()
    assert await bench.refusal() == "plan-tokens"


async def test_a_call_that_was_never_sent_is_not_counted(bench: Bench) -> None:
    bench.scripted.error = ProviderDown("no start", may_have_cost=False, retryable=False)
    with pytest.raises(ProviderDown):
        await bench.ask()
    assert bench.paced.use("extraction").calls == 0


async def test_a_lasting_failure_is_remembered_for_an_hour_and_not_tried_again(
    bench: Bench,
) -> None:
    bench.scripted.error = ProviderRefused("no login", "log in", whole_account=True)
    for _ in range(3):
        with pytest.raises(ProviderRefused):
            await bench.ask()
    assert len(bench.scripted.asked) == 1
    assert bench.paced.problem() is bench.scripted.error
    bench.later(hours=1)
    assert bench.paced.problem() is None


async def test_a_failure_of_one_request_is_no_lasting_one(bench: Bench) -> None:
    bench.scripted.error = ProviderRefused("too long", "", whole_account=False)
    with pytest.raises(ProviderRefused):
        await bench.ask()
    assert bench.paced.problem() is None


async def test_a_check_asks_anyway_and_its_success_ends_the_problem(bench: Bench) -> None:
    bench.paced.note_problem(ProviderRefused("no login", "log in", whole_account=True))
    assert await bench.ask("check") == "yes"
    assert bench.paced.problem() is None


async def test_a_pause_of_the_plan_survives_a_restart(bench: Bench) -> None:
    at = bench.clock.timestamp()
    bench.table.keep_pause(PlanPause("much is used", at, at + 7200))
    bench.open()
    assert await bench.refusal() == "plan-used"
    bench.later(hours=2)
    assert await bench.ask() == "yes"


async def test_two_at_once_are_one_after_the_other(bench: Bench) -> None:
    bench.scripted.gate = anyio.Event()
    with anyio.fail_after(30):
        async with anyio.create_task_group() as tasks:
            for job in ("extraction", "check", "notes"):
                tasks.start_soon(bench.ask, job)
            await anyio.wait_all_tasks_blocked()
            bench.scripted.gate.set()
    assert (len(bench.scripted.asked), bench.scripted.most_inside) == (3, 1)


async def test_who_waits_in_vain_for_a_turn_has_asked_nothing(bench: Bench) -> None:
    bench.scripted.gate = anyio.Event()
    with anyio.fail_after(30):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(bench.ask)
            await anyio.wait_all_tasks_blocked()
            with pytest.raises(ProviderDown) as caught:
                await bench.ask("check", seconds=0.01)
            assert not caught.value.may_have_cost
            bench.scripted.gate.set()
    assert len(bench.scripted.asked) == 1
