"""Finds secrets in a text and replaces them with masks.

A secret is recognised by its shape (`by_shape`; in pieces: `joined`), by its context
(`by_context`), by the slot it stands in (`by_slot`; in commands, settings and calls: `by_command`),
by its place on the page (`by_layout`), by the name before it (`by_name`; in a sentence: `told`), by
a word elsewhere on its line (`by_neighbour`), or as a number or phrase with a form of its own
(`by_number`); `values` and `words` say what a value must look like. A mask says the kind of secret,
and whether it is long: `[secret: github-token]`, from 200 characters `[secret: private-key, long]`.
It hides nothing but the secret, so that a reader still sees which setting, host or user it is.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import accumulate

import msgspec

from memoryd.base.remembered import remembered
from memoryd.text.invisible import strip_invisible
from memoryd.text.masking.anchors import Anchors
from memoryd.text.masking.by_command import COMMAND_ANCHORS, commanded_in
from memoryd.text.masking.by_context import PLACE_ANCHORS, placed_in
from memoryd.text.masking.by_layout import LAYOUT_ANCHORS, laid_out_in
from memoryd.text.masking.by_name import NAME_ANCHORS, named_in
from memoryd.text.masking.by_neighbour import MENTION_ANCHORS, neighbours_in
from memoryd.text.masking.by_number import NUMBER_ANCHORS, numbered_in
from memoryd.text.masking.by_shape import tokens_in
from memoryd.text.masking.by_slot import SLOT_ANCHORS, slotted_in
from memoryd.text.masking.idle import without_idle
from memoryd.text.masking.joined import joined_in
from memoryd.text.masking.told import TOLD_ANCHORS, told_in

_LONG = 200
_SHORT = 512
_KEPT = 16


class FoundSecret(msgspec.Struct, frozen=True):
    """One secret in a text, from `start` to `end`."""

    kind: str
    start: int
    end: int

    @property
    def mask(self) -> str:
        length = ", long" if self.end - self.start >= _LONG else ""
        return f"[secret: {self.kind}{length}]"


def find_secrets(text: str) -> list[FoundSecret]:
    """The secrets in the text, in order and without overlaps."""
    # A call names the same path or command up to four times.
    return list(_kept_found(text) if len(text) <= _SHORT else _found(text))


def _found(text: str) -> tuple[FoundSecret, ...]:
    # The one letter whose lower case is two characters; positions must not shift.
    lowered = text.replace("\u0130", "I").lower()
    present = without_idle(lowered, _anchors().present_in(lowered))
    spans = list(_spans(text, lowered, present))
    if not spans:
        return ()
    return tuple(
        _apart(sorted((FoundSecret(*span) for span in spans), key=lambda found: found.start))
    )


def _spans(text: str, lowered: str, present: frozenset[str]) -> Iterator[tuple[str, int, int]]:
    """What every rule finds; where two begin together, the first names the kind."""
    yield from tokens_in(text)
    yield from joined_in(text, tokens_in)
    if present:
        yield from placed_in(text, lowered, present)
    yield from numbered_in(text, lowered, present)
    if present:
        yield from slotted_in(text, lowered, present)
    yield from commanded_in(text, lowered, present)
    if present:
        yield from laid_out_in(text, lowered, present)
        yield from named_in(text, lowered, present)
        yield from told_in(text, lowered, present)
        yield from neighbours_in(text, lowered, present)


_kept_found = remembered(_KEPT)(_found)


@cache
def _anchors() -> Anchors:
    slots = SLOT_ANCHORS | COMMAND_ANCHORS | PLACE_ANCHORS | LAYOUT_ANCHORS
    return Anchors(slots | NAME_ANCHORS | NUMBER_ANCHORS | TOLD_ANCHORS | MENTION_ANCHORS)


def mask(text: str) -> str:
    """The text with every secret masked; idempotent."""
    # Masking one secret can reveal another. Masks are never found, so this ends.
    while findings := find_secrets(text):
        text = _with_masks(text, findings)
    return text


def mask_each(texts: Sequence[str]) -> list[str]:
    """Masks each text. One search over all of them finds the few that need it."""
    masked = list(texts)
    starts = list(accumulate((len(text) + 1 for text in texts), initial=0))
    for found in find_secrets("\n".join(texts)):
        for at in range(bisect_right(starts, found.start) - 1, bisect_left(starts, found.end)):
            masked[at] = mask(texts[at])
    return masked


def presentable(text: str) -> str:
    """The text as it may be shown: secrets masked, invisible characters removed."""
    return mask(strip_invisible(text))


def _with_masks(text: str, findings: list[FoundSecret]) -> str:
    parts: list[str] = []
    done = 0
    for finding in findings:
        parts += text[done : finding.start], finding.mask
        done = finding.end
    return "".join((*parts, text[done:]))


def _apart(findings: list[FoundSecret]) -> Iterator[FoundSecret]:
    """Overlapping findings become one; where two begin together, shape names it before name."""
    last: FoundSecret | None = None
    for finding in findings:
        if last and finding.start < last.end:
            last = FoundSecret(last.kind, last.start, max(last.end, finding.end))
            continue
        if last:
            yield last
        last = finding
    if last:
        yield last
