"""Which memories can say the same as others, found by their words.

Two can match if they have the same body, or if all terms of one are in the other. The rarest term
of the poorer one finds it: the work grows with the store, and not with its square.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain

from memoryd.base.pacing import Pace, at_once
from memoryd.dreams.rules.similarity import ComparedMemory

Pair = tuple[ComparedMemory, ComparedMemory]


class NearMemories:
    """Memories by their terms and their bodies; those that are gone may stay in it."""

    def __init__(self, memories: Iterable[ComparedMemory]) -> None:
        self._by_term: dict[str, list[ComparedMemory]] = defaultdict(list)
        self._by_body: dict[str, list[ComparedMemory]] = defaultdict(list)
        self._all = list(memories)
        for one in self._all:
            self._add(one)

    def pairs(self, pace: Pace = at_once) -> list[Pair]:
        """All pairs that can match, in order of their files."""
        return _in_order(
            (one, other)
            for one in pace(self._all)
            for other in chain(self._by_body[one.bare], self._richer(one))
        )

    def pairs_with(
        self,
        news: Sequence[ComparedMemory],
        current: Mapping[str, ComparedMemory],
        pace: Pace = at_once,
    ) -> list[Pair]:
        """The pairs of `current` memories that can match and have one of the news in them."""
        for one in news:
            self._add(one)
        terms = frozenset(chain.from_iterable(one.terms for one in news))
        # None of the news is richer than a memory with a term that none of them has.
        poorer = (one for one in pace(current.values()) if one.term_set <= terms)
        recent = NearMemories(news)
        pairs = chain(
            ((one, other) for one in news for other in self._by_body[one.bare]),
            ((one, other) for one in news for other in self._richer(one)),
            ((one, other) for one in poorer for other in recent._richer(one)),
        )
        return _in_order((one, other) for one, other in pairs if current.get(other.file) is other)

    def _add(self, one: ComparedMemory) -> None:
        self._by_body[one.bare].append(one)
        for term in one.terms:
            self._by_term[term].append(one)

    def _richer(self, one: ComparedMemory) -> list[ComparedMemory]:
        """Those that have all of its terms, if it has any."""
        rarest = min(map(self._by_term.__getitem__, one.terms), key=len, default=[])
        return [other for other in rarest if one.term_set <= other.term_set]


def _in_order(pairs: Iterable[Pair]) -> list[Pair]:
    """Each once."""
    found: dict[tuple[str, str], Pair] = {}
    for one, other in pairs:
        if one is not other:
            first, second = (one, other) if one.file < other.file else (other, one)
            found[first.file, second.file] = (first, second)
    return [found[files] for files in sorted(found)]
