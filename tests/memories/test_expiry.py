"""When a memory ends, and when it is due for review."""

from datetime import UTC, date, datetime

import pytest

from memoryd.memories.rules import expiry
from memoryd.memories.rules.topics import Topic
from memoryd.text.dates import with_absolute_dates

pytestmark = pytest.mark.rules

SAID = datetime(2026, 11, 17, 12, tzinfo=UTC)  # a Tuesday


def end_of(sentence: str) -> str:
    return expiry.end_of(with_absolute_dates(sentence, SAID), SAID.date())


@pytest.mark.parametrize(
    ("sentence", "end"),
    [
        ("No merges to main until the release on the 3rd.", "2026-12-03"),
        ("This week we deploy from the hotfix branch.", "2026-11-22"),
        ("The deadline for the audit is Friday.", "2026-11-20"),
        ("The report is due on December 4.", "2026-12-04"),
        ("Until the end of the month, use the old endpoint.", "2026-11-30"),
        ("The freeze ends on December 1st.", "2026-12-01"),
        ("The migration must be done by Friday.", "2026-11-20"),
        ("For the next two weeks, Ana is on call.", "2026-12-01"),
        ("Wir deployen nicht bis 2026-12-24.", "2026-12-24"),
        ("The deadline moved from 2026-11-20 to 2026-12-10.", "2026-12-10"),
    ],
)
def test_a_statement_that_says_when_it_ends_has_an_end(sentence: str, end: str) -> None:
    assert end_of(sentence) == end


@pytest.mark.parametrize(
    "sentence",
    [
        "We deploy on Tuesdays.",
        "Since 2026-01-01 we use the new API.",
        "The project started on 2026-12-01.",
        "Never deploy until the tests pass.",
        "The audit was due on 2025-03-01.",
        "The last report was due on 2026-11-30 and nobody wrote it.",
        "Standups are at 9:30.",
    ],
)
def test_a_statement_without_an_end_lasts(sentence: str) -> None:
    assert end_of(sentence) == ""


def test_a_long_text_has_no_end_as_a_whole() -> None:
    assert expiry.end_of("Until 2026-12-01 we wait. " + "More on this. " * 40, SAID.date()) == ""


def test_what_ends_today_is_true_today() -> None:
    topic = Topic(valid_until="2026-11-17")
    assert not expiry.has_ended(topic, "2026-11-17")
    assert expiry.has_ended(topic, "2026-11-18")
    assert not expiry.has_ended(Topic(), "2026-11-18")


def test_facts_age_and_people_do_not() -> None:
    at = SAID.timestamp()
    assert expiry.review_day(Topic(type="project"), at) == "2027-02-15"
    assert expiry.review_day(Topic(type="reference"), at) == "2027-05-16"
    assert expiry.review_day(Topic(type="feedback"), at) == ""
    assert expiry.review_day(Topic(type="user"), at) == ""


def test_a_use_or_a_word_of_a_person_puts_the_review_off() -> None:
    at, later = SAID.timestamp(), SAID.timestamp() + 86_400 * 30
    assert expiry.review_day(Topic(type="project"), at, later) == "2027-03-17"
    assert expiry.review_day(Topic(type="project", review_by="2027-06-01"), at) == "2027-06-01"
    assert expiry.review_day(Topic(type="feedback", review_by="2026-12-01"), at) == "2026-12-01"
    assert expiry.review_day(Topic(type="feedback", review_by="soon"), at) == ""
    assert expiry.next_review("project", date(2026, 11, 17)) == "2027-02-15"
