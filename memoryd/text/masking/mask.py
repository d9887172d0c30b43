"""Find secrets in a text and put masks in their place.

A secret gives itself away by its shape (`masking_shapes`), by the place where it stands
(`masking_places`) or by the name before it (`masking_names`); `masking_values` says what a value
has to look like. A mask keeps the kind and a class of length: `[secret: github-token]`, and from
200 characters on `[secret: private-key, long]`. It hides the secret and nothing beside it, so that
a reader still sees which setting, host or user it belonged to.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate

import msgspec

from memoryd.text.invisible import strip_invisible
from memoryd.text.masking.by_context import placed_in
from memoryd.text.masking.by_name import named_in
from memoryd.text.masking.by_shape import tokens_in

_LONG = 200


class FoundSecret(msgspec.Struct, frozen=True):
    """One secret in a text, from `start` up to `end`."""

    kind: str
    start: int
    end: int

    @property
    def mask(self) -> str:
        length = ", long" if self.end - self.start >= _LONG else ""
        return f"[secret: {self.kind}{length}]"


def find_secrets(text: str) -> list[FoundSecret]:
    """The secrets in the text, in order and apart from each other."""
    # The one letter whose lower case is two characters; positions have to stay what they are.
    lowered = text.replace("\u0130", "I").lower()
    spans = (*tokens_in(text), *placed_in(text, lowered), *named_in(text, lowered))
    return list(
        _apart(sorted((FoundSecret(*span) for span in spans), key=lambda found: found.start))
    )


def mask(text: str) -> str:
    """The text with a mask in place of every secret; masking it again changes nothing."""
    # Hiding one secret can bare another. Masks are never found, so each round leaves less to find.
    while findings := find_secrets(text):
        text = _with_masks(text, findings)
    return text


def mask_each(texts: Sequence[str]) -> list[str]:
    """Each text masked by itself; of many short ones, only those that one look at all finds."""
    masked = list(texts)
    starts = list(accumulate((len(text) + 1 for text in texts), initial=0))
    for found in find_secrets("\n".join(texts)):
        for at in range(bisect_right(starts, found.start) - 1, bisect_left(starts, found.end)):
            masked[at] = mask(texts[at])
    return masked


def presentable(text: str) -> str:
    """What may be shown of a text that anybody may have written: no secret, nothing invisible."""
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
