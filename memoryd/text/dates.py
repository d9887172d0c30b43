"""Turns relative dates in a text into ISO dates, counted from when it was said.

Rules:
- The phrase is replaced, not annotated: "friday next week" is wrong a week later. A day becomes
  `2026-03-05`, a month `2026-03`, a quarter `2026-Q3`, a year `2026`, a week `the week of` a day.
- "friday" is the coming one, never today; "next friday" is in the next calendar week (in English;
  other languages mean the coming one); "last friday" and a day after "since" are in the past.
- A month and day without a year is the next one, or one at most 90 days ago; the verb before it
  decides where it can ("we moved in May", "the talk is on May 3").
- Habits ("never on fridays", "every friday", "monday to friday") are not dates. Neither are verbs
  that look like a month ("session 1 may be slow"), times, versions, durations, numeric dates that
  two countries read differently, or vague words.
- A second pass changes nothing.
"""

import re
from calendar import monthrange
from collections.abc import Callable, Iterable, Iterator
from datetime import date, datetime, timedelta

import msgspec

from memoryd.text import date_words as forms
from memoryd.text.calendar_spans import (
    coming_weekday,
    monday_of,
    plus_months,
    span_end,
    span_shifted,
    span_start,
)
from memoryd.text.date_signs import Sign, signs_in
from memoryd.text.prose import plain

_NEARBY = 200


class DateMention(msgspec.Struct, frozen=True):
    """A phrase for a day or a longer span, its replacement, and its first day."""

    start: int
    end: int
    iso: str
    first_day: date


def with_absolute_dates(text: str, said_at: datetime) -> str:
    """The text with every relative date replaced by an ISO date."""
    pieces, position = [], 0
    for mention in dates_in(text, said_at):
        pieces += [text[position : mention.start], mention.iso]
        position = mention.end
    return "".join([*pieces, text[position:]])


def dates_in(text: str, said_at: datetime) -> list[DateMention]:
    """The relative dates of a text in order; of two that overlap, the earlier and longer."""
    found: list[DateMention] = []
    candidates = _candidates(plain(text), said_at.date())
    for mention in sorted(candidates, key=lambda m: (m.start, -m.end)):
        if not found or mention.start >= found[-1].end:
            found.append(mention)
    return found


def has_dates(text: str, said_at: datetime) -> bool:
    """Whether `dates_in` finds any; stops at the first."""
    return any(True for _ in _candidates(plain(text), said_at.date()))


ResolvedDate = tuple[str, date] | None


def _candidates(text: str, today: date) -> Iterator[DateMention]:
    signs = signs_in(text)
    # A rule for ideographs cannot match where there are none.
    ideographs = () if text.isascii() else _IDEOGRAPH_RULES
    rules = [(pattern, resolve) for sign, pattern, resolve in _RULES if sign in signs]
    for pattern, resolve in (*rules, *ideographs):
        for match in pattern.finditer(text):
            try:
                answer = resolve(match, today)
            except (ValueError, OverflowError):  # 31 February, or a year out of range
                continue
            if answer is not None:
                start = match.start("core") if "core" in pattern.groupindex else match.start()
                yield DateMention(start, match.end(), *answer)


def _day(day: date) -> ResolvedDate:
    return day.isoformat(), day


def _month(year: int, month: int) -> ResolvedDate:
    return f"{year:04}-{month:02}", date(year, month, 1)


def _quarter(year: int, quarter: int) -> ResolvedDate:
    return f"{year:04}-Q{quarter}", date(year, 3 * quarter - 2, 1)


def _nearest_year(month: int, day: int, today: date, match: re.Match[str]) -> int:
    this_year = date(today.year, month, min(day, monthrange(today.year, month)[1]))
    if _is_past(match):
        return today.year - (this_year > today)
    days_back = 0 if forms.FUTURE_VERB.search(_words_before(match)) else 90
    return today.year + (this_year < today - timedelta(days=days_back))


def _shift_of(match: re.Match[str]) -> int:
    """Whether the phrase says next (1), last (-1) or this (0)."""
    groups = match.groupdict()
    if groups.get("next") or groups.get("next_behind"):
        return 1
    return -1 if groups.get("last") or groups.get("last_behind") else 0


def _is_past(match: re.Match[str]) -> bool:
    if match.groupdict().get("since"):
        return True
    clause = re.split(r"[,;:]", _words_before(match))[-1]
    return bool(forms.PAST_VERB.search(clause)) and not forms.NOT_PAST.search(clause)


def _words_before(match: re.Match[str]) -> str:
    """What its sentence says before it."""
    said = match.string[max(0, match.start() - _NEARBY) : match.start()]
    return re.split(r"[.!?\n]\s", said)[-1]


def _day_word(match: re.Match[str], today: date) -> ResolvedDate:
    day = today + timedelta(days=forms.DAY_WORDS[match["day"]])
    return ("de " if match["elided"] else "") + day.isoformat(), day


def _night(_: re.Match[str], today: date) -> ResolvedDate:
    return f"{today.isoformat()} night", today


def _weekday_number(match: re.Match[str]) -> int:
    return (forms.WEEKDAYS | forms.SHORT_WEEKDAYS)[match["weekday"]]


def _weekday_of_week(match: re.Match[str], today: date) -> ResolvedDate:
    weeks = 0 if match["this"] else 1
    return _day(monday_of(today) + timedelta(days=_weekday_number(match), weeks=weeks))


def _weekday_after_next(match: re.Match[str], today: date) -> ResolvedDate:
    return _day(coming_weekday(_weekday_number(match), today) + timedelta(weeks=1))


def _weekday_in_weeks(match: re.Match[str], today: date) -> ResolvedDate:
    weeks = _number(match["number"])
    return _day(monday_of(today) + timedelta(days=_weekday_number(match), weeks=weeks))


def _weekday_marked(match: re.Match[str], today: date) -> ResolvedDate:
    weekday, groups = _weekday_number(match), match.groupdict()
    if _shift_of(match) < 0:
        return _day(
            coming_weekday(weekday, today) - timedelta(weeks=2 if weekday == today.weekday() else 1)
        )
    if groups.get("this"):
        return _day(coming_weekday(weekday, today - timedelta(days=1)))
    if groups.get("next") == "next":
        return _day(monday_of(today) + timedelta(days=weekday, weeks=1))
    return _day(coming_weekday(weekday, today))


def _weekday_alone(match: re.Match[str], today: date) -> ResolvedDate:
    said = _sentence_around(match)
    is_habit = forms.HABIT.search(said) or forms.NTH_OF_EACH.search(said)
    if is_habit or forms.WEEKDAY_RANGE.search(said):
        return None
    coming = coming_weekday(_weekday_number(match), today)
    return _day(coming - timedelta(weeks=1) if _is_past(match) else coming)


def _sentence_around(match: re.Match[str]) -> str:
    start = match.start()
    before = re.split(r"[.!?\n]\s", match.string[max(0, start - _NEARBY) : start])[-1]
    return (
        before + re.split(r"[.!?\n](?:\s|$)", match.string[start : start + _NEARBY], maxsplit=1)[0]
    )


def _number(word: str) -> int:
    return int(word) if word.isdecimal() else forms.NUMBERS[word]


def _offset(match: re.Match[str], today: date) -> ResolvedDate:
    groups = match.groupdict()
    days, months = forms.UNITS[match["unit"]]
    number = _number(groups.get("number") or "1")
    number = -number if groups.get("ago") else number
    start = today + timedelta(days=forms.DAY_WORDS.get(groups.get("from") or "", 0))
    if groups.get("weekday"):
        start = coming_weekday(_weekday_number(match), today)
    return _day(plus_months(start, number * months) + timedelta(days=number * days))


def _span(match: re.Match[str], today: date) -> ResolvedDate:
    span = forms.SPANS[match["span"]]
    start = span_shifted(span, today, _shift_of(match))
    if span == "week":
        return f"the week of {start.isoformat()}", start
    if span == "month":
        return _month(start.year, start.month)
    if span == "quarter":
        return _quarter(start.year, (start.month + 2) // 3)
    return f"{start.year:04}", start


def _end_of_span(match: re.Match[str], today: date) -> ResolvedDate:
    span = forms.SPANS[match["span"]]
    return _day(span_end(span, span_shifted(span, today, _shift_of(match))))


def _start_of_span(match: re.Match[str], today: date) -> ResolvedDate:
    return _day(span_shifted(forms.SPANS[match["span"]], today, _shift_of(match)))


def _span_end_word(match: re.Match[str], today: date) -> ResolvedDate:
    initial = match["initial"]
    span = {"w": "week", "m": "month", "q": "quarter", "y": "year", "j": "year"}[initial]
    return _day(span_end(span, span_start(span, today)))


def _month_number(match: re.Match[str]) -> int:
    return (forms.MONTHS | forms.SHORT_MONTHS)[match["month"]]


def _is_verb(match: re.Match[str]) -> bool:
    """Whether "may" or "march" beside a number is a verb, and the number counts something else."""
    if match["month"] not in forms.VERBS or match["year"]:
        return False
    before, behind = match.string[: match.start("core")], match.string[match.end() :]
    if match.start("month") < match.start("mday"):
        return bool(forms.BEFORE_A_VERB.search(before))
    return bool(forms.BEHIND_A_VERB.match(behind)) or not forms.BEFORE_A_DAY.search(before)


def _month_day(match: re.Match[str], today: date) -> ResolvedDate:
    if _is_verb(match):
        return None
    month, day = _month_number(match), int(match["mday"])
    year = int(match["year"] or _nearest_year(month, day, today, match))
    first = date(year, month, day)
    last = match.groupdict().get("until")
    return (f"{first} to {date(year, month, int(last))}", first) if last else _day(first)


def _numbered_day_and_month(match: re.Match[str], today: date) -> ResolvedDate:
    month, day = int(match["month"]), int(match["mday"])
    year = int(match["year"] or _nearest_year(month, day, today, match))
    return _day(date(year, month, day))


def _month_alone(match: re.Match[str], today: date) -> ResolvedDate:
    if forms.YEARLY.search(_sentence_around(match)):
        return None
    month, shift = _month_number(match), _shift_of(match)
    if _is_past(match) or shift < 0:
        return _month(today.year - (month > today.month + shift), month)
    return _month(today.year + (month < today.month + shift), month)


def _end_of_month(match: re.Match[str], today: date) -> ResolvedDate:
    month = _month_number(match)
    year = int(match["year"] or today.year + (month < today.month))
    return _day(date(year, month, monthrange(year, month)[1]))


def _nth(match: re.Match[str], today: date) -> ResolvedDate:
    day = int(match["mday"])
    months = (0, -1, -2) if _is_past(match) else (0, 1, 2)
    for shift in months:
        month = plus_months(today.replace(day=1), shift)
        if day <= monthrange(month.year, month.month)[1]:
            found = month.replace(day=day)
            if (found <= today) if _is_past(match) else (found >= today):
                return _day(found)
    return None


def _quarter_alone(match: re.Match[str], today: date) -> ResolvedDate:
    quarter = int(match["quarter"])
    this = (today.month + 2) // 3
    if _is_past(match):
        return _quarter(today.year - (quarter > this), quarter)
    return _quarter(today.year + (quarter < this), quarter)


def _end_of_quarter(match: re.Match[str], today: date) -> ResolvedDate:
    quarter = int(match["quarter"])
    year = int(match["year"] or today.year + (quarter < (today.month + 2) // 3))
    return _day(span_end("quarter", date(year, 3 * quarter - 2, 1)))


def _ideograph_day(match: re.Match[str], today: date) -> ResolvedDate:
    return _day(today + timedelta(days=forms.IDEOGRAPH_DAYS[match[0]]))


def _ideograph_weekday(match: re.Match[str], today: date) -> ResolvedDate:
    weekday = forms.IDEOGRAPH_WEEKDAYS[match["weekday"]]
    if match["next"]:
        return _day(monday_of(today) + timedelta(days=weekday, weeks=1))
    return _day(coming_weekday(weekday, today))


def _ideograph_offset(match: re.Match[str], today: date) -> ResolvedDate:
    word, unit = match["number"], match["unit"][0]
    number = int(word) if word.isdecimal() else forms.IDEOGRAPH_NUMBERS[word]
    number = -number if match["way"] == "前" else number
    if unit in "日天":
        return _day(today + timedelta(days=number))
    if unit in "週周":
        return _day(today + timedelta(weeks=number))
    return _day(plus_months(today, number * (12 if unit == "年" else 1)))


def _ideograph_month_end(match: re.Match[str], today: date) -> ResolvedDate:
    return _day(span_end("month", span_shifted("month", today, 1 if match["next"] else 0)))


def _ideograph_month_day(match: re.Match[str], today: date) -> ResolvedDate:
    month, day = int(match["month"]), int(match["mday"])
    return _day(date(_nearest_year(month, day, today, match), month, day))


Resolver = Callable[[re.Match[str], date], ResolvedDate]


Rule = tuple[re.Pattern[str], Resolver]


def _each(
    sign: Sign, patterns: Iterable[re.Pattern[str]], resolve: Resolver
) -> Iterator[tuple[Sign, re.Pattern[str], Resolver]]:
    return ((sign, pattern, resolve) for pattern in patterns)


# What must be in a text for the form, the form, and what it means.
_RULES: tuple[tuple[Sign, re.Pattern[str], Resolver], ...] = (
    ("day", forms.DAY_WORD, _day_word),
    ("night", forms.TONIGHT, _night),
    *_each("weekday", forms.WEEKDAY_OF_WEEK, _weekday_of_week),
    ("weekday", forms.WEEKDAY_AFTER_NEXT, _weekday_after_next),
    ("weekday", forms.WEEKDAY_IN_WEEKS, _weekday_in_weeks),
    *_each("weekday", forms.WEEKDAY_MARKED, _weekday_marked),
    *_each("weekday", forms.WEEKDAY_ALONE, _weekday_alone),
    *_each("unit", forms.OFFSET, _offset),
    *_each("span", forms.SPAN, _span),
    ("span", forms.END_OF_SPAN, _end_of_span),
    ("span", forms.START_OF_SPAN, _start_of_span),
    *_each("end of span", forms.SPAN_END_WORD, _span_end_word),
    *_each("day of month", forms.MONTH_DAY, _month_day),
    ("numbered", forms.NUMBERED_DAY_AND_MONTH, _numbered_day_and_month),
    *_each("month", forms.MONTH_ALONE, _month_alone),
    ("month", forms.END_OF_MONTH, _end_of_month),
    ("ordinal", forms.NTH, _nth),
    ("q1", forms.QUARTER, _quarter_alone),
    ("q1", forms.END_OF_QUARTER, _end_of_quarter),
)
_IDEOGRAPH_RULES: tuple[Rule, ...] = (
    (forms.IDEOGRAPH_DAY, _ideograph_day),
    *((pattern, _ideograph_weekday) for pattern in forms.IDEOGRAPH_WEEKDAY),
    (forms.IDEOGRAPH_OFFSET, _ideograph_offset),
    (forms.IDEOGRAPH_MONTH_DAY, _ideograph_month_day),
    (forms.IDEOGRAPH_MONTH_END, _ideograph_month_end),
)
