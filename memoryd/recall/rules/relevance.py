"""Whether a memory has anything to do with a query at all.

Ranking always finds a best memory; most of what a person types has none. A memory is shown when
the evidence for it outweighs what the best of so many would have by chance:

- covered: the share of the query's words, the rarer the heavier, that the memory holds;
- known: the share of them that any memory holds. A query in words that were never seen here is
  about something else, even if one of its words is;
- likeness: the cosine of the query and the memory, where vectors are there;
- substance: how much the query says. Static vectors are the longer the more their word tells: that
  of "thanks" is short, that of "postgres" long, and those of a sentence that says something add up.
  "Go on" and "fix it" say too little to be about any memory, unless they are its very words;
- the number of memories: the best of many is like anything.

A memory that shares neither a word nor a meaning with the query is never shown. One that alone
would just miss the bar is shown in the company of one that passes: the query is about something
that is remembered, so the doubt whether it is weighs less.

The weights are those of a logistic regression that told memories marked as relevant from the best
answers to queries about other things: conversations, documentation of code and notes on projects,
from 3 to 300 memories each. The bar stands where hardly a relevant one is lost.
"""

import math
from collections.abc import Sequence
from enum import Enum

import msgspec

# Beyond this no size was seen, and a bar that went on rising would hide what is there.
_LARGEST_SEEN = 500
# A memory that shares no word with the query must at least be this like it.
_LEAST_COSINE = 0.3
# A word's rarity is judged as if there were so many other memories; two alone would say nothing.
_UNSEEN_MEMORIES = 50
# As long as the vectors of two telling words together; more of it is no more evidence.
ENOUGH_SUBSTANCE = 20.0
# Below this no query is about anything: "ok", "go ahead", "looks good", "try again".
SOME_SUBSTANCE = 12.0
# By so much another memory may miss the bar when one has passed it.
_COMPANY = 1.5


class VectorSimilarity(Enum):
    """Which vectors the cosine comes from; each kind has its own scale."""

    NONE = "none"
    WORDS = "words"
    SENTENCES = "sentences"


class HitEvidence(msgspec.Struct, frozen=True):
    covered: float
    known: float
    kind: VectorSimilarity
    cosine: float
    memories: int
    substance: float = ENOUGH_SUBSTANCE


class _Weights(msgspec.Struct, frozen=True):
    covered: float
    known: float
    cosine: float
    substance: float
    crowd: float
    bar: float


_WEIGHTS = {
    VectorSimilarity.NONE: _Weights(5.5, 6.5, 0.0, 0.0, 0.53, 0.4),
    VectorSimilarity.WORDS: _Weights(3.1, 4.2, 13.5, 0.74, 0.81, 17.4),
    VectorSimilarity.SENTENCES: _Weights(2.4, 3.0, 14.8, 0.37, 0.82, 9.6),
}


def relevant_among(evidence: Sequence[HitEvidence]) -> list[bool]:
    """For each memory of an answer, whether it is shown."""
    surpluses = [surplus(one) for one in evidence]
    bar = -_COMPANY if max(surpluses, default=-math.inf) >= 0 else 0.0
    return [one >= bar for one in surpluses]


def surplus(evidence: HitEvidence) -> float:
    """By how much the evidence for a memory outweighs chance."""
    if evidence.covered <= 0 and evidence.cosine < _LEAST_COSINE:
        return -math.inf
    weights = _WEIGHTS[evidence.kind]
    found = (
        weights.covered * evidence.covered
        + weights.known * evidence.known
        + weights.cosine * evidence.cosine
        + weights.substance * min(evidence.substance, ENOUGH_SUBSTANCE)
    )
    chance = weights.crowd * math.log(min(max(evidence.memories, 1), _LARGEST_SEEN))
    return found - chance - weights.bar


def rarity(holders: int, memories: int) -> float:
    """How much a word says that so many of the memories hold."""
    others = memories + _UNSEEN_MEMORIES - holders
    return math.log1p((others + 0.5) / (holders + 0.5))
