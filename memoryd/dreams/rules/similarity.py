"""Whether two memories say the same thing, with enough certainty that a program may merge them.

It is better to keep two similar memories than to merge two that differ, so a word on one side never
counts as another word on the other side, however close their meanings: `staging` is not
`production`. The rules:

- Same type, and the same `valid_until`.
- The same text, apart from case, spaces and punctuation; or statements (the part before the first
  blank line or `**Why:**`) of which one has all content words of the other, in the same order, and
  few others. How many others are allowed depends on whether recall's vectors are close too. A word
  that one has twice ("the export exporter") is not all in another that has it once.
- The signs agree: negations, permissions, tenses, and words such as before, until, more, other.
- The specifics agree: of numbers, dates, names and identifiers anywhere in the texts, at most one
  side has some that the other lacks.
- The titles agree: where each has a word that the other memory lacks, they are about two things,
  unless the titles share no word and the text is long enough to stand on its own.
- Scripts written without spaces are only compared whole: their words cannot be separated.
"""

import re
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from functools import cache, cached_property
from typing import Final

import msgspec

from memoryd.extraction.rules.restatement import each_has_more
from memoryd.memories.rules.topics import Topic
from memoryd.text.lazy_regex import late
from memoryd.text.terms import STOP_WORDS, terms_of

Similarity = Callable[[str, str], float | None]
"""How close two texts are in meaning, from 0 to 1; None if unknown."""

SHARED_ENOUGH = 0.7
SHARED_ENOUGH_IF_CLOSE = 0.5
CLOSE = 0.8
FAR = 0.5
FEWEST_TERMS = 2
SPEAKS_FOR_ITSELF = 4

_NOT: Final = (
    "not no never none nothing nobody nor neither without avoid avoids avoiding cannot instead"
    " rather over except unless stop forbid forbidden forbids ban banned skip exclude excluding"
    " nicht kein keine keinen keiner nie niemals ohne statt pas jamais sans aucun sin nunca ninguna"
    " non mai senza não sem niet geen nooit zonder bez nigdy не нет никогда без"
)
_OTHER_SIGNS: Final = (
    "before after above below under up down until till more less most least off out some"
    " same other another only first last earlier later than between against while again too both"
    " either once twice he she his her him hers yet still already anymore longer"
)
_SIGNS: Final = (
    {word: word for word in _OTHER_SIGNS.split()}
    | dict.fromkeys(_NOT.split(), "not")
    | dict.fromkeys(("can", "could", "may", "might", "optional", "allowed"), "may")
    | dict.fromkeys(("was", "were", "had", "did", "formerly", "previously"), "was")
    | dict.fromkeys(("will", "shall", "soon"), "will")
)
# Words that make a statement a rule, or more polite, but do not change what it says.
_LIGHT: Final = (
    "always use using must should please prefer preferred prefers want wants wanted need needs"
    " needed make makes sure ensure every each all any remember keep note like likes really very"
    " whenever project repo repository just"
)
_DAYS: Final = (
    "monday tuesday wednesday thursday friday saturday sunday january february march april may june"
    " july august september october november december"
)
_COUNTS: Final = "two three four five six seven eight nine ten eleven twelve"
_DAYS_AND_COUNTS: Final = frozenset(
    [*_DAYS.split(), *(f"{day}s" for day in _DAYS.split()), *_COUNTS.split()]
)
_WHY = late(r"\n[ \t]*\n|\n[ \t]*\*\*(?:Why|How to apply):\*\*", re.IGNORECASE)
_MARKS = late(r"[^\w\s]+|_")
# The same for ASCII, which is looked up instead of searched.
_NO_ASCII_MARKS: Final = str.maketrans(
    {chr(code): " " for code in range(128) if not chr(code).isalnum() and not chr(code).isspace()}
)
_WORD = late(r"[^\W_]+(?:['’][^\W_]+)*")  # noqa: RUF001 - the typographic apostrophe is intended
_SHORT_NOT = late("n['’]t$")  # noqa: RUF001 - as above
_TOKEN = late(r"`[^`\n]*`|[^\s`]+")
_LOOKS_SPECIFIC = late(r"\d|[^\W_][./_@:-]+[^\W_]|[a-z][A-Z]|^[A-Z]{2}")
_UNSPACED = late("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3041-\u30ff\u3400-\u9fff\uac00-\ud7af]")


class ComparedMemory(msgspec.Struct, frozen=True, dict=True):
    """One memory prepared for comparison; expensive parts are computed once."""

    file: str
    topic: Topic

    @cached_property
    def bare(self) -> str:
        """The body without case, punctuation and layout."""
        return flattened(self.topic.body)

    @cached_property
    def statement(self) -> str:
        return _WHY.split(self.topic.body.strip(), maxsplit=1)[0]

    @cached_property
    def _all_terms(self) -> list[str]:
        return terms_with_content(self.statement)

    @cached_property
    def terms(self) -> tuple[str, ...]:
        """Each once, in order of first appearance."""
        return tuple(dict.fromkeys(self._all_terms))

    @cached_property
    def term_counts(self) -> Counter[str]:
        return Counter(self._all_terms)

    @cached_property
    def term_set(self) -> frozenset[str]:
        return frozenset(self.terms)

    @cached_property
    def signs(self) -> Counter[str]:
        return signs_of(self.statement)

    @cached_property
    def specifics(self) -> frozenset[str]:
        return specifics_of(f"{self.topic.description}\n{self.topic.body}")

    @cached_property
    def everything(self) -> frozenset[str]:
        topic = self.topic
        return frozenset(terms_of(f"{topic.name} {topic.description} {topic.body}"))

    @cached_property
    def title_terms(self) -> frozenset[str]:
        return frozenset(content_terms(self.topic.name))


def are_same(
    one: ComparedMemory, other: ComparedMemory, similarity: Similarity | None = None
) -> bool:
    """Whether both say the same; symmetric."""
    if one.topic.type != other.topic.type or one.topic.valid_until != other.topic.valid_until:
        return False
    if not one.bare or not other.bare or _subjects_differ(one, other):
        return False
    if one.bare == other.bare:
        return True
    if one.signs != other.signs or _UNSPACED.search(one.statement + other.statement):
        return False
    poorer, richer = sorted((one.terms, other.terms), key=len)
    if len(poorer) < FEWEST_TERMS and poorer != richer:
        return False
    shared_needed = _shared_needed(one, other, similarity)
    return (
        shared_needed is not None
        and len(poorer) >= max(1, shared_needed * len(richer))
        and _in_order(poorer, richer)
        and not each_has_more(one.term_counts, other.term_counts)
    )


def meaning_of(line: str) -> Hashable:
    """Equal for two lines that certainly say the same, even if worded differently."""
    terms = content_terms(line)
    if not terms or _UNSPACED.search(line):
        return flattened(line)
    return terms, frozenset(signs_of(line).items()), specifics_of(line)


def flattened(text: str) -> str:
    if text.isascii():
        return " ".join(text.lower().translate(_NO_ASCII_MARKS).split())
    return " ".join(_MARKS.sub(" ", text.casefold()).split())


def content_terms(text: str) -> tuple[str, ...]:
    """The terms that say what a text is about, in order of first appearance."""
    return tuple(dict.fromkeys(terms_with_content(text)))


def terms_with_content(text: str) -> list[str]:
    without = _no_content()
    return [term for term in terms_of(text) if term not in without]


@cache
def _no_content() -> frozenset[str]:
    return frozenset(_SIGNS) | frozenset(terms_of(f"{' '.join(_SIGNS)} {_LIGHT}"))


def signs_of(text: str) -> Counter[str]:
    found = Counter[str]()
    words = [word.casefold() for word in _WORD.findall(text)]
    for word, following in zip(words, [*words[1:], ""], strict=True):
        if _SHORT_NOT.search(word):
            found["not"] += 1
        elif word == "used" and following == "to":
            found["was"] += 1
        elif word in _SIGNS:
            found[_SIGNS[word]] += 1
    return found


def specifics_of(text: str) -> frozenset[str]:
    """Numbers, dates, names and identifiers, as far as they can be recognised."""
    found = {word for word in map(str.casefold, _WORD.findall(text)) if word in _DAYS_AND_COUNTS}
    for line in text.splitlines():
        before = "."
        for token in _TOKEN.findall(line):
            bare = token.strip("`.,:;!?()[]{}<>\"'*_-")
            is_name = bare[:1].isupper() and before[-1] not in ".!?:*"
            # Most are words in lower case, which cannot be.
            may_be = not (bare.isalpha() and bare.islower())
            if is_name or token[0] == "`" or (may_be and _LOOKS_SPECIFIC.search(bare)):
                found.add(bare.casefold())
            before = token
    return frozenset(found) - STOP_WORDS


def _subjects_differ(one: ComparedMemory, other: ComparedMemory) -> bool:
    if one.specifics - other.specifics and other.specifics - one.specifics:
        return True
    if not (one.title_terms - other.everything and other.title_terms - one.everything):
        return False
    is_short = min(len(one.terms), len(other.terms)) < SPEAKS_FOR_ITSELF
    return is_short or not one.title_terms.isdisjoint(other.title_terms)


def _shared_needed(
    one: ComparedMemory, other: ComparedMemory, similarity: Similarity | None
) -> float | None:
    """How much of the richer statement the poorer one must have; None if they are too different."""
    if one.title_terms == other.title_terms:
        return SHARED_ENOUGH_IF_CLOSE
    close = similarity(one.statement, other.statement) if similarity else None
    if close is None:
        return SHARED_ENOUGH
    if close < FAR:
        return None
    return SHARED_ENOUGH_IF_CLOSE if close >= CLOSE else SHARED_ENOUGH


def _in_order(poorer: Sequence[str], richer: Sequence[str]) -> bool:
    """Whether the richer contains all terms of the poorer, in the same order."""
    rest = iter(richer)
    return all(term in rest for term in poorer)
