"""Points in time as callers write them."""

from datetime import UTC, datetime

from memoryd.base.errors import InvalidInput


def moment(text: str) -> float:
    """A date or time in ISO form as seconds; a day means its end, in UTC."""
    try:
        found = datetime.fromisoformat(f"{text}T23:59:59" if len(text) == 10 else text)
    except ValueError as error:
        raise InvalidInput(
            f"{text!r} is no date", hint="write it like 2026-03-30 or 2026-03-30T12:00:00Z"
        ) from error
    return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()


def seconds_of(moment: str) -> float | None:
    """An ISO date or time in seconds since the epoch, in UTC unless it says otherwise."""
    try:
        read = datetime.fromisoformat(moment)
    except ValueError:
        return None
    return (read if read.tzinfo else read.replace(tzinfo=UTC)).timestamp()
