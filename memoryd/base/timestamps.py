"""ISO times as text, read and written here alone."""

from datetime import UTC, datetime
from functools import lru_cache
from typing import Final

from memoryd.base.errors import InvalidInput

SECONDS_A_DAY: Final = 86_400
_TWO: Final = tuple(f"{number:02}" for number in range(60))


def iso_time(seconds: float) -> str:
    """Seconds since the epoch as `2026-03-30T12:00:00Z`."""
    # A list has one for each memory, and many are of the same day.
    day, left = divmod(int(seconds // 1), SECONDS_A_DAY)
    of_hour = left % 3600
    return f"{_iso_day(day)}T{_TWO[left // 3600]}:{_TWO[of_hour // 60]}:{_TWO[of_hour % 60]}Z"


@lru_cache(1024)
def _iso_day(day: int) -> str:
    return datetime.fromtimestamp(day * SECONDS_A_DAY, UTC).date().isoformat()


def seconds_of(text: str) -> float | None:
    """A date or time in seconds since the epoch, UTC unless it says otherwise; None for neither."""
    try:
        read = datetime.fromisoformat(text)
    except ValueError:
        return None
    return (read if read.tzinfo else read.replace(tzinfo=UTC)).timestamp()


def moment(text: str) -> float:
    """As `seconds_of`, but a day means its end. Raises InvalidInput for what is not a date."""
    seconds = seconds_of(f"{text}T23:59:59" if len(text) == 10 else text)
    if seconds is None:
        raise InvalidInput(
            f"{text!r} is not a valid date",
            hint="write it like 2026-03-30 or 2026-03-30T12:00:00Z",
        )
    return seconds


def next_try_words(until: float, now: float) -> str:
    """When something is tried again, by this machine's clock."""
    if until <= now:
        return "the next job tries again"
    at, today = (datetime.fromtimestamp(one, UTC).astimezone() for one in (until, now))
    day = "" if at.date() == today.date() else f"{at:%Y-%m-%d} "
    return f"next try at {day}{at:%H:%M}"


def local_time(text: str) -> datetime | None:
    """A date or time on this machine's clock, local unless it says otherwise; None for neither."""
    try:
        return datetime.fromisoformat(text).astimezone()
    except (ValueError, OverflowError):
        return None
