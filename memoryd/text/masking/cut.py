"""Shortens a text so that no part of a secret stays at the cut: masks first, then cuts.

A secret is recognised by what surrounds it, so more than is kept is searched: up to `EDGE`
characters beyond the cut. A secret that the cut goes through is masked whole.
"""

from typing import Final

from memoryd.text.masking.mask import find_secrets, mask

EDGE: Final = 8192


def masked_beginning(text: str, characters: int) -> str:
    """The first characters of the text, masked."""
    if len(text) <= characters:
        return mask(text)[:characters]
    parts: list[str] = []
    done = 0
    for found in find_secrets(text[: characters + EDGE]):
        if found.start >= characters:
            break
        parts += text[done : found.start], found.mask
        done = found.end
    return mask("".join((*parts, text[done : max(done, characters)])))[:characters]


def masked_ending(text: str, characters: int) -> str:
    """The last characters of the text, masked."""
    if len(text) <= characters:
        return mask(text)[-characters:]
    low = max(0, len(text) - characters - EDGE)
    first = len(text) - characters
    parts: list[str] = []
    done = first
    for found in find_secrets(text[low:]):
        start, end = low + found.start, low + found.end
        if end > first:
            parts += text[done : max(start, done)], found.mask
            done = end
    return mask("".join((*parts, text[done:])))[-characters:]


def masked_middle(text: str, characters: int) -> str:
    """A text that fits as it is, not masked; of a longer one the beginning and the end, masked."""
    if len(text) <= characters:
        return text
    head, tail = characters * 3 // 4, characters // 4
    note = f"[... {len(text) - head - tail} characters cut ...]"
    return f"{masked_beginning(text, head)}\n{note}\n{masked_ending(text, tail)}"
