"""What an import of old turns covers and roughly what it would cost, before it starts.

Rules
- `since` is a length of time up to now (90m, 12h, 30d, 8w) or a date or time in ISO form.
- A turn counts by the time it ended, or by its file's time if it has none.
- The turns of a session go to the model together, RUN_CHARS and RUN_TURNS at a time, in at most two
  calls: it reads, then it writes. Each call sends our own texts and the turns. Cached text costs
  less, and most runs have nothing to read; the estimate ignores that and is high on purpose.
"""

import msgspec

from memoryd.base.config import Price
from memoryd.base.errors import InvalidInput
from memoryd.base.timestamps import seconds_of
from memoryd.llm.rules.messages import Usage
from memoryd.llm.rules.spending import cost_usd
from memoryd.text.lazy_regex import late

RUN_CHARS = 120_000
RUN_TURNS = 30
CALLS_PER_RUN = 2
OWN_TOKENS_PER_CALL = 4000
ANSWER_TOKENS_PER_CALL = 400
CHARS_PER_TOKEN = 3.5

_SPAN = late(r"(\d{1,6})\s*([mhdw])")
_SECONDS = {"m": 60, "h": 3600, "d": 86_400, "w": 604_800}


class Estimate(msgspec.Struct, frozen=True, kw_only=True):
    sessions: int = 0
    turns: int = 0
    tokens: int = 0
    usd: float = 0.0

    def __add__(self, other: "Estimate") -> "Estimate":
        return Estimate(
            sessions=self.sessions + other.sessions,
            turns=self.turns + other.turns,
            tokens=self.tokens + other.tokens,
            usd=self.usd + other.usd,
        )


def since_moment(text: str, now: float) -> float:
    """The start, in seconds since the epoch; InvalidInput for neither a length nor a date."""
    span = _SPAN.fullmatch(text.strip().lower())
    if span:
        return now - int(span[1]) * _SECONDS[span[2]]
    moment = seconds_of(text.strip())
    if moment is None:
        raise InvalidInput(
            f"{text!r} is neither a length of time nor a date",
            hint="write it like 30d, 12h, 8w or 2026-03-30",
        )
    return moment


def estimate_of_session(turn_chars: list[int], price: Price) -> Estimate:
    """For the turns of one session, given the characters that each would send."""
    if not turn_chars:
        return Estimate()
    runs = max(-(-sum(turn_chars) // RUN_CHARS), -(-len(turn_chars) // RUN_TURNS))
    per_call = OWN_TOKENS_PER_CALL + round(sum(turn_chars) / CHARS_PER_TOKEN / runs)
    usage = Usage(input_tokens=per_call, output_tokens=ANSWER_TOKENS_PER_CALL)
    calls = runs * CALLS_PER_RUN
    return Estimate(
        sessions=1,
        turns=len(turn_chars),
        tokens=calls * per_call,
        usd=calls * cost_usd(usage, price),
    )
