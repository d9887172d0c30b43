"""Which few memories matter for a query: words and meaning, added with weights.

- Words: BM25 over name, description and body together, the name counting double. A word is worth
  more the fewer memories have it. The score is the share that a memory earns of what the query's
  words are worth together: how much of the query it answers.
- A word that no memory has may be a typo: the most common word one edit away stands in for it, at a
  discount, which is larger if the word is a known one.
- Meaning: the similarity of query and memory beyond what all memories have in common, by word
  vectors and by sentence vectors, each with its weight. A memory without a vector of a kind gets
  what the average memory gets: nothing.
- Newer memories and those about the person come first among equals: a few percent at most.
- `relevance` decides which of the best are shown. A query of stop words finds nothing.

Several indexes are searched as one: what a word is worth, and what all memories have in common, are
computed over all of them, so that their scores can be compared.
"""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import cached_property
from itertools import islice

import msgspec
import numpy as np
from numpy.typing import NDArray

from memoryd.recall.rules.index import Index, IndexEntry
from memoryd.recall.rules.postings import Postings, Scores
from memoryd.recall.rules.relevance import (
    ENOUGH_SUBSTANCE,
    HitEvidence,
    VectorSimilarity,
    rarity,
    relevant_among,
)
from memoryd.recall.rules.vectors import ABSENT, Vector, Vectors, common_part
from memoryd.text.terms import near_misses, spoken_words, term_of, terms_of

SIMILARITY_WEIGHT = {VectorSimilarity.WORDS: 0.5, VectorSimilarity.SENTENCES: 0.8}
TYPO_WEIGHT = 0.8
# Many words are one edit away from an unrelated one; few are other spellings of it.
KNOWN_WORD_EVIDENCE = 0.3
SHORTEST_TYPO = 5
MOST_TYPOS = 3
NEWEST_BONUS = 0.02
HALF_LIFE_SECONDS = 90 * 86_400.0
TYPE_BONUS = {"feedback": 0.01, "user": 0.01}
# So many beyond the limit are considered, since the bonus may lift them.
_SPARE = 5


class Question(msgspec.Struct, frozen=True):
    """A query and, where there are models for it, its unit vectors.

    `unrelated_cosine` is what the sentence model gives for unrelated texts, `substance` how much
    the query says at all, and `familiar` its words that are certainly not typos.
    """

    text: str
    word_vector: Vector | None = None
    sentence_vector: Vector | None = None
    unrelated_cosine: float = 0.0
    substance: float = ENOUGH_SUBSTANCE
    familiar: frozenset[str] = frozenset()


class Share(msgspec.Struct, frozen=True):
    """What one word added to the score; a mistyped one is spelled as the memory has it."""

    term: str
    share: float


class Hit(msgspec.Struct, frozen=True):
    """`score` is `words` and `meaning` together, with the bonus for age and type."""

    key: str
    score: float
    words: float
    meaning: float
    terms: tuple[Share, ...]


class _Candidate(msgspec.Struct, frozen=True):
    part: Index
    entry: IndexEntry
    words: float
    meaning: float

    @property
    def score(self) -> float:
        return self.words + self.meaning


def search(
    parts: Sequence[Index],
    question: Question,
    *,
    limit: int,
    now: float,
    excluded: AbstractSet[str] = frozenset(),
) -> list[Hit]:
    """The relevant memories, best first, at most `limit`; often none."""
    parts = [part for part in parts if len(part)]
    query_words = _QueryWords(parts, question)
    if not query_words.whole_worth:
        return []
    matches = list(_vector_matches(parts, question))
    found = [one for part in parts for one in _best_of(part, query_words, matches, limit, excluded)]
    found.sort(key=lambda one: (-one.score * (1 + _bonus(one.entry, now)), one.entry.key))
    del found[limit:]
    earnings = [query_words.earned(one.part, one.entry) for one in found]
    evidence = [
        _evidence_for(one, earned, question, query_words, matches)
        for one, earned in zip(found, earnings, strict=True)
    ]
    return [
        _hit_of(one, earned, now)
        for one, earned, is_relevant in zip(found, earnings, relevant_among(evidence), strict=True)
        if is_relevant
    ]


class _QueryWords:
    """The words of a query, and what each is worth over all parts."""

    def __init__(self, parts: Sequence[Index], question: Question) -> None:
        self._parts = parts
        self.memories = sum(map(len, parts))
        self._mean_length = _mean_length([part.documents for part in parts])
        self.worths: dict[str, float] = {}
        self._rarities: dict[str, float] = {}
        self.whole_worth = self.whole_rarity = 0.0
        unknown = set()
        for term, times in Counter(terms_of(question.text)).items():
            holders = self._holders_of(term)
            worth, rare = times * self._worth(holders), rarity(holders, self.memories)
            self.whole_worth += worth
            self.whole_rarity += rare
            if holders:
                self.worths[term], self._rarities[term] = worth, rare
            else:
                unknown.add(term)
        if unknown:
            self._add_corrections(unknown, question)

    @cached_property
    def known(self) -> float:
        """The share of the query that some memory has."""
        return sum(self._rarities.values()) / self.whole_rarity

    def scores(self, part: Index) -> Scores:
        """The share of the query's worth that each memory earns, 0 to 1."""
        return part.documents.scores(self.worths, self._mean_length) / self.whole_worth

    def earned(self, part: Index, entry: IndexEntry) -> Mapping[str, float]:
        """What each word of the query earned one memory; the sum is its score."""
        shares = part.documents.shares(entry.slot, self.worths, self._mean_length)
        return {term: share / self.whole_worth for term, share in shares}

    def covered(self, terms: Mapping[str, float]) -> float:
        """The share of the query that a memory with these terms covers."""
        return sum(self._rarities[term] for term in terms) / self.whole_rarity

    def _holders_of(self, term: str) -> int:
        return sum([part.documents.holders_of(term) for part in self._parts])

    def _worth(self, holders: int) -> float:
        return math.log1p((self.memories - holders + 0.5) / (holders + 0.5))

    def _add_corrections(self, unknown: AbstractSet[str], question: Question) -> None:
        words = filter(_may_be_mistyped, dict.fromkeys(spoken_words(question.text)))
        for word in islice((word for word in words if term_of(word) in unknown), MOST_TYPOS):
            corrections = near_misses(word, self._may_begin) - self.worths.keys()
            held = (term for part in self._parts for term in part.documents.held_among(corrections))
            holders, term = max(((self._holders_of(term), term) for term in held), default=(0, ""))
            if holders:
                trust = KNOWN_WORD_EVIDENCE if word in question.familiar else 1.0
                self.worths[term] = TYPO_WEIGHT * self._worth(holders)
                self._rarities[term] = trust * rarity(holders, self.memories)

    def _may_begin(self, letters: str) -> bool:
        return any(part.documents.has_beginning(letters) for part in self._parts)


class _VectorMatch:
    """The query compared with the vectors of all parts, by one kind of vectors."""

    def __init__(
        self, kind: VectorSimilarity, parts: Sequence[Index], query: Vector, floor: float
    ) -> None:
        self.kind = kind
        self._query = query
        self._floor = floor
        self._common = common_part([self.vectors_in(part) for part in parts], query)

    def vectors_in(self, part: Index) -> Vectors:
        return (
            part.sentence_vectors if self.kind is VectorSimilarity.SENTENCES else part.word_vectors
        )

    def scores(self, part: Index) -> Scores:
        capacity = part.documents.capacity
        similarity = self.vectors_in(part).similarity(self._query, self._common, capacity)
        return SIMILARITY_WEIGHT[self.kind] * similarity

    def cosine(self, part: Index, slot: int) -> float:
        """The cosine on a scale where 0 means unrelated, or `ABSENT`."""
        cosine = self.vectors_in(part).cosine(slot, self._query)
        return ABSENT if cosine == ABSENT else (cosine - self._floor) / (1 - self._floor)


def _vector_matches(parts: Sequence[Index], question: Question) -> Iterator[_VectorMatch]:
    """One for each kind of vectors that can be compared, the better kind first."""
    for kind, query, floor in (
        (VectorSimilarity.SENTENCES, question.sentence_vector, question.unrelated_cosine),
        (VectorSimilarity.WORDS, question.word_vector, 0.0),
    ):
        if query is not None:
            match = _VectorMatch(kind, parts, query, floor)
            if any(match.vectors_in(part).fits(query) for part in parts):
                yield match


def _best_of(
    part: Index,
    query_words: _QueryWords,
    matches: Sequence[_VectorMatch],
    limit: int,
    excluded: AbstractSet[str],
) -> Iterator[_Candidate]:
    words = query_words.scores(part)
    meaning = sum((match.scores(part) for match in matches), np.float64(0.0))
    both = words + meaning
    if excluded:
        both[part.slots_of(excluded)] = -np.inf
    best = _largest(both, limit + _SPARE)
    for slot, of_words, of_both in zip(
        best.tolist(), words[best].tolist(), both[best].tolist(), strict=True
    ):
        entry = part.entry_in(slot)
        if entry is not None and entry.key not in excluded:
            yield _Candidate(part, entry, of_words, of_both - of_words)


def _largest(scores: Scores, count: int) -> NDArray[np.intp]:
    if len(scores) <= count:
        return np.arange(len(scores))
    return np.argpartition(scores, -count)[-count:]


def _bonus(entry: IndexEntry, now: float) -> float:
    half_lives = max(now - entry.modified_at, 0.0) / HALF_LIFE_SECONDS
    return NEWEST_BONUS * math.exp2(-half_lives) + TYPE_BONUS.get(entry.type, 0.0)


def _evidence_for(
    one: _Candidate,
    earned: Mapping[str, float],
    question: Question,
    query_words: _QueryWords,
    matches: Sequence[_VectorMatch],
) -> HitEvidence:
    cosines = ((match.kind, match.cosine(one.part, one.entry.slot)) for match in matches)
    kind, cosine = next(
        (found for found in cosines if found[1] != ABSENT), (VectorSimilarity.NONE, 0.0)
    )
    return HitEvidence(
        covered=query_words.covered(earned),
        known=query_words.known,
        kind=kind,
        cosine=cosine,
        memories=query_words.memories,
        substance=question.substance,
    )


def _hit_of(one: _Candidate, earned: Mapping[str, float], now: float) -> Hit:
    shares = sorted((Share(*each) for each in earned.items()), key=lambda share: -share.share)
    score = one.score * (1 + _bonus(one.entry, now))
    return Hit(one.entry.key, score, one.words, one.meaning, tuple(shares))


def _may_be_mistyped(word: str) -> bool:
    return len(word) >= SHORTEST_TYPO and word.isascii() and word.isalpha()


def _mean_length(texts: Sequence[Postings]) -> float:
    size = sum(each.size for each in texts)
    return sum(each.total_length for each in texts) / size if size else 0.0
