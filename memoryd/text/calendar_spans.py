"""Days counted in weeks, months, quarters and years."""

from calendar import monthrange
from datetime import date, timedelta


def plus_months(day: date, months: int) -> date:
    """The same day so many months later, or the last one of that month."""
    year, month = divmod(day.year * 12 + day.month - 1 + months, 12)
    return date(year, month + 1, min(day.day, monthrange(year, month + 1)[1]))


def monday_of(day: date) -> date:
    """The Monday of its week."""
    return day - timedelta(days=day.weekday())


def coming_weekday(weekday: int, today: date) -> date:
    """The next such weekday after today."""
    return today + timedelta(days=(weekday - today.weekday() - 1) % 7 + 1)


def span_start(span: str, day: date) -> date:
    """The first day of the week, month, quarter or year of a day."""
    if span == "week":
        return monday_of(day)
    if span == "month":
        return day.replace(day=1)
    if span == "quarter":
        return date(day.year, (day.month - 1) // 3 * 3 + 1, 1)
    return date(day.year, 1, 1)


def span_shifted(span: str, today: date, by: int) -> date:
    """The first day of this span (0), the next (1) or the last (-1)."""
    start = span_start(span, today)
    if span == "week":
        return start + timedelta(weeks=by)
    return plus_months(start, by * {"month": 1, "quarter": 3, "year": 12}[span])


def span_end(span: str, start: date) -> date:
    """The last day of the span that begins then."""
    if span == "week":
        return start + timedelta(days=4)  # a working week ends on Friday
    return span_shifted(span, start, 1) - timedelta(days=1)
