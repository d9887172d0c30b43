"""Prices, caps and the breaker as rules; and the guards that enforce them, whatever happens."""

from datetime import UTC, date, datetime, timedelta, timezone

import anyio
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoryd.base.config import DEFAULT_PRICES, Budget, Price
from memoryd.llm.guards import MeteredProvider, PatientProvider, wait_after
from memoryd.llm.rules.messages import (
    AnswerUnreadable,
    AssistantTurn,
    BudgetReached,
    ModelAnswer,
    ModelRequest,
    ProviderDown,
    ProviderPaused,
    ProviderRefused,
    Text,
    ToolDefinition,
    Usage,
    UserTurn,
)
from memoryd.llm.rules.spending import (
    FREE,
    Breaker,
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
from tests.support.fake_ledger import MemoryLedger, SteppedClock

NOON = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
PRICE = Price(input_usd=1.0, output_usd=5.0)
PRICES = {"model": PRICE}


def request(max_tokens: int = 1000, text: str = "x" * 2000) -> ModelRequest:
    return ModelRequest(
        job="extraction",
        project="/p",
        model="model",
        max_tokens=max_tokens,
        system=(),
        turns=(UserTurn((Text(text),)),),
    )


def answer(usage: Usage) -> ModelAnswer:
    return ModelAnswer(AssistantTurn(b"[]"), "", (), "complete", "end_turn", usage)


def test_each_kind_of_token_has_its_price() -> None:
    usage = Usage(1_000_000, 1_000_000, 1_000_000, 1_000_000)
    assert cost_usd(usage, PRICE) == pytest.approx(1.0 + 5.0 + 0.1 + 1.25)


def test_cache_prices_of_the_settings_outrank_the_factors() -> None:
    price = Price(input_usd=1.0, output_usd=5.0, cache_write_usd=3.0, cache_read_usd=2.0)
    usage = Usage(cache_read_tokens=1_000_000, cache_write_tokens=1_000_000)
    assert cost_usd(usage, price) == pytest.approx(5.0)


def test_the_whole_of_a_long_prompt_has_the_long_price() -> None:
    price = DEFAULT_PRICES["claude-haiku-5-5"]
    just_short = Usage(input_tokens=10_000, cache_read_tokens=90_000, output_tokens=1000)
    just_long = Usage(input_tokens=10_001, cache_read_tokens=90_000, output_tokens=1000)
    assert cost_usd(just_short, price) == pytest.approx((10_000 * 0.1 + 9_000 * 0.1 + 500) / 1e6)
    assert cost_usd(just_long, price) == pytest.approx((10_001 * 0.5 + 9_000 * 0.5 + 2500) / 1e6)


@pytest.mark.parametrize(
    ("model", "priced_as"),
    [
        ("claude-haiku-5-5", "claude-haiku-5-5"),
        ("claude-haiku-5-5-20261007", "claude-haiku-5-5"),
        ("claude-haiku-5", "unknown"),
        ("claude-haiku-5-55", "unknown"),
        ("qwen", "unknown"),
    ],
)
def test_a_model_is_priced_by_its_own_name_or_as_unknown(model: str, priced_as: str) -> None:
    assert price_of(model, DEFAULT_PRICES) is DEFAULT_PRICES[priced_as]


def test_an_unpriced_model_on_this_machine_is_free_and_a_priced_one_is_not() -> None:
    assert price_of("qwen", DEFAULT_PRICES, FREE) is FREE
    assert price_of("claude-opus-5-5", DEFAULT_PRICES, FREE) is DEFAULT_PRICES["claude-opus-5-5"]


class Nothing(msgspec.Struct):
    pass


def test_the_worst_case_counts_all_that_is_sent() -> None:
    small = worst_usage(request())
    asked = msgspec.structs.replace(
        request(),
        system=(Text("s" * 400),),
        tools=(ToolDefinition("t", "d" * 400, Nothing),),
        turns=(*request().turns, AssistantTurn(b"x" * 400), UserTurn((Text("語" * 100),))),
    )
    assert small.output_tokens == 1000
    assert small.prompt_tokens == 1000
    assert worst_usage(asked).prompt_tokens >= 1000 + 200 + 200 + 200 + 150


@given(
    spent=st.floats(0, 20),
    estimate=st.floats(0.0001, 20),
    cap=st.floats(0, 20),
)
def test_what_is_allowed_fits_under_both_caps(spent: float, estimate: float, cap: float) -> None:
    budget = Budget(usd_per_day=cap, usd_per_month=cap)
    verdict = may_spend(Spent(spent, spent), estimate, budget, NOON)
    assert verdict.allowed == (spent + estimate <= cap)
    assert verdict.allowed or verdict.until > NOON.timestamp()


def test_a_spent_day_waits_for_the_next_midnight_of_the_clock_on_the_wall() -> None:
    evening = datetime(2026, 12, 31, 23, 30, tzinfo=timezone(timedelta(hours=5)))
    verdict = may_spend(Spent(1.0, 1.0), 0.1, Budget(), evening)
    assert verdict.reason == "day-cap"
    assert verdict.until == datetime(2027, 1, 1, tzinfo=evening.tzinfo).timestamp()


@pytest.mark.parametrize(
    ("now", "until"),
    [
        (datetime(2026, 12, 31, 23, tzinfo=UTC), datetime(2027, 1, 1, tzinfo=UTC)),
        (datetime(2028, 2, 1, tzinfo=UTC), datetime(2028, 3, 1, tzinfo=UTC)),
    ],
)
def test_a_spent_month_waits_for_the_first_of_the_next(now: datetime, until: datetime) -> None:
    verdict = may_spend(Spent(0.0, 15.0), 0.1, Budget(), now)
    assert verdict.reason == "month-cap"
    assert verdict.until == until.timestamp()


def test_what_costs_nothing_needs_no_budget() -> None:
    assert may_spend(Spent(5.0, 50.0), 0.0, Budget(), NOON).allowed


def tripped(now: float) -> Breaker:
    breaker = Breaker()
    for _ in range(5):
        assert may_call(breaker, now).allowed
        breaker = after_failure(breaker, now)
    return breaker


def test_five_failures_in_a_row_open_the_breaker_for_ten_minutes() -> None:
    breaker = tripped(1000.0)
    assert may_call(breaker, 1000.0).until == 1600.0
    assert not may_call(breaker, 1599.9).allowed
    assert may_call(breaker, 1600.0).allowed


def test_a_success_between_failures_resets_the_count() -> None:
    breaker = Breaker()
    for _ in range(20):
        for _ in range(4):
            breaker = after_failure(breaker, 0.0)
        assert may_call(breaker, 0.0).allowed
        breaker = after_success()


def test_an_open_breaker_lets_one_probe_through_in_ten_minutes() -> None:
    breaker = tripped(0.0)
    allowed = 0
    for minute in range(1, 61):
        now = minute * 60.0
        if may_call(breaker, now).allowed:
            allowed += 1
            breaker = before_call(breaker, now)
            assert not may_call(breaker, now).allowed, "a second call must wait for the probe"
            breaker = after_failure(breaker, now)
    assert allowed == 6


def test_a_pause_is_kept_but_no_longer_than_an_hour() -> None:
    assert not may_call(after_pause(Breaker(), 120.0, 0.0), 119.0).allowed
    assert may_call(after_pause(Breaker(), 120.0, 0.0), 120.0).allowed
    assert may_call(after_pause(Breaker(), 1e9, 0.0), 3600.0).allowed


def test_a_clock_set_back_does_not_keep_the_breaker_open() -> None:
    assert may_call(tripped(1e9), 1e9 - 86_400).allowed


def test_a_breaker_survives_as_data() -> None:
    breaker = tripped(1000.0)
    assert msgspec.json.decode(msgspec.json.encode(breaker), type=Breaker) == breaker


class Crash(BaseException):
    """The process died in the middle of a call."""


class Fate(msgspec.Struct, frozen=True):
    """The result of one call: an answer with this usage, or an error."""

    usage: Usage = Usage(100, 100)
    error: BaseException | None = None


class FatedProvider:
    def __init__(self, fates: list[Fate]) -> None:
        self.fates = fates
        self.calls = 0
        self.deadlines: list[float] = []

    async def complete(self, request: ModelRequest, deadline_seconds: float) -> ModelAnswer:
        fate = self.fates[min(self.calls, len(self.fates) - 1)]
        self.calls += 1
        self.deadlines.append(deadline_seconds)
        if fate.error is not None:
            raise fate.error
        return answer(fate.usage)


def metered(
    provider: FatedProvider, ledger: MemoryLedger, clock: SteppedClock, usd: float = 0.05
) -> MeteredProvider:
    budget = Budget(usd_per_day=usd, usd_per_month=usd)
    return MeteredProvider(provider, ledger, budget, PRICES, breaker=ledger.breaker, now=clock.now)


DOWN_FREE = ProviderDown("down", may_have_cost=False)
DOWN_DEAR = ProviderDown("down", may_have_cost=True)

fates = st.lists(
    st.one_of(
        st.builds(
            Fate,
            usage=st.builds(Usage, *(st.integers(0, n) for n in (5000, 5000, 100_000, 5000))),
        ),
        st.sampled_from([DOWN_FREE, DOWN_DEAR, AnswerUnreadable("no"), Crash()]).map(
            lambda error: Fate(error=error)
        ),
    ),
    min_size=1,
    max_size=60,
)


@given(fates)
def test_the_cap_is_exceeded_by_at_most_one_call_whatever_happens(luck: list[Fate]) -> None:
    async def live() -> None:
        provider, ledger, clock = FatedProvider(luck), MemoryLedger(), SteppedClock(NOON)
        guard = metered(provider, ledger, clock)
        dearest = cost_usd(worst_usage(request()), PRICE)
        for fate in luck:
            before = ledger.total_usd
            try:
                await guard.complete(request(), 10.0)
                dearest = max(dearest, cost_usd(fate.usage, PRICE))
            except Crash:
                guard = metered(provider, ledger, clock)
            except (ProviderDown, BudgetReached):
                clock.step(600.0)
            assert ledger.total_usd <= 0.05 or ledger.total_usd == before or before <= 0.05
        assert ledger.total_usd <= 0.05 + dearest

    anyio.run(live)


async def test_jobs_side_by_side_do_not_both_take_the_last_cent() -> None:
    usage = worst_usage(request())
    each = cost_usd(usage, PRICE)
    provider, ledger = FatedProvider([Fate(usage)]), MemoryLedger()
    guard = metered(provider, ledger, SteppedClock(NOON), usd=each * 3.5)
    refused = 0

    async def job() -> None:
        nonlocal refused
        try:
            await guard.complete(request(), 10.0)
        except BudgetReached:
            refused += 1

    async with anyio.create_task_group() as group:
        for _ in range(20):
            group.start_soon(job)
    assert (provider.calls, refused) == (3, 17)


async def test_a_call_is_debited_before_it_is_made() -> None:
    ledger = MemoryLedger()
    seen: list[float] = []

    class Watcher(FatedProvider):
        async def complete(self, request: ModelRequest, deadline_seconds: float) -> ModelAnswer:
            seen.append(ledger.total_usd)
            return await super().complete(request, deadline_seconds)

    guard = metered(Watcher([Fate(Usage(100, 10))]), ledger, SteppedClock(NOON))
    given = await guard.complete(request(), 10.0)
    assert seen == [pytest.approx(cost_usd(worst_usage(request()), PRICE))]
    assert ledger.total_usd == pytest.approx(0.00015)
    assert given.usd == pytest.approx(0.00015)


@pytest.mark.parametrize(
    ("error", "stays_debited"),
    [
        (DOWN_FREE, False),
        (ProviderPaused("wait", "", 10.0, retryable=True), False),
        (ProviderRefused("no", "", whole_account=False), False),
        (DOWN_DEAR, True),
        (AnswerUnreadable("no"), True),
        (Crash(), True),
        (RuntimeError("a bug"), True),
    ],
)
async def test_only_a_call_that_surely_cost_nothing_is_given_back(
    error: BaseException, stays_debited: bool
) -> None:
    ledger = MemoryLedger()
    guard = metered(FatedProvider([Fate(error=error)]), ledger, SteppedClock(NOON))
    with pytest.raises(type(error)):
        await guard.complete(request(), 10.0)
    assert (ledger.total_usd > 0) is stays_debited


async def test_a_cancelled_call_stays_debited() -> None:
    class Waiting(FatedProvider):
        async def complete(self, request: ModelRequest, deadline_seconds: float) -> ModelAnswer:
            scope.cancel()
            await anyio.sleep_forever()
            raise AssertionError

    ledger = MemoryLedger()
    with anyio.CancelScope() as scope:
        await metered(Waiting([]), ledger, SteppedClock(NOON)).complete(request(), 10.0)
    assert ledger.total_usd > 0


async def test_a_server_that_counts_no_tokens_is_charged_the_worst() -> None:
    ledger = MemoryLedger()
    await metered(FatedProvider([Fate(Usage())]), ledger, SteppedClock(NOON)).complete(
        request(), 10.0
    )
    assert ledger.total_usd == pytest.approx(cost_usd(worst_usage(request()), PRICE))


async def test_a_refusal_says_why_and_until_when() -> None:
    ledger, clock = MemoryLedger(), SteppedClock(NOON)
    guard = metered(FatedProvider([Fate()]), ledger, clock, usd=0.0)
    with pytest.raises(BudgetReached, match="month") as caught:
        await guard.complete(request(), 10.0)
    assert caught.value.reason == "month-cap"
    assert caught.value.until == datetime(2026, 12, 1, tzinfo=UTC).timestamp()
    assert "usd_per_month" in caught.value.hint


async def test_a_new_day_brings_a_new_budget() -> None:
    usage = worst_usage(request())
    provider, ledger, clock = FatedProvider([Fate(usage)]), MemoryLedger(), SteppedClock(NOON)
    budget = Budget(usd_per_day=cost_usd(usage, PRICE), usd_per_month=15.0)
    guard = MeteredProvider(provider, ledger, budget, PRICES, now=clock.now)
    await guard.complete(request(), 10.0)
    with pytest.raises(BudgetReached, match="daily") as caught:
        await guard.complete(request(), 10.0)
    clock.step(caught.value.until - clock.now().timestamp())
    await guard.complete(request(), 10.0)
    assert provider.calls == 2


async def test_a_provider_that_always_fails_is_asked_five_times_and_then_probed() -> None:
    provider, ledger, clock = (
        FatedProvider([Fate(error=DOWN_FREE)]),
        MemoryLedger(),
        SteppedClock(NOON),
    )
    for _ in range(3600):
        # A restart at every second changes nothing: the breaker is on disk.
        guard = metered(provider, ledger, clock)
        with pytest.raises((ProviderDown, BudgetReached)):
            await guard.complete(request(), 10.0)
        clock.step(1.0)
    assert provider.calls == 5 + 5


async def test_a_bad_request_does_not_open_the_breaker_and_a_bad_key_does() -> None:
    for whole_account, calls in ((False, 20), (True, 5)):
        error = ProviderRefused("no", "", whole_account=whole_account)
        provider = FatedProvider([Fate(error=error)])
        guard = metered(provider, MemoryLedger(), SteppedClock(NOON))
        for _ in range(20):
            with pytest.raises((ProviderRefused, BudgetReached)):
                await guard.complete(request(), 10.0)
        assert provider.calls == calls


async def test_a_success_after_the_wait_closes_the_breaker() -> None:
    luck = [Fate(error=DOWN_FREE)] * 5 + [Fate()] * 3
    provider, ledger, clock = FatedProvider(luck), MemoryLedger(), SteppedClock(NOON)
    guard = metered(provider, ledger, clock)
    for _ in range(5):
        with pytest.raises(ProviderDown):
            await guard.complete(request(), 10.0)
    with pytest.raises(BudgetReached) as caught:
        await guard.complete(request(), 10.0)
    assert caught.value.reason == "breaker-open"
    clock.step(600.0)
    for _ in range(3):
        await guard.complete(request(), 10.0)
    assert ledger.breaker == Breaker()


async def test_jobs_side_by_side_share_one_probe() -> None:
    ledger, clock = MemoryLedger(), SteppedClock(NOON)
    ledger.breaker = tripped(clock.now().timestamp())
    clock.step(600.0)
    refused = 0

    async def job() -> None:
        nonlocal refused
        try:
            await guard.complete(request(), 10.0)
        except BudgetReached:
            refused += 1

    class Slow(FatedProvider):
        async def complete(self, request: ModelRequest, deadline_seconds: float) -> ModelAnswer:
            self.calls += 1
            await anyio.wait_all_tasks_blocked()
            return answer(Usage(100, 10))

    guard = metered(slow := Slow([]), ledger, clock)
    async with anyio.create_task_group() as group:
        for _ in range(5):
            group.start_soon(job)
    assert (slow.calls, refused) == (1, 4)
    assert ledger.breaker == Breaker()


def patient(provider: FatedProvider, clock: SteppedClock) -> PatientProvider:
    return PatientProvider(
        provider, sleep=clock.sleep, monotonic=clock.monotonic, jitter=lambda: 1.0
    )


async def test_a_call_is_tried_three_times_with_growing_waits() -> None:
    provider, clock = FatedProvider([Fate(error=DOWN_FREE)]), SteppedClock(NOON)
    with pytest.raises(ProviderDown):
        await patient(provider, clock).complete(request())
    assert provider.calls == 3
    assert clock.slept == [1.0, 1.5]


async def test_retries_never_outlast_the_deadline() -> None:
    paused = ProviderPaused("wait", "", 120.0, retryable=True)
    provider, clock = FatedProvider([Fate(error=paused)]), SteppedClock(NOON)
    with pytest.raises(ProviderPaused):
        await patient(provider, clock).complete(request(), 180.0)
    assert provider.calls == 2
    assert clock.slept == [120.5]
    assert provider.deadlines == [120.0, 59.5]


async def test_what_will_not_change_is_not_retried() -> None:
    for error in (
        AnswerUnreadable("no"),
        ProviderRefused("no", "", whole_account=False),
        ProviderPaused("spent", "", 3600.0, retryable=False),
        BudgetReached("no", "", reason="day-cap", until=0.0),
    ):
        provider, clock = FatedProvider([Fate(error=error)]), SteppedClock(NOON)
        with pytest.raises(type(error)):
            await patient(provider, clock).complete(request())
        assert (provider.calls, clock.slept) == (1, [])


async def test_a_retry_finds_a_server_that_comes_back() -> None:
    provider, clock = FatedProvider([Fate(error=DOWN_DEAR), Fate()]), SteppedClock(NOON)
    assert (await patient(provider, clock).complete(request())).outcome == "complete"


@given(attempt=st.integers(1, 5), jitter=st.floats(0, 1), asked=st.none() | st.floats(0, 1e6))
def test_a_wait_is_never_shorter_than_the_server_asked_nor_than_our_own(
    attempt: int, jitter: float, asked: float | None
) -> None:
    error = ProviderDown("down", may_have_cost=False, retry_after_seconds=asked)
    wait_seconds = wait_after(error, attempt, jitter)
    assert (wait_seconds is None) == (attempt >= 3)
    assert wait_seconds is None or wait_seconds >= max(asked or 0.0, 0.5)


def test_a_ledger_of_days_adds_up_to_a_month() -> None:
    async def live() -> None:
        ledger = MemoryLedger()
        for day in (date(2026, 10, 31), date(2026, 11, 1), date(2026, 11, 2)):
            await ledger.reserve("j", "p", "m", 1.0, day)
        assert await ledger.spent(date(2026, 11, 2)) == Spent(1.0, 2.0)

    anyio.run(live)
