"""Times as people read them, in their own time zone."""

import time
from datetime import datetime


def parsed_time(value: object) -> datetime | None:
    """A time from the daemon, ISO text or seconds since the epoch; None when it is neither."""
    try:
        if isinstance(value, str):
            return datetime.fromisoformat(value).astimezone()
        if isinstance(value, int | float) and not isinstance(value, bool):
            return datetime.fromtimestamp(value).astimezone()
    except (ValueError, OverflowError, OSError):
        return None
    return None


def date_and_time(value: object) -> str:
    """`2026-03-30 12:00`; empty when the daemon gave no time."""
    when = parsed_time(value)
    return f"{when:%Y-%m-%d %H:%M}" if when else ""


def short_time(when: datetime) -> str:
    """`12:00` today, with the date on any other day."""
    is_today = when.date() == datetime.now().astimezone().date()
    return f"{when:%H:%M}" if is_today else f"{when:%Y-%m-%d %H:%M}"


def duration(seconds: float) -> str:
    """A length of time in the unit that suits it."""
    if seconds < 1:
        return "less than a second"
    for unit, size in (("days", 86400), ("hours", 3600), ("minutes", 60)):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} second{'' if round(seconds) == 1 else 's'}"


def ago(when: datetime) -> str:
    seconds = time.time() - when.timestamp()
    return "just now" if seconds < 2 else f"{duration(seconds)} ago"
