"""How much of a person's own plan memoryd may use: so much a day, so far apart, so much of it.

Rules
- A day has so many calls and so many tokens. Extraction may use all of them, notes three quarters,
  dreams half, so that extraction comes first and dreams get what is left.
- Two runs of one job begin at least so many minutes apart. The further requests of a run that has
  begun need only the day's limits.
- The client says how much of the plan is used. Above 70 % of five hours or 80 % of seven days, or
  when usage is charged beyond the plan, nothing is asked until that window is reset. Versions seen
  give a number only together with a warning; a warning without one counts as above.
- A check that a person asks for (`doctor --provider`) is not held apart, but is counted.
- A clock that was set back ends a wait: no jump blocks for ever.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Literal

import msgspec

from memoryd.llm.rules.spending import midnight

FIVE_HOURS_SHARE = 0.70
SEVEN_DAYS_SHARE = 0.80
DEFAULT_PAUSE_SECONDS = 3600.0
LONGEST_PAUSE_SECONDS = 8 * 86_400.0
# How much of the day's calls and tokens a job may find used and still begin.
SHARES: Mapping[str, float] = {"extraction": 1.0, "check": 1.0, "notes": 0.75, "dream": 0.5}

PlanReason = Literal["ok", "plan-calls", "plan-tokens", "plan-apart", "plan-share", "plan-used"]


class PlanLimits(msgspec.Struct, frozen=True):
    calls_per_day: int
    tokens_per_day: int
    seconds_apart: float


class PlanPause(msgspec.Struct, frozen=True):
    """Nothing is asked from `since` to `until`, in seconds since the epoch; `words` say why."""

    words: str
    since: float
    until: float


class PlanUse(msgspec.Struct, frozen=True):
    """What was used today, when the job last began, and a pause that the plan asks for."""

    calls: int = 0
    tokens: int = 0
    last_began: float | None = None
    pause: PlanPause | None = None


class PlanVerdict(msgspec.Struct, frozen=True):
    """`until` is when to ask again, in seconds since the epoch; 0 if allowed."""

    reason: PlanReason = "ok"
    until: float = 0.0
    words: str = ""

    @property
    def allowed(self) -> bool:
        return self.reason == "ok"


class RateLimit(msgspec.Struct, frozen=True, rename="camel"):
    """How much of the plan is used, as the client says it."""

    status: str = ""
    resets_at: float | None = None
    rate_limit_type: str = ""
    utilization: float | None = None
    is_using_overage: bool = False
    overage_in_use: bool = False

    @property
    def used_share(self) -> float:
        used = self.utilization
        if used is None:
            used = 1.0 if self.status == "allowed_warning" else 0.0
        return used / 100.0 if used > 1.5 else used

    def more_used(self, other: "RateLimit | None") -> "RateLimit":
        """The one of two windows that asks for more care."""
        if other is None:
            return self
        return max(other, self, key=lambda one: (one.is_closed, one.used_share))

    @property
    def is_closed(self) -> bool:
        return self.status == "rejected" or self.is_beyond

    @property
    def is_beyond(self) -> bool:
        return self.is_using_overage or self.overage_in_use or self.rate_limit_type == "overage"


def may_ask(
    job: str, use: PlanUse, limits: PlanLimits, now: datetime, *, follows: bool
) -> PlanVerdict:
    """Whether a job may ask now; `follows` is a further request of a run that has begun."""
    at, tomorrow = now.timestamp(), midnight(now + timedelta(days=1)).timestamp()
    if use.pause is not None and use.pause.since <= at < use.pause.until:
        return PlanVerdict("plan-used", use.pause.until, use.pause.words)
    if use.calls >= limits.calls_per_day:
        words = f"the day's {limits.calls_per_day} calls are used up"
        return PlanVerdict("plan-calls", tomorrow, words)
    if use.tokens >= limits.tokens_per_day:
        words = f"the day's {limits.tokens_per_day:,} tokens are used up"
        return PlanVerdict("plan-tokens", tomorrow, words)
    if follows:
        return PlanVerdict()
    if job not in SHARES:
        return PlanVerdict("plan-share", tomorrow, f"the plan is not used for {job}")
    share = SHARES[job]
    calls_left = use.calls < share * limits.calls_per_day
    if not (calls_left and use.tokens < share * limits.tokens_per_day):
        return PlanVerdict("plan-share", tomorrow, "the rest of the day is kept for extraction")
    began, wait = use.last_began, limits.seconds_apart
    if job != "check" and began is not None and began <= at < began + wait:
        return PlanVerdict("plan-apart", began + wait, f"calls are {wait / 60:g} minutes apart")
    return PlanVerdict()


def pause_after(rate: RateLimit, now: float) -> PlanPause | None:
    """The pause that the plan's numbers ask for, if any."""
    share, window = rate.used_share, _window(rate)
    if rate.is_beyond:
        words = "usage is charged beyond the plan"
    elif rate.status == "rejected":
        words = f"the plan's limit{window} is reached"
    elif rate.utilization is None and rate.status == "allowed_warning":
        words = f"much of the plan{window} is used"
    elif share > _allowed_share(rate):
        words = f"{share:.0%} of the plan{window} is used"
    else:
        return None
    return PlanPause(words, now, _resets(rate, now))


def _allowed_share(rate: RateLimit) -> float:
    if rate.rate_limit_type.startswith("seven_day"):
        return SEVEN_DAYS_SHARE
    return FIVE_HOURS_SHARE


def _window(rate: RateLimit) -> str:
    if rate.rate_limit_type.startswith("seven_day"):
        return " for seven days"
    return " for five hours" if rate.rate_limit_type == "five_hour" else ""


def _resets(rate: RateLimit, now: float) -> float:
    at = rate.resets_at or 0.0
    at = at / 1000.0 if at > 1e11 else at  # in milliseconds
    return min(at, now + LONGEST_PAUSE_SECONDS) if at > now else now + DEFAULT_PAUSE_SECONDS
