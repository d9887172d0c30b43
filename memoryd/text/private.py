"""What a person marked as private: `<private>...</private>`, which nothing keeps or sends.

Rules
- Upper and lower case, blanks and attributes in a tag do not matter. Tags nest. A tag that is not
  closed counts to the end of the text.
- What is taken out leaves the mark `[private]`, so that a reader sees that something is missing and
  does not take the rest for the whole sentence.
- In a raw line of a transcript a tag may be written with JSON's escapes, and a piece of a line may
  hold only the end of a span: then everything before it counts.
"""

import re
from typing import Final

from memoryd.text.lazy_regex import late

PRIVATE: Final = "[private]"

# How a tag begins: with its bracket, or with the digits of an escape. Few texts have either.
_OPENINGS: Final = ("<", "003")
# In every tag, whatever else the pattern takes for one of its letters: dotless i for i.
_PIECE: Final = "vate"
_TAG: Final = late(
    r"(?:<|\\u003c)\s{0,9}(?P<close>\\?/)?\s{0,9}private(?:\s[^<>]*)?(?:>|\\u003e)", re.IGNORECASE
)


def without_private(text: str) -> str:
    """The text with a mark in place of each private span."""
    if not _may_have_tags(text):
        return text
    parts: list[str] = []
    depth = done = 0
    for tag in _TAG.finditer(text):
        if tag["close"]:
            if depth == 1:
                done = tag.end()
            depth = max(depth - 1, 0)
            continue
        if depth == 0:
            parts += text[done : tag.start()], PRIVATE
        depth += 1
    if not parts:
        return text
    return "".join(parts) if depth else "".join((*parts, text[done:]))


def _may_have_tags(text: str) -> bool:
    """Many times as fast as the pattern."""
    return any(one in text for one in _OPENINGS) and _PIECE in text.lower()


def without_private_in_line(line: str) -> str:
    """The same for a piece of a raw line, which may begin inside a span."""
    first = _TAG.search(line)
    if first is not None and first["close"]:
        line = PRIVATE + line[first.end() :]
    return without_private(line)


def has_private(text: str) -> bool:
    """Whether something was taken out of this text."""
    return PRIVATE in text


def public_part(text: str) -> str:
    """What is left, without the marks, for a search or a check."""
    return " ".join(text.replace(PRIVATE, " ").split()) if PRIVATE in text else text
