"""The quick way to read and write JSON agrees with the usual one."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoryd_client.connection import quick_json

NUMBERS = st.floats(allow_nan=False, allow_infinity=False)
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


def test_this_interpreter_has_the_quick_way() -> None:
    assert quick_json.loads is not quick_json.slow_loads
    assert quick_json.dumps is not quick_json.slow_dumps


@given(VALUES)
def test_both_ways_write_the_same_and_read_it_again(value: object) -> None:
    written = quick_json.dumps(value)
    assert written == quick_json.slow_dumps(value)
    assert quick_json.loads(written) == value == quick_json.slow_loads(written)


@given(
    st.binary() | st.text().map(str.encode) | VALUES.map(lambda one: json.dumps(one)[:-1].encode())
)
def test_both_ways_refuse_the_same(data: bytes) -> None:
    assert outcome(quick_json.loads, data) == outcome(quick_json.slow_loads, data)


@pytest.mark.parametrize(
    "data",
    [b"NaN", b"-Infinity", b"[1,]", b"{} {}", b"", b" ", b"\xff", b'"\n"', b"[" * 100_000, b"01"],
)
def test_garbage_is_refused(data: bytes) -> None:
    with pytest.raises((ValueError, RecursionError)):
        quick_json.loads(data)


def test_blanks_around_a_value_do_not_matter() -> None:
    assert quick_json.loads(b" \r\n{}\t\n") == {}


def outcome(read: object, data: bytes) -> object:
    try:
        return repr(read(data))  # type: ignore[operator]
    except ValueError:
        return "refused"
