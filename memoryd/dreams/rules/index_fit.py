"""Which memories the index lists, so that a session always loads all of it.

Rules
- At most 200 lines and 25,000 bytes. While all memories fit, all are listed.
- Lines are shortened first. If that is not enough, the least useful memories lose their line and
  one line says how many; `ROOM` is left for what is saved before the next dream.
- What a person wrote stays: headings, notes, links to parts, and the order. A pointer in other
  words than ours may be a person's, and goes last.
- Useful is what is new, what was used, and what a session cannot find out by itself: who the person
  is and what they asked for before facts and places. What CLAUDE.md says too goes first.
- The order of two memories does not depend on the day: a second dream changes nothing.
"""

from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from memoryd.memories.rules import index
from memoryd.memories.rules.topics import SECONDS_A_DAY, TopicType
from memoryd.text.shorten import cut_at_word

LONGEST_LINE: Final = index.HOOK_LINE_CHARACTERS + 20
SHORT_LINES: Final = (120, 100)
ROOM_LINES: Final = 10
ROOM_BYTES: Final = 1000

_HAND_WORDED_DAYS: Final = 36_500.0
_SAID_ELSEWHERE_DAYS: Final = -36_500.0
_USE_DAYS: Final = 30.0
_MOST_USES: Final = 10
_TYPE_DAYS: Final[Mapping[TopicType | None, float]] = {
    "user": 180.0,
    "feedback": 120.0,
    "project": 0.0,
    "reference": 30.0,
    None: -30.0,
}


class IndexedMemory(msgspec.Struct, frozen=True, kw_only=True):
    """A current memory; `line` is our pointer to it, `uses` how often a session used it."""

    file: str
    line: str
    type: TopicType | None = None
    modified: float = 0.0
    uses: int = 0
    is_in_instructions: bool = False


def fitted(text: str, memories: Sequence[IndexedMemory], now: float) -> str:
    """The index within its limits; `memories` are all current ones, newest first."""
    known = {one.file: one for one in memories}
    bare = "\n".join(line for line in text.split("\n") if not index.is_unlisted_line(line))
    lines = {one.file: one.line for one in memories}
    whole = _with_short_lines(index.repaired(bare, lines, list(lines)), lines, LONGEST_LINE)
    if not index.loaded(whole).is_cut:
        return whole
    # Shorter lines are not fewer: what has too many is only shortened for the last step.
    has_too_many = whole.count("\n") > index.LINE_LIMIT
    for width in SHORT_LINES[-1:] if has_too_many else SHORT_LINES:
        shorter = _with_short_lines(whole, lines, width)
        if not index.loaded(shorter).is_cut:
            return shorter
    return _without_least_useful(shorter, known, index.unlisted_since(text), now)


def _with_short_lines(text: str, lines: Mapping[str, str], width: int) -> str:
    """Long pointers in our own words, or cut in theirs."""
    after = text.split("\n")
    for at, file in index.whole_pointers(after).items():
        if len(after[at]) > width:
            own = lines.get(file, after[at])
            shorter = own if len(own) < len(after[at]) else after[at]
            after[at] = _cut(shorter, width) if width < LONGEST_LINE else shorter
    return "\n".join(after)


def _cut(line: str, width: int) -> str:
    """The hook cut at a word; the link stays whole."""
    head, dash, hook = line.partition(") — ")
    room = width - len(head) - len(dash)
    return (
        line
        if not dash or len(line) <= width
        else f"{head}{dash}{cut_at_word(hook, max(20, room))}"
    )


def _without_least_useful(
    text: str, known: Mapping[str, IndexedMemory], since: float, now: float
) -> str:
    lines = text.rstrip("\n").split("\n")
    pointed = {at: file for at, file in index.whole_pointers(lines).items() if file in known}
    fixed = [line for at, line in enumerate(lines) if at not in pointed]
    note = index.unlisted_line(len(known), now)
    left_lines = index.LINE_LIMIT - ROOM_LINES - len(fixed) - 1
    left_bytes = index.BYTE_LIMIT - ROOM_BYTES - _bytes(fixed) - _bytes([note])
    kept: set[int] = set()
    for at in sorted(pointed, key=lambda at: _worth(known[pointed[at]], lines[at]), reverse=True):
        if len(kept) < left_lines and _bytes([lines[at]]) <= left_bytes:
            kept.add(at)
            left_bytes -= _bytes([lines[at]])
    dropped = [known[file] for at, file in pointed.items() if at not in kept]
    # The time stays as long as it holds, so that a second dream changes nothing.
    holds = since > 0 and all(one.modified <= since for one in dropped)
    note = index.unlisted_line(len(dropped), since if holds else now)
    left = [line for at, line in enumerate(lines) if at in kept or at not in pointed]
    return "\n".join([*left, note]) + "\n"


def _worth(one: IndexedMemory, line: str) -> tuple[float, str]:
    days = one.modified / SECONDS_A_DAY + _TYPE_DAYS[one.type]
    days += _USE_DAYS * min(one.uses, _MOST_USES)
    if one.is_in_instructions:
        days += _SAID_ELSEWHERE_DAYS
    ours = {one.line, *(_cut(one.line, width) for width in SHORT_LINES)}
    return (days if line in ours else days + _HAND_WORDED_DAYS), one.file


def _bytes(lines: Sequence[str]) -> int:
    return sum(len(line.encode("utf-8", "replace")) + 1 for line in lines)
