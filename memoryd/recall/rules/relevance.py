"""Whether a memory has anything to do with a query at all.

Ranking always finds a best memory, but there may be no relevant one. The evidence for a memory is
compared with what the best of so many would have by chance:

- covered: the share of the query's words, weighted by rarity, that the memory has;
- known: the share of them that any memory has. A query in words never seen here is about something
  else, even if one of its words is known;
- cosine: the similarity of the query and the memory, if there are vectors;
- substance: how much the query says. Static vectors are longer the more specific their word is:
  that of "thanks" is short, that of "postgres" long, and those of a meaningful sentence add up.
  "Go on" and "fix it" say too little to be about any memory, unless it has these very words;
- the number of memories: the best of many is similar to anything.

A memory that shares neither a word nor a meaning with the query is never shown. One that misses the
bar is shown all the same, unless it misses it by far (`_LENIENCE`): who asks can tell what helps,
and what is asked in other words or in another language never has much evidence. A query that says
too little has no such credit unless some memory passes: then it is about something remembered.

This is about queries that somebody asked. What is shown unasked is up to `gate`.

The weights come from a logistic regression that separates memories marked as relevant from the best
answers to queries about other things: conversations, code documentation and project notes, with 3
to 300 memories each.
"""

import math
from collections.abc import Sequence
from enum import StrEnum

import msgspec

# No larger store was measured, and a bar that kept rising would hide relevant memories.
_LARGEST_SEEN = 500
# A memory that shares no word with the query must be at least this similar to it.
_LEAST_COSINE = 0.05
# A word's rarity is computed as if there were so many more memories; two alone would say nothing.
_UNSEEN_MEMORIES = 50
# As long as the vectors of two specific words together; more is not more evidence.
ENOUGH_SUBSTANCE = 20.0
# Below this no query is about anything: "ok", "go ahead", "looks good", "try again".
LEAST_SUBSTANCE = 12.0
# How far a memory may miss the bar: a hundred and fifty to one.
_LENIENCE = 5.0


class VectorSimilarity(StrEnum):
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
    """Whether to show each memory of an answer to somebody who asked."""
    surpluses = [surplus(one) for one in evidence]
    says_enough = any(one.substance >= LEAST_SUBSTANCE for one in evidence)
    if not says_enough and max(surpluses, default=-math.inf) < 0:
        return [False] * len(evidence)
    return [one >= -_LENIENCE for one in surpluses]


def surplus(evidence: HitEvidence) -> float:
    """How far the evidence for a memory outweighs chance."""
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
    """How much a word says, given how many of the memories have it."""
    others = memories + _UNSEEN_MEMORIES - holders
    return math.log1p((others + 0.5) / (holders + 0.5))
