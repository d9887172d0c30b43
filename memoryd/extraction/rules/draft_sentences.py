"""The sentences of a memory: where each stands, in which part, and whether it is marked.

Rules
- A body has three parts: the rule, and what follows **Why:** and **How to apply:**.
- A paragraph, a list item and a heading are blocks; a line break inside one is a blank, so that no
  sentence is split by it. Sentences end where prose ends them.
- A sentence that is concluded begins with `(concluded)`. A mark holds for its sentence alone.
"""
# ruff: noqa: RUF001 - wide marks are what is meant

import re
from collections.abc import Collection, Iterator
from typing import Final, Literal

import msgspec

from memoryd.memories.rules.topics import CONCLUDED
from memoryd.text.lazy_regex import late

MARK: Final = CONCLUDED

DraftPart = Literal["rule", "why", "how"]

_LEAD = late(r"[ \t]*(?:(?:[-*+•]|\d{1,2}[.)]|#{1,6}|>)[ \t]+)*")
_BLOCK_START = late(r"[ \t]*(?:[-*+•][ \t]|\d{1,2}[.)][ \t]|#{1,6}[ \t]|>|\||```|~~~)")
_LABEL = late(r"(?:\*\*)?(Why|How to apply):?(?:\*\*)?:?(?=\s|$)[ \t]*", re.IGNORECASE)
_MARKED = late(r"\(concluded\)[ \t:]*", re.IGNORECASE)
_END = late(r"(?<=[.!?…])[\"')\]*_”»]*\s+(?=\S)|(?<=[。！？])\s*(?=\S)")
_ABBREVIATION = late(
    r"(?:^|[\s(])(?:e\.?g|i\.?e|vs|z\.?b|bzw|ca|approx|nr|no|dr|mr|mrs|st|resp|incl|cf|p\.?ex|etc"
    r"|\d{1,2})\.$",
    re.IGNORECASE,
)


class DraftSentence(msgspec.Struct, frozen=True):
    """`start` is where it begins in the body, before a mark if it has one."""

    text: str
    part: DraftPart
    is_marked: bool
    start: int


def sentences_of(body: str) -> list[DraftSentence]:
    found: list[DraftSentence] = []
    part: DraftPart = "rule"
    for start, end in _blocks(body):
        at = _LEAD.match(body, start, end)
        begin = at.end() if at else start
        while label := _LABEL.match(body, begin, end):
            part = "why" if label[1].lower() == "why" else "how"
            begin = label.end()
        found += (_sentence(body, one, part) for one in _pieces(body, begin, end))
    return [one for one in found if one.text]


def known_key(sentence: str) -> str:
    """What two copies of a sentence have in common."""
    return " ".join(sentence.split()).casefold().rstrip(".!。 ")


def marked(body: str, sentences: Collection[DraftSentence]) -> str:
    """The body with these sentences marked."""
    for one in sorted(sentences, key=lambda one: one.start, reverse=True):
        if not one.is_marked:
            body = f"{body[: one.start]}{MARK} {body[one.start :]}"
    return body


def without_mark(text: str) -> str:
    """One line without the mark at its start."""
    return _MARKED.sub("", text.strip(), count=1) if _MARKED.match(text.strip()) else text.strip()


def is_marked(text: str) -> bool:
    return bool(_MARKED.match(text.strip()))


def _blocks(body: str) -> Iterator[tuple[int, int]]:
    """Where paragraphs, list items and headings begin and end."""
    start: int | None = None
    at = 0
    for line in body.splitlines(keepends=True):
        is_blank = not line.strip()
        opens = bool(_BLOCK_START.match(line) or _LABEL.match(line.lstrip()))
        if start is not None and (is_blank or opens):
            yield start, at
            start = None
        if start is None and not is_blank:
            start = at
        at += len(line)
        if start is not None and line.lstrip().startswith("#"):
            yield start, at
            start = None
    if start is not None:
        yield start, at


def _pieces(body: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    for cut in _END.finditer(body, start, end):
        if not _ABBREVIATION.search(body, max(start, cut.start() - 10), cut.start()):
            yield start, cut.start()
            start = cut.end()
    yield start, end


def _sentence(body: str, span: tuple[int, int], part: DraftPart) -> DraftSentence:
    text = body[slice(*span)]
    blank = len(text) - len(text.lstrip())
    text = " ".join(text.split())
    bare = without_mark(text)
    return DraftSentence(bare, part, bare != text, span[0] + blank)
