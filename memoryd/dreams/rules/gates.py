"""Whether a project may dream now, and if not, why and until when.

The gates, cheapest first; the first closed one decides, and the dearer facts behind it need not
even be looked up:

1. memory and dreams are on
2. at least `min_hours` since the last dream, by the lock file's time and by real time
3. a dream that came to nothing is not tried again at once: after a failure an hour, twice as long
   after each further one, up to a day; after one that the guard refused or a person stopped, as
   long as after a dream
4. there is a memory to dream over
5. at least `min_sessions` other sessions touched since then; in log mode, where a session hardly
   ever ends, a daily log that was written since then
6. nobody else holds the lock

A time stamp from the future does not stop dreams for ever: it is not believed, and our own record
or nothing takes its place. A clock that leaps ahead does not allow a second dream: real time, which
no one can set, counts too, for as long as the machine runs.
"""

from typing import Literal

import msgspec

GateName = Literal["switch", "memories", "hours", "rest", "sessions", "logs", "lock"]

SECONDS_AN_HOUR = 3600.0
LONGEST_REST_HOURS = 24.0
SCAN_SECONDS = 600.0


class Gate(msgspec.Struct, frozen=True):
    """One verdict; `opens_at` is when it may change by itself, where that is known."""

    name: GateName
    is_open: bool
    reason: str
    opens_at: float | None = None


class Clock(msgspec.Struct, frozen=True):
    """What is known about time: the wall's, and how much really passed since our last dream."""

    now: float
    stamped: float | None = None
    recorded: float | None = None
    real_seconds_since: float | None = None


def switch_gate(*, enabled: bool, reason: str) -> Gate:
    return Gate("switch", enabled, reason)


def last_dream(clock: Clock) -> float | None:
    """When the last dream was, as far as it can be believed."""
    believed = [at for at in (clock.stamped, clock.recorded) if at is not None and at <= clock.now]
    return max(believed, default=None)


def hours_gate(clock: Clock, min_hours: float) -> Gate:
    wanted = min_hours * SECONDS_AN_HOUR
    if clock.real_seconds_since is not None and clock.real_seconds_since < wanted:
        left = wanted - clock.real_seconds_since
        return Gate("hours", False, _too_soon(clock.real_seconds_since), clock.now + left)
    last = last_dream(clock)
    if last is None or clock.now - last >= wanted:
        return Gate("hours", True, "no dream yet" if last is None else "long enough ago")
    return Gate("hours", False, _too_soon(clock.now - last), last + wanted)


def memories_gate(*, are_there: bool) -> Gate:
    return Gate("memories", are_there, "" if are_there else "there are no memories yet")


def rest_gate(
    now: float, min_hours: float, failures: int, last_failure: float | None, *, was_meant: bool
) -> Gate:
    """`failures` in a row, the last of them at `last_failure` and, if so, wanted by somebody."""
    if not failures or last_failure is None or last_failure > now:
        return Gate("rest", True, "")
    hours = min_hours if was_meant else min(2.0 ** (failures - 1), LONGEST_REST_HOURS)
    opens_at = last_failure + hours * SECONDS_AN_HOUR
    if now >= opens_at:
        return Gate("rest", True, "")
    words = "the last dream was not applied" if was_meant else "the last dream failed"
    return Gate("rest", False, f"{words}; memoryd dream log says why", opens_at)


def logs_gate(touched: int) -> Gate:
    return Gate("logs", touched > 0, f"{touched} daily logs since the last dream")


def sessions_gate(touched: int, min_sessions: int) -> Gate:
    words = f"{touched} of {min_sessions} sessions since the last dream"
    return Gate("sessions", touched >= min_sessions, words)


def lock_gate(*, is_held: bool) -> Gate:
    return Gate("lock", not is_held, "another dream is running" if is_held else "free")


def scan_is_due(last_scan: float | None, now: float) -> bool:
    """Looking through all sessions costs a directory scan: at most every ten minutes."""
    return last_scan is None or not 0 <= now - last_scan < SCAN_SECONDS


def _too_soon(seconds: float) -> str:
    hours = int(seconds / SECONDS_AN_HOUR)
    words = {0: "less than an hour", 1: "an hour"}.get(hours, f"{hours} hours")
    return f"the last dream was {words} ago"
