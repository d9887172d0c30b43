"""Shortens a text so that no part of a secret stays at the cut: masks first, then cuts.

Rules
- A secret is recognised by what surrounds it, so more than is kept is searched: up to `EDGE`
  characters beyond the cut. A secret that the cut goes through is masked whole.
- Nearly all texts have none, and nearly all secrets need only what is near. So `NEAR` characters
  beyond the cut are searched first; the rest only if something was found there, or if something
  begins further away that may reach up to the cut: a key, a jar of cookies, a list of codes, a
  table, or a run without a blank that is as long.
"""

from functools import cache
from typing import Final

from memoryd.text.masking.anchors import Anchors
from memoryd.text.masking.mask import find_secrets, mask

EDGE: Final = 8192
NEAR: Final = 1024
# Where such a word is, a secret may be longer than NEAR, or be recognised from further away.
_REACHES_FAR: Final = (
    "private key",
    "private-lines",
    "ls0tls1crudjti",
    "cookie",
    "recovery",
    "backup",
    "scratch",
    # The head of a table names a column, or stands below it.
    "pass",
    "pwd",
    "secret",
    "token",
    "kennwort",
    "contrase",
    "senha",
    "insert into",
)


def masked_beginning(text: str, characters: int) -> str:
    """The first characters of the text, masked."""
    if len(text) <= characters:
        return mask(text)[:characters]
    if _is_clean_up_to(text, characters):
        return text[:characters]
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
    first = len(text) - characters
    if _is_clean_from(text, first):
        return text[-characters:]
    low = max(0, first - EDGE)
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


def _is_clean_up_to(text: str, cut: int) -> bool:
    far = text[cut + NEAR : cut + EDGE]
    return not _reaches(text[cut : cut + NEAR], far) and not find_secrets(text[: cut + NEAR])


def _is_clean_from(text: str, cut: int) -> bool:
    start = max(0, cut - NEAR)
    far = text[max(0, cut - EDGE) : start]
    return not _reaches(text[start:cut], far) and not find_secrets(text[start:])


def _reaches(near: str, far: str) -> bool:
    """Whether something in `far` may reach across `near`, or tell what stands beyond it."""
    if not far:
        return False
    return len(near.split(None, 1)) < 2 or bool(_far_words().present_in(far.lower()))


@cache
def _far_words() -> Anchors:
    return Anchors(_REACHES_FAR)
