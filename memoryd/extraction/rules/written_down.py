"""What CLAUDE.md, rules and imports already say, so that no memory repeats it.

Rules
- Instructions are compared sentence by sentence; headings and code do not count as said.
- A sentence is known if an instruction has the same words in a row, or if every word that counts is
  in an instruction and these are at least half of it.
- A negation or a number that only one of them has makes it another sentence; so does another order
  of words where the order decides ("pnpm, not npm").
- Only so much is compared: instructions may come with a repository, in any size.
"""

from collections.abc import Iterable, Iterator
from functools import cache
from typing import Final

import msgspec

from memoryd.extraction.rules.restatement import is_negated, numbers_in, subject_of
from memoryd.memories.rules.instruction_text import prose_lines
from memoryd.text.lazy_regex import late
from memoryd.text.prose import plain, sentences
from memoryd.text.shorten import cut_at_line
from memoryd.text.terms import terms_of

READ_CHARACTERS: Final = 300_000
LINE_CHARACTERS: Final = 4000
LINES_MAX: Final = 4000
EXCERPT_CHARACTERS: Final = 12_000
CUT: Final = "[cut]"
LEAST_TERMS: Final = 2
LEAST_WORDS: Final = 3

_WORD = late(r"\w+")
# Where they stand between two words, swapping the two says something else.
_ORDERED = late(
    r"\b(?:not|instead|over|than|before|after|from|to|rather|except|without|but|nicht|statt|vor"
    r"|nach)\b"
)
# They ask for memory and say nothing about the matter.
_ASKING = "remember note mind forget future reference please always"


class KnownLine(msgspec.Struct, frozen=True):
    """One sentence of an instruction file, ready to be compared."""

    text: str
    words: str
    subject: frozenset[str]
    order: tuple[str, ...]
    numbers: frozenset[str]
    is_negated: bool
    is_ordered: bool


class WrittenDown(msgspec.Struct, frozen=True):
    """All of them; empty where there are no instruction files."""

    lines: tuple[KnownLine, ...] = ()

    def line_saying(self, sentence: str) -> str:
        """The instruction that already says it; empty if none does."""
        if not self.lines:
            return ""
        said = known_line(sentence)
        return next((line.text for line in self.lines if _covers(line, said)), "")


def written_down(texts: Iterable[str]) -> WrittenDown:
    """Accepts any texts; reads the first ones if there is too much."""
    lines: list[KnownLine] = []
    left = READ_CHARACTERS
    for text in texts:
        for sentence in _sentences(text[:left]):
            if len(lines) >= LINES_MAX:
                return WrittenDown(tuple(lines))
            lines.append(known_line(sentence))
        left -= len(text)
        if left <= 0:
            break
    return WrittenDown(tuple(lines))


def excerpt(texts: Iterable[str], characters: int = EXCERPT_CHARACTERS) -> str:
    """What a model is shown of these texts: the last ones weigh most, so the first are cut."""
    shown: list[str] = []
    left = characters
    for text in reversed(list(texts)):
        cut = cut_at_line(text.strip(), left, CUT) if left > 0 else ""
        left -= len(cut)
        if cut:
            shown.append(cut)
    return "\n\n".join(reversed(shown))


def known_line(sentence: str) -> KnownLine:
    folded = plain(sentence).replace("'", "").replace("\u2019", "")
    subject = subject_of(sentence) - _asking()
    return KnownLine(
        text=sentence,
        words=" ".join(_WORD.findall(folded)),
        subject=subject,
        order=tuple(term for term in terms_of(sentence) if term in subject),
        numbers=numbers_in(sentence),
        is_negated=is_negated(sentence),
        is_ordered=bool(_ORDERED.search(folded)),
    )


def _covers(line: KnownLine, said: KnownLine) -> bool:
    if line.is_negated != said.is_negated or not said.numbers <= line.numbers:
        return False
    if said.words == line.words:
        return bool(said.words)
    if said.words.count(" ") + 1 >= LEAST_WORDS and f" {said.words} " in f" {line.words} ":
        return True
    if len(said.subject) < LEAST_TERMS or not said.subject <= line.subject:
        return False
    if len(said.subject) * 2 < len(line.subject):
        return False
    is_ordered = said.is_ordered or line.is_ordered
    return not is_ordered or _follows(said.order, line.order)


def _follows(order: tuple[str, ...], line: tuple[str, ...]) -> bool:
    """Whether the terms come in the line in the same order."""
    rest = iter(line)
    return all(term in rest for term in order)


def _sentences(text: str) -> Iterator[str]:
    for line in prose_lines(text):
        if not line.lstrip().startswith("#"):
            yield from (one.text for one in sentences(line[:LINE_CHARACTERS]))


@cache
def _asking() -> frozenset[str]:
    return frozenset(terms_of(_ASKING))
