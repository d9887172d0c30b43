"""The words of a query and what each is worth, over all the indexes that are searched.

A word that no memory has may be a typo: the most common word one edit away stands in for it, at a
discount, which is larger if the word is a known one. An identifier that no memory has as a whole is
only its words: it would make the rest of the query look small.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import cached_property
from itertools import islice

from memoryd.recall.rules.index import Index
from memoryd.recall.rules.postings import Earnings, Postings, Scores
from memoryd.recall.rules.relevance import rarity
from memoryd.text.terms import compounds_of, near_misses, spoken_words, term_of, terms_of

TYPO_WEIGHT = 0.8
# Many words are one edit away from an unrelated one; few are other spellings of it.
KNOWN_WORD_EVIDENCE = 0.3
SHORTEST_TYPO = 5
MOST_TYPOS = 3


class QueryWords:
    """The words of a query, and what each is worth over all parts."""

    def __init__(self, parts: Sequence[Index], text: str, familiar: AbstractSet[str]) -> None:
        self._parts = parts
        self.memories = sum(map(len, parts))
        self._mean_length = _mean_length([part.documents for part in parts])
        self.worths: dict[str, float] = {}
        # For a mistyped term, the term of the memories that stands in for it, and how surely.
        self.stand_ins: dict[str, tuple[str, float]] = {}
        self._rarities: dict[str, float] = {}
        self._earnings: dict[int, Earnings] = {}
        self.whole_worth = self.whole_rarity = 0.0
        found = Counter(terms_of(text))
        counts = [part.documents.holders_of for part in parts]
        holders_of = {term: sum([count(term) for count in counts]) for term in found}
        unknown = {term for term, holders in holders_of.items() if not holders}
        if unknown:
            unknown -= compounds_of(text)
        for term, holders in holders_of.items():
            if holders or term in unknown:
                worth, rare = found[term] * self._worth(holders), rarity(holders, self.memories)
                self.whole_worth += worth
                self.whole_rarity += rare
                if holders:
                    self.worths[term], self._rarities[term] = worth, rare
        if unknown:
            self._add_corrections(unknown, text, familiar)

    @cached_property
    def known(self) -> float:
        """The share of the query that some memory has."""
        return sum(self._rarities.values()) / self.whole_rarity

    @cached_property
    def _shares_of_whole(self) -> dict[str, float]:
        """What each word is worth, of all of them together."""
        return {term: worth / self.whole_worth for term, worth in self.worths.items()}

    def scores(self, part: Index) -> Scores:
        """The share of the query's worth that each memory earns, 0 to 1."""
        return self._earnings_in(part).total

    def earned(self, part: Index, slots: Sequence[int]) -> Sequence[Mapping[str, float]]:
        """What each word of the query earned each of some memories; the sum is its score."""
        return self._earnings_in(part).by_term(slots)

    def _earnings_in(self, part: Index) -> Earnings:
        earnings = self._earnings.get(id(part))
        if earnings is None:
            earnings = part.documents.earnings(self._shares_of_whole, self._mean_length)
            self._earnings[id(part)] = earnings
        return earnings

    def covered(self, terms: Mapping[str, float]) -> float:
        """The share of the query that a memory with these terms covers."""
        return sum([self._rarities[term] for term in terms]) / self.whole_rarity

    def _holders_of(self, term: str) -> int:
        return sum([part.documents.holders_of(term) for part in self._parts])

    def _worth(self, holders: int) -> float:
        return math.log1p((self.memories - holders + 0.5) / (holders + 0.5))

    def _add_corrections(
        self, unknown: AbstractSet[str], text: str, familiar: AbstractSet[str]
    ) -> None:
        beginnings = [part.documents.beginnings for part in self._parts]
        words = filter(_may_be_mistyped, dict.fromkeys(spoken_words(text)))
        for word in islice((word for word in words if term_of(word) in unknown), MOST_TYPOS):
            corrections = near_misses(word, beginnings) - self.worths.keys()
            held = (term for part in self._parts for term in part.documents.held_among(corrections))
            holders, term = max(((self._holders_of(term), term) for term in held), default=(0, ""))
            if holders:
                trust = KNOWN_WORD_EVIDENCE if word in familiar else 1.0
                self.stand_ins[term_of(word)] = (term, TYPO_WEIGHT * trust)
                self.worths[term] = TYPO_WEIGHT * self._worth(holders)
                self._rarities[term] = trust * rarity(holders, self.memories)


def _may_be_mistyped(word: str) -> bool:
    return len(word) >= SHORTEST_TYPO and word.isascii() and word.isalpha()


def _mean_length(texts: Sequence[Postings]) -> float:
    size = sum(each.size for each in texts)
    return sum(each.total_length for each in texts) / size if size else 0.0
