"""ISO times are read and written in one way."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoryd.base.errors import InvalidInput
from memoryd.base.timestamps import iso_time, local_time, moment, seconds_of

NOON = 1_774_872_000  # 2026-03-30T12:00:00Z


@given(st.integers(min_value=0, max_value=32_503_680_000))
def test_a_written_time_is_read_back(seconds: int) -> None:
    assert seconds_of(iso_time(seconds)) == seconds
    assert moment(iso_time(seconds)) == seconds


def test_times_are_utc_unless_they_say_otherwise() -> None:
    assert iso_time(NOON) == "2026-03-30T12:00:00Z"
    assert seconds_of("2026-03-30T12:00:00") == NOON
    assert seconds_of("2026-03-30T14:00:00+02:00") == NOON
    assert seconds_of("2026-03-30") == NOON - 12 * 3600


def test_a_day_as_a_moment_is_its_end() -> None:
    assert moment("2026-03-30") == NOON + 12 * 3600 - 1


@pytest.mark.parametrize("text", ["", "soon", "2026-13-01", "99999-01-01", "2026-03-30T25:00"])
def test_what_is_not_a_date_is_refused(text: str) -> None:
    assert seconds_of(text) is None
    assert local_time(text) is None
    with pytest.raises(InvalidInput, match="is not a valid date"):
        moment(text)


@given(st.text() | st.dates().map(str) | st.datetimes().map(str))
def test_no_text_raises_anything_else(text: str) -> None:
    local_time(text)
    if seconds_of(text) is None:
        with pytest.raises(InvalidInput):
            moment(text)


def test_a_local_time_keeps_its_moment() -> None:
    read = local_time("2026-03-30T12:00:00Z")
    assert read is not None
    assert read.timestamp() == NOON
