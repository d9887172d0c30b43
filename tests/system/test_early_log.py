"""Lines from before there is a log."""

from collections.abc import Iterator

import pytest
from structlog.testing import capture_logs

from memoryd.system import early_log
from memoryd.system.early_log import MOST_HELD, EarlyLog


@pytest.fixture(autouse=True)
def nothing_held() -> Iterator[None]:
    yield
    early_log.release()


def test_lines_are_held_until_there_is_a_log_and_come_in_their_order() -> None:
    with capture_logs() as lines:
        early_log.hold()
        EarlyLog("a").info("first", number=1)
        EarlyLog("b").warning("second")
        assert lines == []
        early_log.release()
        EarlyLog("a").debug("third")
    assert [(line["event"], line["log_level"]) for line in lines] == [
        ("first", "info"),
        ("second", "warning"),
        ("third", "debug"),
    ]
    assert lines[0]["number"] == 1


def test_a_held_exception_is_still_known_when_it_is_written() -> None:
    with capture_logs() as lines:
        early_log.hold()
        try:
            int("early")
        except ValueError as error:
            EarlyLog("a").exception("failed")
            raised = error
        early_log.release()
    (line,) = lines
    assert (line["log_level"], line["exc_info"][1]) == ("error", raised)


def test_what_is_held_does_not_grow_without_end() -> None:
    with capture_logs() as lines:
        early_log.hold()
        for number in range(MOST_HELD + 10):
            EarlyLog("a").info("again", number=number)
        early_log.release()
    assert [line["number"] for line in lines] == [*range(MOST_HELD)]
