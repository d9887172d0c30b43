"""Relative dates become ISO dates, counted from when they were said; nothing else changes."""

from datetime import UTC, date, datetime, timedelta

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from memoryd.text import date_words
from memoryd.text.dates import dates_in, with_absolute_dates

TUESDAY = datetime(2026, 3, 3, 10, tzinfo=UTC)


def absolute(text: str, said_at: datetime = TUESDAY) -> str:
    return with_absolute_dates(text, said_at)


@pytest.mark.parametrize(
    ("said", "written"),
    [
        ("merge freeze starts thursday", "merge freeze starts 2026-03-05"),
        ("the release is tomorrow", "the release is 2026-03-04"),
        ("tomorrow's release", "2026-03-04 release"),
        ("since yesterday", "since 2026-03-02"),
        ("the day after tomorrow", "2026-03-05"),
        ("next friday we ship", "2026-03-13 we ship"),
        ("this friday", "2026-03-06"),
        ("last tuesday it broke", "2026-02-24 it broke"),
        ("friday next week", "2026-03-13"),
        ("next week on friday", "2026-03-13"),
        ("the friday after next", "2026-03-13"),
        ("friday in two weeks", "2026-03-20"),
        ("2 weeks from friday", "2026-03-20"),
        ("in two weeks", "2026-03-17"),
        ("90 days from today", "2026-06-01"),
        ("3 days ago", "2026-02-28"),
        ("in 3 months", "2026-06-03"),
        ("by end of month", "by 2026-03-31"),
        ("by eom", "by 2026-03-31"),
        ("end of next month", "2026-04-30"),
        ("end of the week", "2026-03-06"),
        ("beginning of next month", "2026-04-01"),
        ("next week", "the week of 2026-03-09"),
        ("next month", "2026-04"),
        ("next year", "2027"),
        ("by Q3", "by 2026-Q3"),
        ("end of Q2", "2026-06-30"),
        ("march 5", "2026-03-05"),
        ("the 5th of april", "2026-04-05"),
        ("feb 1", "2026-02-01"),
        ("november 20", "2026-11-20"),
        ("demo march 5-7 in berlin", "demo 2026-03-05 to 2026-03-07 in berlin"),
        ("since november 20", "since 2025-11-20"),
        ("until june", "until 2026-06"),
        ("until thursday", "until 2026-03-05"),
        ("the freeze lasts until Thursday.", "the freeze lasts until 2026-03-05."),
        ("on 1 may we ship", "on 2026-05-01 we ship"),
        ("2 March 2027", "2027-03-02"),
        ("due 1 may", "due 2026-05-01"),
        ("since january", "since 2026-01"),
        ("end of march", "2026-03-31"),
        ("on the 3rd we launch", "on 2026-03-03 we launch"),
        ("due on the 2nd", "due on 2026-04-02"),
        ("on thursday the 12th", "on 2026-03-12"),
        ("by fri", "by 2026-03-06"),
    ],
)
def test_an_english_phrase_becomes_its_day(said: str, written: str) -> None:
    assert absolute(said) == written


@pytest.mark.parametrize(
    ("said", "written"),
    [
        ("ab übermorgen Freeze", "ab 2026-03-05 Freeze"),
        ("am 5.3. ist Release", "am 2026-03-05 ist Release"),
        ("am 15. April", "am 2026-04-15"),
        ("Ende des Monats", "2026-03-31"),
        ("in zwei Wochen", "2026-03-17"),
        ("à partir d'après-demain on gèle", "à partir de 2026-03-05 on gèle"),
        ("vendredi prochain", "2026-03-06"),
        ("dans trois semaines", "2026-03-24"),
        ("el viernes que viene", "2026-03-06"),
        ("dentro de dos semanas", "2026-03-17"),
        ("el 15 de abril", "2026-04-15"),
        ("amanhã", "2026-03-04"),
        ("na próxima sexta", "na 2026-03-06"),
        ("venerdì prossimo", "2026-03-06"),
        ("tra due settimane", "2026-03-17"),
        ("volgende week vrijdag", "2026-03-13"),
        ("over twee weken", "2026-03-17"),
        ("za dwa tygodnie", "2026-03-17"),
        ("через две недели", "2026-03-17"),
        ("в пятницу", "в 2026-03-06"),
        ("来週の金曜日", "2026-03-13"),
        ("毎月第2木曜日", "毎月第2木曜日"),
        ("毎週木曜日", "毎週木曜日"),
        ("3月20日にリリース", "2026-03-20にリリース"),
        ("下周五封版", "2026-03-13封版"),
        ("两周后", "2026-03-17"),
    ],
)
def test_common_phrases_in_other_languages_become_their_day(said: str, written: str) -> None:
    assert absolute(said) == written


@pytest.mark.parametrize(
    "said",
    [
        "python 3.12 at 5pm, v3.1 on port 8080",
        "it takes 10 minutes, in 10 min we go",
        "we run it for two weeks",
        "in a day or two",
        "on the 3rd floor",
        "the second run on the 2nd node",
        "never deploy on friday",
        "no deploys on fridays",
        "every monday at six",
        "monday to friday, 9 to 5",
        "le vendredi on ne déploie pas",
        "black friday is a good friday",
        "the monday.com board",
        "he sat in the sun",
        "you may march on",
        "guten morgen",
        "por la mañana",
        "fin de semana",
        "hier ist das Problem",
        "over the last week",
        "3/5 or 5/3",
        "feb 30",
        "Q4_K_M is the file",
        "2026-03-05 (thursday)",
        "thursday 2026-03-12",
    ],
)
def test_what_is_not_a_day_is_not_changed(said: str) -> None:
    assert absolute(said) == said


@pytest.mark.parametrize(
    ("said_at", "said", "written"),
    [
        (datetime(2026, 12, 29, tzinfo=UTC), "a week from today", "2027-01-05"),
        (datetime(2028, 2, 27, tzinfo=UTC), "day after tomorrow", "2028-02-29"),
        (datetime(2026, 2, 25, tzinfo=UTC), "end of this month", "2026-02-28"),
        (datetime(2026, 7, 31, tzinfo=UTC), "starting monday", "starting 2026-08-03"),
        (datetime(2026, 3, 6, tzinfo=UTC), "friday", "2026-03-13"),
        (datetime(2026, 11, 3, tzinfo=UTC), "march 5", "2027-03-05"),
        (datetime(2026, 1, 31, tzinfo=UTC), "in a month", "2026-02-28"),
        (datetime(2026, 11, 3, tzinfo=UTC), "by Q1", "by 2027-Q1"),
    ],
)
def test_months_and_years_roll_over(said_at: datetime, said: str, written: str) -> None:
    assert absolute(said, said_at) == written


def test_the_calendar_day_is_that_of_the_given_time() -> None:
    late = datetime.fromisoformat("2026-03-03T23:30:00-08:00")
    assert absolute("tomorrow", late) == "2026-03-04"


def test_a_mention_has_its_position_and_its_first_day() -> None:
    (mention,) = dates_in("we ship next month, really", TUESDAY)
    assert (mention.start, mention.end, mention.iso) == (8, 18, "2026-04")
    assert mention.first_day == date(2026, 4, 1)


WORDS = st.sampled_from(
    sorted(
        {*date_words.WEEKDAYS, *date_words.SHORT_WEEKDAYS, *date_words.MONTHS, *date_words.UNITS}
        | {*date_words.DAY_WORDS, *date_words.NUMBERS, *date_words.SPANS, *date_words.SHORT_MONTHS}
        | {*date_words.IDEOGRAPH_DAYS, *"月火水木金土日一二三四五末底周下后前年"}
        | {
            "in",
            "on",
            "by",
            "the",
            "next",
            "last",
            "this",
            "since",
            "end of",
            "start of",
            "of",
            "and",
        }
        | {
            "from",
            "ago",
            "que viene",
            "vor",
            "der",
            "week of",
            "Q3",
            "eom",
            "5th",
            "3",
            "31",
            "2026",
        }
        | {"12.5.", "bis zum", "d'", "(", ")", "-", "to", "tonight", "2026-03-05", "night", "20"}
    )
)
PHRASES = st.lists(WORDS, max_size=9).map(" ".join) | st.lists(WORDS, max_size=5).map("".join)
TIMES = st.datetimes(min_value=datetime(1970, 1, 1), max_value=datetime(9998, 12, 31))  # noqa: DTZ001 - only the calendar day counts


@given(PHRASES, TIMES)
@example("heute morgen", datetime(2026, 3, 3))  # noqa: DTZ001 - only the calendar day counts
def test_a_second_pass_changes_nothing(text: str, said_at: datetime) -> None:
    once = with_absolute_dates(text, said_at)
    assert with_absolute_dates(once, said_at) == once


@given(st.text(), st.datetimes())
def test_no_text_and_no_time_raises(text: str, said_at: datetime) -> None:
    with_absolute_dates(text, said_at)


@given(st.text(alphabet="bcdfghjklpqrsvwxz .,!?-/()\n"), TIMES)
def test_a_text_without_a_date_comes_back_unchanged(text: str, said_at: datetime) -> None:
    assert with_absolute_dates(text, said_at) == text


@given(st.integers(1, 999), TIMES)
def test_days_are_counted_exactly(days: int, said_at: datetime) -> None:
    try:
        expected = (said_at.date() + timedelta(days=days)).isoformat()
    except OverflowError:
        expected = f"in {days} days"
    assert with_absolute_dates(f"in {days} days", said_at) == expected


@pytest.mark.parametrize(
    ("said", "absolute"),
    [
        ("we left the old host in may", "we left the old host in 2026-05"),
        ("the talk is on october 9", "the talk is on 2027-10-09"),
        ("it launched on october 9", "it launched on 2026-10-09"),
        ("we deployed on friday", "we deployed on 2026-11-13"),
        ("the review was moved to friday", "the review was moved to 2026-11-20"),
        ("it must be closed by may", "it must be closed by 2027-05"),
        (
            "they picked a name, it goes public in july",
            "they picked a name, it goes public in 2027-07",
        ),
        ("mei rebuilds it on the first monday of the month", None),
    ],
)
def test_the_verb_says_whether_a_day_has_passed(said: str, absolute: str | None) -> None:
    written = with_absolute_dates(said, datetime(2026, 11, 17, 10, tzinfo=UTC))
    assert written == (absolute or said)


@pytest.mark.parametrize(
    "said",
    [
        "Session 1 may be slow",
        "step 2 may fail",
        "Session 1 may",
        "release 3 may slip",
        "you may 2 or 3 times",
        "issue 4 march forward",
        "1 may be enough",
    ],
)
def test_a_verb_beside_a_number_is_not_a_date(said: str) -> None:
    assert absolute(said) == said
