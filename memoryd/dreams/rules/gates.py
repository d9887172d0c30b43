"""Whether a target may be dreamt over now, and if not, why and until when.

The gates, cheapest first; the first closed one decides, and the facts behind it are not looked up:

1. memory and dreams are on
2. at least `min_hours` since the last dream, by the lock file's time and by real time
3. a dream that was not applied is not retried at once: after a failure an hour, twice as long after
   each further one, up to a day; after one that the guard refused or a person stopped, `min_hours`
4. there is a memory to dream over
5. at least `min_sessions` other sessions since then; in log mode, where a session hardly ever ends,
   a daily log written since then
6. the lock is free

A time stamp from the future must not stop dreams for ever: it is ignored, and our own record, if
any, is used instead. A clock that jumps ahead must not allow a second dream: real time, which
cannot be set, counts too for as long as the machine runs.
"""

from typing import Literal

import msgspec

GateName = Literal["switch", "memories", "hours", "rest", "sessions", "logs", "lock"]

SECONDS_AN_HOUR = 3600.0
LONGEST_REST_HOURS = 24.0
SCAN_SECONDS = 600.0


class Gate(msgspec.Struct, frozen=True):
    """One verdict; `opens_at` is when it may change by itself, if known.

    `message` is a whole sentence for the status, where "not now: `reason`" would not read well.
    """

    name: GateName
    is_open: bool
    reason: str
    opens_at: float | None = None
    message: str = ""


class Clock(msgspec.Struct, frozen=True):
    """Wall-clock times, and how many seconds really passed since our last dream."""

    now: float
    stamped: float | None = None
    recorded: float | None = None
    real_seconds_since: float | None = None


def switch_gate(*, enabled: bool, reason: str) -> Gate:
    return Gate("switch", enabled, reason)


def last_dream(clock: Clock) -> float | None:
    """When the last dream was, ignoring times in the future."""
    credible = [at for at in (clock.stamped, clock.recorded) if at is not None and at <= clock.now]
    return max(credible, default=None)


def hours_gate(clock: Clock, min_hours: float) -> Gate:
    wanted = min_hours * SECONDS_AN_HOUR
    if clock.real_seconds_since is not None and clock.real_seconds_since < wanted:
        left = wanted - clock.real_seconds_since
        return Gate("hours", False, _too_soon(clock.real_seconds_since), clock.now + left)
    last = last_dream(clock)
    if last is None or clock.now - last >= wanted:
        return Gate("hours", True, "no dream yet" if last is None else "long enough ago")
    return Gate("hours", False, _too_soon(clock.now - last), last + wanted)


def memories_gate(*, has_memories: bool) -> Gate:
    return Gate("memories", has_memories, "" if has_memories else "there are no memories yet")


def rest_gate(
    now: float, min_hours: float, failures: int, last_failure: float | None, *, was_deliberate: bool
) -> Gate:
    """`failures` in a row, the last at `last_failure`; a stop or a refusal is deliberate."""
    if not failures or last_failure is None or last_failure > now:
        return Gate("rest", True, "")
    hours = min_hours if was_deliberate else min(2.0 ** (failures - 1), LONGEST_REST_HOURS)
    opens_at = last_failure + hours * SECONDS_AN_HOUR
    if now >= opens_at:
        return Gate("rest", True, "")
    words = "the last dream was not applied" if was_deliberate else "the last dream failed"
    return Gate("rest", False, f"{words} (see memoryd dream log)", opens_at)


def logs_gate(new_logs: int, *, has_dreamt: bool) -> Gate:
    if new_logs:
        return Gate("logs", True, f"{new_logs} new daily logs")
    if has_dreamt:
        return Gate("logs", False, "no daily log since the last dream")
    message = "no dream yet; the first one starts after the first daily log"
    return Gate("logs", False, "no daily log yet", message=message)


def sessions_gate(touched: int, min_sessions: int, *, has_dreamt: bool) -> Gate:
    is_open, count = touched >= min_sessions, f"{touched} of {min_sessions} sessions"
    if has_dreamt:
        return Gate("sessions", is_open, f"{count} since the last dream")
    message = f"no dream yet; the first one starts after {min_sessions} sessions ({touched} so far)"
    return Gate("sessions", is_open, f"{count} before the first dream", message=message)


def lock_gate(*, is_held: bool) -> Gate:
    return Gate("lock", not is_held, "another dream is running" if is_held else "free")


def scan_is_due(last_scan: float | None, now: float) -> bool:
    """Counting sessions costs a directory scan, so it happens at most every ten minutes."""
    return last_scan is None or not 0 <= now - last_scan < SCAN_SECONDS


def _too_soon(seconds: float) -> str:
    hours = int(seconds / SECONDS_AN_HOUR)
    words = {0: "less than an hour", 1: "an hour"}.get(hours, f"{hours} hours")
    return f"the last dream was {words} ago"
