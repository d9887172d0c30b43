"""Whether two memories say the same thing, so surely that a program may merge them.

Better to leave two alike than to merge two that differ, so a word that stands on one side is never
taken for another one on the other side, however close they are in meaning: `staging` is no
`production`. The rules:

- Same type, and the same `valid_until`.
- The same text, but for case, spaces and marks; or statements (the part before the first blank line
  or `**Why:**`) of which one holds all content words of the other, in the same order, and little
  else. How much else is allowed depends on whether the recall's vectors find them close too.
- The signs agree: negations, permissions, tenses, and words such as before, until, more, other.
- What is specific agrees: of numbers, dates, names and identifiers anywhere in them, at most one
  side has some that the other lacks.
- The titles agree: where each has a word that the other memory lacks, they are about two things,
  unless they have nothing in common and the text is long enough to speak for itself.
- Scripts that are written without spaces are only compared whole: their words cannot be told.
"""

import re
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from functools import cache, cached_property
from typing import Final

import msgspec

from memoryd.memories.rules.topics import Topic
from memoryd.text.lazy_regex import late
from memoryd.text.terms import STOP_WORDS, terms_of

Similarity = Callable[[str, str], float | None]
"""How close two texts are in meaning, from 0 to 1; None where nobody can tell."""

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
# Words that make a rule of a statement, or politer, and change nothing about what it says.
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
_WORD = late(r"[^\W_]+(?:['’][^\W_]+)*")  # noqa: RUF001 - the typographic apostrophe is meant
_SHORT_NOT = late("n['’]t$")  # noqa: RUF001 - as above
_TOKEN = late(r"`[^`\n]*`|[^\s`]+")
_LOOKS_SPECIFIC = late(r"\d|[^\W_][./_@:-]+[^\W_]|[a-z][A-Z]|^[A-Z]{2}")
_UNSPACED = late("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3041-\u30ff\u3400-\u9fff\uac00-\ud7af]")


class ComparedMemory(msgspec.Struct, frozen=True, dict=True):
    """One memory as it is compared; what is costly is worked out once."""

    file: str
    topic: Topic

    @cached_property
    def bare(self) -> str:
        """The body without case, marks and the way it is laid out."""
        return flattened(self.topic.body)

    @cached_property
    def statement(self) -> str:
        return _WHY.split(self.topic.body.strip(), maxsplit=1)[0]

    @cached_property
    def terms(self) -> tuple[str, ...]:
        return content_terms(self.statement)

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
    """Whether both say the same; the order of the two does not matter."""
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
    )


def meaning_of(line: str) -> Hashable:
    """Equal for two lines that surely say the same, though they may be worded differently."""
    terms = content_terms(line)
    if not terms or _UNSPACED.search(line):
        return flattened(line)
    return terms, frozenset(signs_of(line).items()), specifics_of(line)


def flattened(text: str) -> str:
    return " ".join(_MARKS.sub(" ", text.casefold()).split())


def content_terms(text: str) -> tuple[str, ...]:
    """The terms that say what a text is about, in their order, each at its first place."""
    without = _no_content()
    return tuple(dict.fromkeys(term for term in terms_of(text) if term not in without))


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
    """Numbers, dates, names and identifiers, as far as their looks betray them."""
    found = {word for word in map(str.casefold, _WORD.findall(text)) if word in _DAYS_AND_COUNTS}
    for line in text.splitlines():
        before = "."
        for token in _TOKEN.findall(line):
            bare = token.strip("`.,:;!?()[]{}<>\"'*_-")
            is_name = bare[:1].isupper() and before[-1] not in ".!?:*"
            if is_name or token[0] == "`" or _LOOKS_SPECIFIC.search(bare):
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
    """How much of the richer statement the poorer one must have; None when they are too far."""
    if one.title_terms == other.title_terms:
        return SHARED_ENOUGH_IF_CLOSE
    close = similarity(one.statement, other.statement) if similarity else None
    if close is None:
        return SHARED_ENOUGH
    if close < FAR:
        return None
    return SHARED_ENOUGH_IF_CLOSE if close >= CLOSE else SHARED_ENOUGH


def _in_order(poorer: Sequence[str], richer: Sequence[str]) -> bool:
    """Whether all of the poorer's terms come in the richer, one after the other."""
    rest = iter(richer)
    return all(term in rest for term in poorer)
