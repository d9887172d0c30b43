"""Which few memories matter for a query: words and meaning, added with weights.

- Words: BM25 over name, description and body together, the name counting double. A word is worth
  more the fewer memories have it. The score is the share that a memory earns of what the query's
  words are worth together: how much of the query it answers.
- A word that no memory has may be a typo: the most common word one edit away stands in for it, at a
  discount, which is larger if the word is a known one.
- Meaning: the similarity of query and memory beyond what all memories have in common, by word
  vectors and by sentence vectors, each with its weight. A memory without a vector of a kind gets
  what the average memory gets: nothing. A large store uses words alone until most have theirs.
- Newer memories and those about the person come first among equals: a few percent at most.
- `relevance` decides which of the best are shown to somebody who asks, `gate` which are worth
  showing to somebody who does not. A query of stop words finds nothing.

Several indexes are searched as one: what a word is worth, and what all memories have in common, are
computed over all of them, so that their scores can be compared.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import partial
from operator import itemgetter
from typing import NamedTuple, TypeVar

import msgspec
import numpy as np
from numpy.typing import NDArray

from memoryd.recall.rules.background import Background
from memoryd.recall.rules.byte_rows import Vector
from memoryd.recall.rules.gate import evidence_for, prompt_weights, worth_showing
from memoryd.recall.rules.index import Index, IndexEntry
from memoryd.recall.rules.largest import Numbers, places_near_largest, places_of_largest
from memoryd.recall.rules.query_words import QueryWords
from memoryd.recall.rules.relevance import (
    ENOUGH_SUBSTANCE,
    HitEvidence,
    VectorSimilarity,
    relevant_among,
)
from memoryd.recall.rules.vectors import ABSENT, Comparison, Vectors, wanted_by

Of = TypeVar("Of")

SIMILARITY_WEIGHT = {VectorSimilarity.WORDS: 0.8, VectorSimilarity.SENTENCES: 0.8}
LARGE_STORE = 2_000
ENOUGH_VECTORS = 0.75
NEWEST_BONUS = 0.02
HALF_LIFE_SECONDS = 90 * 86_400.0
TYPE_BONUS = {"feedback": 0.01, "user": 0.01}
# By short vectors, a score is off by some hundredths, and by more where query and memory are about
# something else than the others. Those further below the best are not compared whole, and at most
# so many are, or so many for each result if that is more.
_FAR = 0.14
_MOST_COMPARED = 1_024
_MOST_FOR_EACH = 10
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


class Hit(msgspec.Struct, frozen=True):
    """`score` is `words` and `meaning` together, with the bonus for age and type.

    `terms` is what each word added to it, most first; a mistyped one is spelled as the memory has
    it.
    """

    key: str
    score: float
    words: float
    meaning: float
    terms: Mapping[str, float]


class _Candidate(NamedTuple):
    """`score` is the whole one, with the bonus."""

    part: Index
    entry: IndexEntry
    words: float
    meaning: float
    score: float


def search(
    parts: Sequence[Index],
    question: Question,
    *,
    limit: int,
    now: float,
    excluded: AbstractSet[str] = frozenset(),
) -> list[Hit]:
    """The relevant memories for somebody who asks, best first, at most `limit`."""
    ranked = _Ranked(parts, question, limit=limit, now=now, excluded=excluded)
    found, query_words = ranked.found, ranked.query_words
    earnings = ranked.for_each(query_words.earned)
    by_match = [(match.kind, ranked.for_each(match.cosines)) for match in ranked.matches]
    evidence = [
        _evidence_for(earned, question, query_words, [(kind, of[at]) for kind, of in by_match])
        for at, earned in enumerate(earnings)
    ]
    return [
        _hit_of(one, earned)
        for one, earned, is_relevant in zip(found, earnings, relevant_among(evidence), strict=True)
        if is_relevant and one.score > 0  # below that it speaks of something else
    ]


def search_unasked(
    parts: Sequence[Index],
    question: Question,
    background: Background,
    *,
    limit: int,
    now: float,
    excluded: AbstractSet[str] = frozenset(),
) -> list[Hit]:
    """The memories worth showing to somebody who did not ask; mostly none."""
    ranked = _Ranked(parts, question, limit=limit, now=now, excluded=excluded)
    prompt = prompt_weights(question.text, background, ranked.query_words.stand_ins)
    of_prompt = ranked.for_each(partial(evidence_for, prompt))
    evidence = [(own, one.part.bar) for own, one in zip(of_prompt, ranked.found, strict=True)]
    worth_it = worth_showing(evidence)
    if not any(worth_it):
        return []
    earnings = ranked.for_each(ranked.query_words.earned)
    return [
        _hit_of(one, earned)
        for one, earned, is_worth_it in zip(ranked.found, earnings, worth_it, strict=True)
        if is_worth_it
    ]


class _Ranked:
    """The best memories of all parts, relevant or not."""

    def __init__(
        self,
        parts: Sequence[Index],
        question: Question,
        *,
        limit: int,
        now: float,
        excluded: AbstractSet[str],
    ) -> None:
        self._parts = parts = [part for part in parts if len(part)]
        self.query_words = QueryWords(parts, question.text, question.familiar)
        self.matches = list(_vector_matches(parts, question))
        found: list[tuple[float, str, _Candidate]] = []
        if self.query_words.whole_worth:
            for part in parts:
                found += _best_of(part, self.query_words, self.matches, limit, excluded, now)
        found.sort(key=itemgetter(0, 1))
        self.found = [one for _, _, one in found[:limit]]

    def for_each(self, of_slots: Callable[[Index, Sequence[int]], Sequence[Of]]) -> list[Of]:
        """What is asked of each memory that was found, all those of a part at once."""
        if not self.found:
            return []
        if len(self._parts) == 1:
            return list(of_slots(self._parts[0], [one.entry.slot for one in self.found]))
        parts = {id(one.part): one.part for one in self.found}
        answers = {
            id_: iter(of_slots(part, [one.entry.slot for one in self.found if one.part is part]))
            for id_, part in parts.items()
        }
        return [next(answers[id(one.part)]) for one in self.found]


class _VectorMatch:
    """The query compared with the vectors of all parts, by one kind of vectors."""

    def __init__(
        self, kind: VectorSimilarity, parts: Sequence[Index], query: Vector, floor: float
    ) -> None:
        self.kind = kind
        self._query = query
        self._floor = floor
        # What is compared with it is weighted then.
        of_parts = [self.vectors_in(part) for part in parts]
        self._wanted = wanted_by(query, of_parts, SIMILARITY_WEIGHT[kind])

    def vectors_in(self, part: Index) -> Vectors:
        return (
            part.sentence_vectors if self.kind is VectorSimilarity.SENTENCES else part.word_vectors
        )

    def compared(self, part: Index) -> Comparison:
        return Comparison(self.vectors_in(part), self._wanted, part.documents.capacity)

    def cosines(self, part: Index, slots: Sequence[int]) -> list[float]:
        """The cosines on a scale where 0 means unrelated, or `ABSENT`."""
        return [
            ABSENT if cosine == ABSENT else (cosine - self._floor) / (1 - self._floor)
            for cosine in self.vectors_in(part).cosines(slots, self._query)
        ]


def _vector_matches(parts: Sequence[Index], question: Question) -> Iterator[_VectorMatch]:
    """One for each kind of vectors that can be compared, the better kind first."""
    for kind, query, floor in (
        (VectorSimilarity.SENTENCES, question.sentence_vector, question.unrelated_cosine),
        (VectorSimilarity.WORDS, question.word_vector, 0.0),
    ):
        if query is not None:
            match = _VectorMatch(kind, parts, query, floor)
            fitting = [vectors for vectors in map(match.vectors_in, parts) if vectors.fits(query)]
            if fitting and _are_enough(sum(map(len, parts)), sum(map(len, fitting))):
                yield match


def _are_enough(memories: int, with_vectors: int) -> bool:
    """Whether vectors help: while a large store is given its vectors, those that have one win."""
    return memories <= LARGE_STORE or with_vectors >= ENOUGH_VECTORS * memories


def _best_of(
    part: Index,
    query_words: QueryWords,
    matches: Sequence[_VectorMatch],
    limit: int,
    excluded: AbstractSet[str],
    now: float,
) -> Iterator[tuple[float, str, _Candidate]]:
    """The best entries of a part, each behind what it is sorted by."""
    words = query_words.scores(part)
    compared = [match.compared(part) for match in matches]
    both: Numbers = words.astype(np.float32) if compared else words.copy()
    for each in compared:
        both += each.similarity
    if excluded:
        both[part.slots_of(excluded)] = -np.inf
    best = _best_places(both, compared, limit + _SPARE)
    for slot, of_words, of_both in zip(
        best.tolist(), words[best].tolist(), both[best].tolist(), strict=True
    ):
        entry = part.entry_in(slot)
        if entry is not None and entry.key not in excluded:
            score = of_both * (1 + _bonus(entry, now))
            one = _Candidate(part, entry, of_words, of_both - of_words, score)
            yield -score, entry.key, one


def _best_places(both: Numbers, compared: Sequence[Comparison], most: int) -> NDArray[np.intp]:
    """Where the best scores are; rough ones that may be among them are made exact."""
    rough = [each for each in compared if each.is_rough]
    if not rough:
        return places_of_largest(both, most)
    best = places_near_largest(both, most, _FAR, max(_MOST_COMPARED, _MOST_FOR_EACH * most))
    for each in rough:
        both[best] += each.correction(best)
    return best[places_of_largest(both[best], most)]


def _bonus(entry: IndexEntry, now: float) -> float:
    half_lives = max(now - entry.modified_at, 0.0) / HALF_LIFE_SECONDS
    return NEWEST_BONUS * math.exp2(-half_lives) + TYPE_BONUS.get(entry.type, 0.0)


def _evidence_for(
    earned: Mapping[str, float],
    question: Question,
    query_words: QueryWords,
    cosines: Sequence[tuple[VectorSimilarity, float]],
) -> HitEvidence:
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


def _hit_of(one: _Candidate, earned: Mapping[str, float]) -> Hit:
    terms = dict(sorted(earned.items(), key=itemgetter(1), reverse=True))
    return Hit(one.entry.key, one.score, one.words, one.meaning, terms)
