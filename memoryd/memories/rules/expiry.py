"""When a memory ends, and when somebody should look at it again.

Rules
- A statement has an end if it says so: "until 2026-12-03", "due on ...", "the deadline is ...",
  "ends on ...", "the week of ...", "for the next two weeks". Relative dates are dates by then.
- Of several ends the last one counts. An end before the day it was said is history, not an end.
- On the day after its end a memory is no longer true: `valid_until` is the last day.
- Facts age. A `project` memory is due for review 90 days after it was written or last used, a
  `reference` after 180 days; what a person is and wants is not. `review_by` says another day.
"""

import re
from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta
from typing import Final

from memoryd.memories.rules.topics import Topic, TopicType
from memoryd.text.lazy_regex import late

REVIEW_DAYS: Final[Mapping[TopicType, int]] = {"project": 90, "reference": 180}
# A longer text says more than one thing, and its end may be that of a part.
LONGEST_STATEMENT: Final = 400

_DATE: Final = r"(?P<day>20\d\d-[01]\d-[0-3]\d)"
_FEW_WORDS: Final = r"(?:[^\s.;]+ ){0,6}?"
_ANY_DATE: Final = late(r"20\d\d-[01]\d-[0-3]\d")
_ENDS: Final = tuple(
    late(pattern, re.IGNORECASE)
    for pattern in (
        rf"\b(?:until|till|through|up to|bis|hasta|jusqu'?au|fino al?) {_FEW_WORDS}{_DATE}",
        rf"\bdeadline\b:? {_FEW_WORDS}(?:from {_DATE.replace('day', 'old')} to )?{_DATE}",
        rf"\bdue\b {_FEW_WORDS}{_DATE}",
        rf"\b(?:ends?|expires?|closes|runs out|lapses)(?: on| at| by)? {_DATE}",
        rf"\b(?:is|are) (?:over|gone|off|valid|good) (?:on|after|by|from) {_DATE}",
        rf"\b(?:must|has to|have to|needs?|ship|finish|done|ready|deliver)\b[^.;]*?\bby {_DATE}",
        rf"\b(?:only|just) (?:for |on )?{_DATE}",
    )
)
_WEEK: Final = late(
    rf"(?<!since )(?<!from )(?<!after )(?<!before )\bthe week of {_DATE}", re.IGNORECASE
)
_NUMBERS: Final = {
    "a": 1,
    "one": 1,
    "two": 2,
    "three": 3,
    "four": 4,
    "five": 5,
    "six": 6,
    "ten": 10,
}
_NEXT: Final = late(
    rf"\bfor (?:the (?:next|coming)|another) (?:(?P<number>\d{{1,2}}|{'|'.join(_NUMBERS)}) )?"
    r"(?P<unit>days?|weeks?|months?)\b",
    re.IGNORECASE,
)
_UNIT_DAYS: Final = {"day": 1, "week": 7, "month": 30}
_HISTORY: Final = late(r"\b(?:was|were|had|used to)\b[^.;]*$", re.IGNORECASE)


def end_of(text: str, said: date) -> str:
    """The last day on which a statement with absolute dates is true; empty if it has no end."""
    if len(text) > LONGEST_STATEMENT:
        return ""
    found = _dated_ends(text) if _ANY_DATE.search(text) else []
    for hit in _NEXT.finditer(text):
        number = hit["number"] or "1"
        count = _NUMBERS.get(number.lower()) or int(number)
        days = count * _UNIT_DAYS[hit["unit"].lower().removesuffix("s")]
        found.append((said + timedelta(days=days)).isoformat())
    last = max((one for one in found if day_named(one)), default="")
    return last if last >= said.isoformat() else ""


def _dated_ends(text: str) -> list[str]:
    found = [
        hit["day"]
        for pattern in _ENDS
        for hit in pattern.finditer(text)
        if not _HISTORY.search(text[: hit.start()])
    ]
    weeks = (day_named(hit["day"]) for hit in _WEEK.finditer(text))
    return found + [(day + timedelta(days=6 - day.weekday())).isoformat() for day in weeks if day]


def has_ended(topic: Topic, today: str) -> bool:
    return "" < topic.valid_until < today


def review_day(topic: Topic, modified: float, last_used: float = 0.0) -> str:
    """The day on which a person should look at a memory; empty if it does not age."""
    days = REVIEW_DAYS.get(topic.type) if topic.type else None
    if topic.review_by:
        fixed = day_named(topic.review_by)
        if fixed is None or days is None:
            return topic.review_by if fixed else ""
        return max(fixed, _after(last_used, days)).isoformat() if last_used else fixed.isoformat()
    if days is None:
        return ""
    return _after(max(modified, last_used), days).isoformat()


def next_review(type_: TopicType | None, today: date) -> str:
    """When to look again at a memory that a person kept today."""
    days = REVIEW_DAYS.get(type_, 180) if type_ else 180
    return (today + timedelta(days=days)).isoformat()


def day_named(text: str) -> date | None:
    try:
        return date.fromisoformat(text[:10])
    except ValueError:
        return None


def _after(at: float, days: int) -> date:
    return datetime.fromtimestamp(at, UTC).date() + timedelta(days=days)
