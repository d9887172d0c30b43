"""What a hook shows of a long memory: how it begins, and the part that the prompt is about.

Agents write memories of a page, and nobody asked for a page. The first paragraph says what the
memory is, the one with most of the prompt's words is why it is shown, the path leads to the rest.

- At most EXCERPT_BYTES of text; a memory within that is shown whole.
- Paragraphs keep their order; what stands between them is an ellipsis.
- A heading belongs to the paragraph below it. One that is too long is cut at a word.
"""

from collections.abc import Iterable
from typing import Final

from memoryd.text.lazy_regex import late
from memoryd.text.shorten import cut_at_word
from memoryd.text.terms import terms_of

EXCERPT_BYTES: Final = 700
_GAP: Final = "…"
_BLANK_LINES = late(r"\n\s*\n")
_SHORTEST_CUT_BYTES: Final = 80


def excerpt(content: str, prompt: str, path: str) -> str:
    """The content, or the parts of it that are worth showing beside the path of the whole."""
    if _size(content) <= EXCERPT_BYTES:
        return content
    paragraphs = _paragraphs(content)
    wanted = set(terms_of(prompt))
    by_worth = sorted(
        range(1, len(paragraphs)),
        key=lambda number: (-len(wanted & set(terms_of(paragraphs[number]))), number),
    )
    chosen: dict[int, str] = {}
    left = EXCERPT_BYTES
    for number in (0, *by_worth):
        says_something = number == 0 or wanted & set(terms_of(paragraphs[number]))
        if not says_something or left < _SHORTEST_CUT_BYTES:
            break
        # The beginning leaves room for the part that the prompt is about.
        room = left if number else EXCERPT_BYTES // 2
        chosen[number] = _within(paragraphs[number], room)
        left -= _size(chosen[number])
    return "\n".join([*_in_order(chosen, len(paragraphs)), f"(the whole memory: {path})"])


def _paragraphs(content: str) -> list[str]:
    found: list[str] = []
    heading = ""
    for piece in _BLANK_LINES.split(content.strip()):
        text = f"{heading}\n{piece}" if heading else piece
        is_heading = piece.startswith("#") and "\n" not in piece.strip()
        heading = text if is_heading else ""
        if not is_heading:
            found.append(text)
    return [*found, heading] if heading else found


def _within(text: str, limit_bytes: int) -> str:
    if _size(text) <= limit_bytes:
        return text
    kept = text.encode("utf-8", "replace")[:limit_bytes].decode("utf-8", "ignore")
    return cut_at_word(f"{kept} ", len(kept))


def _in_order(chosen: dict[int, str], count: int) -> Iterable[str]:
    before = -1
    for number in sorted(chosen):
        if number != before + 1:
            yield _GAP
        yield chosen[number]
        before = number
    if before != count - 1:
        yield _GAP


def _size(text: str) -> int:
    return len(text.encode("utf-8", "replace"))
