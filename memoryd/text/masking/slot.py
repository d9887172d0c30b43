"""A slot is a place where a secret stands, given away by what is around it.

Each slot has anchors that are found with plain string search in the lower-case text; the pattern
runs on the line around one, so hostile texts take linear time.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Final

import msgspec

from memoryd.text.masking import values, words

LINE_BEFORE: Final = 120
LINE_AFTER: Final = 400
LEFT: Final = 80

SecretCheck = Callable[[str], bool]


class Slot(msgspec.Struct, frozen=True):
    """Where a secret stands: the kind, the anchors, the pattern, the check of a value.

    With `before=0` the pattern begins at the anchor, and `left` says what must stand before it.
    `beside` is what every match needs besides the anchor, one of these, in lower case.
    """

    kind: str
    anchors: tuple[str, ...]
    pattern: re.Pattern[str]
    is_secret: SecretCheck
    before: int = LINE_BEFORE
    left: re.Pattern[str] | None = None
    beside: tuple[str, ...] = ()

    def may_be_in(self, lowered: str) -> bool:
        return not self.beside or any(one in lowered for one in self.beside)


def is_any_password(value: str) -> bool:
    return words.is_word_password(value) or values.is_password(value)


class SlotTable:
    """Slots in their order, which can be told by their anchors."""

    def __init__(self, slots: Iterable[Slot]) -> None:
        self._slots = tuple(slots)
        self._numbers: dict[str, list[int]] = {}
        for number, slot in enumerate(self._slots):
            for anchor in slot.anchors:
                self._numbers.setdefault(anchor, []).append(number)
        self.anchors: Final = frozenset(self._numbers)

    def found_in(
        self, text: str, lowered: str, present: frozenset[str]
    ) -> Iterator[tuple[str, int, int]]:
        """Kind, start and end of every secret that one of the slots gives away.

        `present` are the anchors that the text holds.
        """
        held = self.anchors & present
        for number in sorted({number for anchor in held for number in self._numbers[anchor]}):
            slot = self._slots[number]
            if slot.may_be_in(lowered):
                for anchor in slot.anchors:
                    if anchor in held:
                        yield from _in_slot(slot, anchor, text, lowered)


def _in_slot(slot: Slot, anchor: str, text: str, lowered: str) -> Iterator[tuple[str, int, int]]:
    done = 0
    at = lowered.find(anchor)
    while at >= 0:
        low = max(done, at - slot.before)
        if slot.beside and not slot.may_be_in(lowered[max(0, low - LEFT) : at + LINE_AFTER]):
            at = lowered.find(anchor, at + len(anchor))
            continue
        tries = _matches_around(slot, text, low, at)
        match = next((one for one in tries if slot.is_secret(one["secret"])), None)
        if match:
            start, end = match.span("secret")
            if slot.kind == "password":
                end = start + len(match["secret"].rstrip(".,)"))
            yield slot.kind, start, end
            done = end
        at = lowered.find(anchor, max(done, at + len(anchor)))


def _matches_around(slot: Slot, text: str, low: int, at: int) -> Iterator[re.Match[str]]:
    """The matches that may hold the anchor: in its line, or from it on."""
    if slot.before == 0:
        match = slot.pattern.match(text, at)
        if match and (not slot.left or slot.left.search(text[max(0, at - LEFT) : at])):
            yield match
        return
    low = max(low, text.rfind("\n", low, at) + 1)
    for match in slot.pattern.finditer(text, low, at + LINE_AFTER):
        if match.start() > at:
            return
        yield match
