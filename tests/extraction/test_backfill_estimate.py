"""How far back an import goes, and what it is said to cost."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoryd.base.config import Price
from memoryd.base.errors import InvalidInput
from memoryd.base.timestamps import seconds_of
from memoryd.extraction.rules.backfill_estimate import (
    RUN_CHARS,
    RUN_TURNS,
    Estimate,
    estimate_of_session,
    since_moment,
)
from tests.support.times import NOW

PRICE = Price(input_usd=1.0, output_usd=5.0)


@pytest.mark.parametrize(
    ("text", "seconds_ago"),
    [
        ("30d", 30 * 86_400),
        ("12h", 12 * 3600),
        (" 8W ", 8 * 7 * 86_400),
        ("90m", 90 * 60),
        ("0d", 0),
        ("2027-01-15", NOW - 1_799_971_200),
        ("2027-01-15T08:00:00Z", 0),
        ("2027-01-15T10:00:00+02:00", 0),
    ],
)
def test_since_is_a_length_of_time_or_a_moment(text: str, seconds_ago: float) -> None:
    assert since_moment(text, NOW) == NOW - seconds_ago


@pytest.mark.parametrize("text", ["", "30", "d", "30 years", "-3d", "yesterday", "2026-13-01"])
def test_anything_else_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        since_moment(text, NOW)
    assert "30d" in refused.value.hint


@given(st.text(max_size=30))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        assert since_moment(text, NOW) is not None
    except InvalidInput:
        assert seconds_of(text.strip()) is None


def test_nothing_costs_nothing() -> None:
    assert estimate_of_session([], PRICE) == Estimate()


def test_the_turns_of_a_session_are_sent_together() -> None:
    one = estimate_of_session([7000], PRICE)
    assert (one.sessions, one.turns) == (1, 1)
    assert one.tokens == 2 * (4000 + 2000)
    assert one.usd == pytest.approx((one.tokens * 1.0 + 2 * 400 * 5.0) / 1e6)
    two = estimate_of_session([7000, 7000], PRICE)
    assert two.tokens < 2 * one.tokens


@given(st.lists(st.integers(0, 400_000), max_size=30))
def test_more_turns_never_cost_less(turn_chars: list[int]) -> None:
    before = estimate_of_session(turn_chars, PRICE)
    after = estimate_of_session([*turn_chars, 500], PRICE)
    assert (after.usd, after.tokens, after.turns) > (before.usd, before.tokens, before.turns)
    assert before.tokens >= sum(turn_chars) // 4


def test_many_short_turns_take_several_runs() -> None:
    full, more = ([1] * RUN_TURNS, [1] * (RUN_TURNS + 1))
    tokens = [estimate_of_session(turns, PRICE).tokens for turns in (full, more)]
    assert tokens[1] >= 2 * tokens[0] - 100


def test_a_very_long_session_takes_several_runs() -> None:
    assert estimate_of_session([RUN_CHARS, RUN_CHARS], PRICE) == (
        estimate_of_session([RUN_CHARS], PRICE)
        + estimate_of_session([RUN_CHARS], PRICE)
        + Estimate(sessions=-1)
    )
