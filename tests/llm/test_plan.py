"""How much of a person's plan may be used."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoryd.llm.rules.plan import (
    PlanLimits,
    PlanPause,
    PlanReason,
    PlanUse,
    RateLimit,
    may_ask,
    pause_after,
)

NOW = datetime(2026, 11, 17, 15, 0, tzinfo=UTC)
AT = NOW.timestamp()
MIDNIGHT = datetime(2026, 11, 18, tzinfo=UTC).timestamp()
LIMITS = PlanLimits(calls_per_day=24, tokens_per_day=300_000, seconds_apart=900.0)


def reason(job: str = "extraction", *, follows: bool = False, **use: object) -> PlanReason:
    return may_ask(job, PlanUse(**use), LIMITS, NOW, follows=follows).reason  # type: ignore[arg-type]  # by name


@pytest.mark.parametrize(
    ("job", "calls", "verdict"),
    [
        ("extraction", 23, "ok"),
        ("extraction", 24, "plan-calls"),
        ("notes", 17, "ok"),
        ("notes", 18, "plan-share"),
        ("dream", 11, "ok"),
        ("dream", 12, "plan-share"),
        ("recall", 0, "plan-share"),
        ("check", 23, "ok"),
        ("check", 24, "plan-calls"),
    ],
)
def test_extraction_comes_first_then_notes_then_dreams_and_recall_never(
    job: str, calls: int, verdict: str
) -> None:
    assert reason(job, calls=calls) == verdict


@pytest.mark.parametrize(
    ("job", "tokens", "verdict"),
    [
        ("extraction", 299_999, "ok"),
        ("extraction", 300_000, "plan-tokens"),
        ("notes", 225_000, "plan-share"),
        ("dream", 150_000, "plan-share"),
    ],
)
def test_tokens_are_shared_out_like_calls(job: str, tokens: int, verdict: str) -> None:
    assert reason(job, tokens=tokens) == verdict


def test_a_reached_limit_ends_at_midnight() -> None:
    verdict = may_ask("extraction", PlanUse(calls=24), LIMITS, NOW, follows=False)
    assert verdict.until == MIDNIGHT


def test_two_runs_of_a_job_begin_apart_but_the_requests_of_one_do_not_wait() -> None:
    began = AT - 899
    verdict = may_ask("extraction", PlanUse(last_began=began), LIMITS, NOW, follows=False)
    assert (verdict.reason, verdict.until) == ("plan-apart", began + 900)
    assert reason(last_began=began - 1) == "ok"
    assert reason(last_began=began, follows=True) == "ok"
    assert reason("check", last_began=AT) == "ok"


def test_a_clock_that_was_set_back_ends_every_wait() -> None:
    assert reason(last_began=AT + 5) == "ok"
    assert reason(pause=PlanPause("used", AT + 5, AT + 10)) == "ok"


def test_a_run_under_way_needs_the_day_and_not_its_share() -> None:
    assert reason("dream", calls=20, follows=True) == "ok"
    assert reason("dream", calls=24, follows=True) == "plan-calls"


def test_a_pause_of_the_plan_holds_for_every_job_until_it_is_over() -> None:
    pause = PlanPause("much is used", AT - 10, AT + 10)
    assert {reason(job, pause=pause) for job in ("extraction", "notes", "dream", "check")} == {
        "plan-used"
    }
    later = NOW + timedelta(seconds=10)
    assert may_ask("extraction", PlanUse(pause=pause), LIMITS, later, follows=False).allowed


@given(
    st.builds(
        RateLimit,
        status=st.sampled_from(["allowed", "allowed_warning", "rejected", "?"]),
        resets_at=st.none() | st.floats(allow_nan=False),
        rate_limit_type=st.sampled_from(["", "five_hour", "seven_day", "seven_day_opus", "?"]),
        utilization=st.none() | st.floats(allow_nan=False, allow_infinity=False),
        is_using_overage=st.booleans(),
    )
)
def test_a_pause_is_never_in_the_past_and_never_for_ever(rate: RateLimit) -> None:
    pause = pause_after(rate, AT)
    if pause is not None:
        assert AT < pause.until <= AT + 8 * 86_400


def test_of_two_windows_the_fuller_one_counts() -> None:
    full = RateLimit(rate_limit_type="seven_day", utilization=0.9, resets_at=AT + 50)
    empty = RateLimit(rate_limit_type="five_hour", utilization=0.1, resets_at=AT + 5)
    assert full.more_used(empty) is empty.more_used(full) is full
