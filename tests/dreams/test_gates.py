"""Each gate is open or says why not, and none stays closed for ever."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoryd.dreams.rules.gates import (
    Clock,
    hours_gate,
    last_dream,
    logs_gate,
    rest_gate,
    scan_is_due,
    sessions_gate,
)
from tests.support.times import NOW

HOUR = 3600.0
DAY = 86_400.0


def test_without_any_dream_before_the_gate_is_open() -> None:
    assert hours_gate(Clock(NOW), 24).is_open


def test_before_the_hours_have_passed_it_says_when_it_opens() -> None:
    gate = hours_gate(Clock(NOW, stamped=NOW - 5 * HOUR), 24)
    assert not gate.is_open
    assert gate.opens_at == NOW + 19 * HOUR
    assert gate.reason == "the last dream was 5 hours ago"


@pytest.mark.parametrize("stamped", [NOW + 1, NOW + 400 * DAY])
def test_a_time_stamp_from_the_future_is_ignored(stamped: float) -> None:
    assert hours_gate(Clock(NOW, stamped=stamped), 24).is_open
    assert not hours_gate(Clock(NOW, stamped=stamped, recorded=NOW - HOUR), 24).is_open


def test_a_clock_that_jumps_ahead_does_not_allow_a_second_dream() -> None:
    leapt = Clock(NOW + 400 * DAY, stamped=NOW, recorded=NOW, real_seconds_since=2 * HOUR)
    gate = hours_gate(leapt, 24)
    assert not gate.is_open
    assert gate.opens_at == NOW + 400 * DAY + 22 * HOUR


def test_a_clock_that_goes_back_does_not_stop_dreams() -> None:
    back = Clock(NOW - 10 * DAY, stamped=NOW, recorded=NOW, real_seconds_since=25 * HOUR)
    assert hours_gate(back, 24).is_open


def test_a_stamp_of_zero_is_long_ago() -> None:
    assert hours_gate(Clock(NOW, stamped=0), 24).is_open


def test_sessions_are_counted() -> None:
    assert sessions_gate(5, 5, has_dreamt=True).is_open
    gate = sessions_gate(4, 5, has_dreamt=True)
    assert (gate.is_open, gate.reason) == (False, "4 of 5 sessions since the last dream")


def test_before_the_first_dream_the_gate_does_not_speak_of_a_last_one() -> None:
    gate = sessions_gate(0, 5, has_dreamt=False)
    assert gate.reason == "0 of 5 sessions before the first dream"
    assert gate.message == "no dream yet; the first one starts after 5 sessions (0 so far)"
    assert logs_gate(0, has_dreamt=False).reason == "no daily log yet"


def test_in_log_mode_logs_are_counted() -> None:
    assert logs_gate(1, has_dreamt=True).is_open
    assert logs_gate(0, has_dreamt=True).reason == "no daily log since the last dream"


def test_the_rest_after_failures_grows_to_a_day() -> None:
    hours = [1, 2, 4, 8, 16, 24, 24]
    for failures, rest in enumerate(hours, start=1):
        gate = rest_gate(NOW, 24, failures, NOW, was_deliberate=False)
        assert gate.opens_at == NOW + rest * HOUR
    assert rest_gate(NOW, 24, 1, NOW - HOUR, was_deliberate=False).is_open
    assert rest_gate(NOW, 24, 0, None, was_deliberate=False).is_open


def test_the_rest_after_a_stop_or_a_refusal_is_min_hours() -> None:
    assert rest_gate(NOW, 24, 1, NOW, was_deliberate=True).opens_at == NOW + DAY


def test_a_failure_in_the_future_stops_nothing() -> None:
    assert rest_gate(NOW, 24, 9, NOW + 400 * DAY, was_deliberate=False).is_open


def test_sessions_are_counted_at_most_every_ten_minutes() -> None:
    assert scan_is_due(None, NOW)
    assert not scan_is_due(NOW - 599, NOW)
    assert scan_is_due(NOW - 600, NOW)
    assert scan_is_due(NOW + 5, NOW)


TIMES = st.none() | st.floats(0, 2 * NOW)


@given(st.floats(0, 2 * NOW), TIMES, TIMES, st.none() | st.floats(0, 10 * DAY))
def test_a_closed_gate_always_opens_within_its_hours(
    now: float, stamped: float | None, recorded: float | None, real: float | None
) -> None:
    gate = hours_gate(Clock(now, stamped, recorded, real), 24)
    if not gate.is_open:
        assert gate.opens_at is not None
        assert now <= gate.opens_at <= now + DAY + 1
    believed = last_dream(Clock(now, stamped, recorded, real))
    assert believed is None or believed <= now


def test_thirty_days_of_hourly_checks_bring_thirty_dreams() -> None:
    dreams, last = 0, None
    for hour in range(30 * 24):
        now = NOW + hour * HOUR
        since = None if last is None else now - last
        if hours_gate(
            Clock(now, stamped=last, recorded=last, real_seconds_since=since), 24
        ).is_open:
            dreams, last = dreams + 1, now
    assert dreams == 30
