"""Whether a memory has anything to do with a query at all.

Ranking always finds a best memory; most of what a person types has none. A memory is shown when
the evidence for it outweighs what the best of so many would have by chance:

- covered: the share of the query's words, the rarer the heavier, that the memory holds;
- known: the share of them that any memory holds. A query in words that were never seen here is
  about something else, even if one of its words is;
- likeness: the cosine of the query and the memory, where vectors are there;
- the number of memories: the best of many is like anything.

A memory that shares neither a word nor a meaning with the query is never shown.

The weights are those of a logistic regression that told memories marked as relevant from the best
answers of memories about other things, at sizes from 3 to 300 memories. The bar stands where 99 of
100 relevant ones pass. Learnt on conversations and on technical text apart, they came out alike.
"""

import math
from enum import Enum

import msgspec

# Beyond this no size was seen, and a bar that went on rising would hide what is there.
_LARGEST_SEEN = 500
# A memory that shares no word with the query must at least be this like it.
_LEAST_COSINE = 0.3
# A word's rarity is judged as if there were so many other memories; two alone would say nothing.
_UNSEEN_MEMORIES = 50


class Likeness(Enum):
    """Which vectors the cosine comes from; each kind has its own scale."""

    NONE = "none"
    WORDS = "words"
    SENTENCES = "sentences"


class Evidence(msgspec.Struct, frozen=True):
    covered: float
    known: float
    kind: Likeness
    cosine: float
    memories: int


class _Weights(msgspec.Struct, frozen=True):
    covered: float
    known: float
    cosine: float
    crowd: float
    bar: float


_WEIGHTS = {
    Likeness.NONE: _Weights(covered=5.5, known=6.5, cosine=0.0, crowd=0.53, bar=0.4),
    Likeness.WORDS: _Weights(covered=3.1, known=4.6, cosine=12.2, crowd=0.76, bar=1.7),
    Likeness.SENTENCES: _Weights(covered=2.1, known=4.5, cosine=14.5, crowd=0.63, bar=3.7),
}


def is_relevant(evidence: Evidence) -> bool:
    has_something = evidence.covered > 0 or evidence.cosine >= _LEAST_COSINE
    return has_something and surplus(evidence) >= 0


def surplus(evidence: Evidence) -> float:
    """By how much the evidence for a memory outweighs chance."""
    weights = _WEIGHTS[evidence.kind]
    found = (
        weights.covered * evidence.covered
        + weights.known * evidence.known
        + weights.cosine * evidence.cosine
    )
    chance = weights.crowd * math.log(min(max(evidence.memories, 1), _LARGEST_SEEN))
    return found - chance - weights.bar


def rarity(holders: int, memories: int) -> float:
    """How much a word says that so many of the memories hold."""
    others = memories + _UNSEEN_MEMORIES - holders
    return math.log1p((others + 0.5) / (holders + 0.5))
