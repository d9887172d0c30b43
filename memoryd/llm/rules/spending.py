"""What a call costs, whether it may be made, and when a failing provider is not called.

Budget rules
- A call is debited before it is made, at its worst-case cost, and corrected when its usage is
  known. A call with an unknown result (crash, timeout, cut line) stays debited: it may be billed.
- A call is refused if its worst case does not fit under the cap of the day or the month. So the
  caps hold as long as the estimate does, and if it is wrong they are exceeded by one call.
- The worst case is one token for every two bytes, all of them written to the cache, and an answer
  of the full length. Prose has three to four bytes a token; dense code and CJK come near to two.
- A model without a price of its own is charged as "unknown", which is expensive: an unpriced name
  must not bypass the cap. A server on this machine is `FREE` unless priced.

Breaker rules
- Five failures in a row open it for ten minutes. Then one call may probe: success closes it,
  failure (or a crash meanwhile) keeps it open for ten minutes more.
- A provider that asks for a pause gets it, an hour at most; it does not count as a failure.
- If the clock is set back to before the opening, the wait ends, so that no jump blocks forever.
"""

import calendar
from collections.abc import Mapping
from datetime import datetime, timedelta
from math import inf
from typing import Literal

import msgspec

from memoryd.base.config import DEFAULT_PRICES, Budget, Price
from memoryd.llm.rules.messages import ModelRequest, Usage, prompt_bytes

CACHE_WRITE_FACTOR = 1.25
CACHE_READ_FACTOR = 0.1
BYTES_PER_TOKEN = 2
FAILURES_TO_OPEN = 5
PROBE_SECONDS = 600.0
LONGEST_PAUSE_SECONDS = 3600.0

PauseReason = Literal["ok", "day-cap", "month-cap", "breaker-open"]


FREE = Price(input_usd=0.0, output_usd=0.0)


class Spent(msgspec.Struct, frozen=True):
    """What the ledger holds, open reservations included."""

    today_usd: float = 0.0
    month_usd: float = 0.0


class SpendingVerdict(msgspec.Struct, frozen=True):
    """`until` is when to ask again, in seconds since the epoch; 0 if allowed."""

    reason: PauseReason = "ok"
    until: float = 0.0

    @property
    def allowed(self) -> bool:
        return self.reason == "ok"


class Breaker(msgspec.Struct, frozen=True):
    """Closed by default; open from `opened_at` (seconds since the epoch) for `open_seconds`."""

    failures_in_a_row: int = 0
    opened_at: float = 0.0
    open_seconds: float = 0.0


def cost_usd(usage: Usage, price: Price) -> float:
    """What a provider bills for this usage."""
    at = _long_price(price) if usage.prompt_tokens > (price.long_above_tokens or inf) else price
    write_usd = (
        at.input_usd * CACHE_WRITE_FACTOR if at.cache_write_usd is None else at.cache_write_usd
    )
    read_usd = at.input_usd * CACHE_READ_FACTOR if at.cache_read_usd is None else at.cache_read_usd
    return (
        usage.input_tokens * at.input_usd
        + usage.output_tokens * at.output_usd
        + usage.cache_write_tokens * write_usd
        + usage.cache_read_tokens * read_usd
    ) / 1e6


def _long_price(price: Price) -> Price:
    """The whole of a long prompt is charged at the long prices, its cached part in proportion."""
    input_usd = price.input_usd if price.long_input_usd is None else price.long_input_usd
    output_usd = price.output_usd if price.long_output_usd is None else price.long_output_usd
    return Price(input_usd=input_usd, output_usd=output_usd)


def worst_usage(request: ModelRequest) -> Usage:
    prompt_tokens = -(-prompt_bytes(request) // BYTES_PER_TOKEN)
    return Usage(cache_write_tokens=prompt_tokens, output_tokens=request.max_tokens)


def price_of(model: str, prices: Mapping[str, Price], unpriced: Price | None = None) -> Price:
    """The price of the model, of the name it extends (a dated release), `unpriced` or unknown."""
    named = [name for name in prices if model == name or model.startswith(f"{name}-")]
    if named:
        return prices[max(named, key=len)]
    return unpriced or prices.get("unknown") or DEFAULT_PRICES["unknown"]


def may_spend(spent: Spent, estimate_usd: float, caps: Budget, now: datetime) -> SpendingVerdict:
    """Whether a call that may cost `estimate_usd` fits the budget; a free one always does."""
    if estimate_usd <= 0.0:
        return SpendingVerdict()
    if spent.month_usd + estimate_usd > caps.usd_per_month:
        return SpendingVerdict("month-cap", _next_month(now).timestamp())
    if spent.today_usd + estimate_usd > caps.usd_per_day:
        return SpendingVerdict("day-cap", midnight(now + timedelta(days=1)).timestamp())
    return SpendingVerdict()


def midnight(moment: datetime) -> datetime:
    """The beginning of that day."""
    return moment.replace(hour=0, minute=0, second=0, microsecond=0)


def _next_month(moment: datetime) -> datetime:
    days_left = calendar.monthrange(moment.year, moment.month)[1] - moment.day + 1
    return midnight(moment + timedelta(days=days_left))


def may_call(breaker: Breaker, now: float) -> SpendingVerdict:
    ends_at = breaker.opened_at + breaker.open_seconds
    return (
        SpendingVerdict("breaker-open", ends_at)
        if breaker.opened_at <= now < ends_at
        else SpendingVerdict()
    )


def before_call(breaker: Breaker, now: float) -> Breaker:
    """Claims the probe: an open breaker lets only this one call through for a while."""
    return _opened(breaker, now) if breaker.failures_in_a_row >= FAILURES_TO_OPEN else breaker


def after_success() -> Breaker:
    return Breaker()


def after_failure(breaker: Breaker, now: float) -> Breaker:
    failed = Breaker(breaker.failures_in_a_row + 1, breaker.opened_at, breaker.open_seconds)
    return before_call(failed, now)


def after_pause(breaker: Breaker, pause_seconds: float, now: float) -> Breaker:
    return Breaker(breaker.failures_in_a_row, now, min(pause_seconds, LONGEST_PAUSE_SECONDS))


def _opened(breaker: Breaker, now: float) -> Breaker:
    return Breaker(breaker.failures_in_a_row, now, PROBE_SECONDS)
