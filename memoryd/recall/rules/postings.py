"""Which texts hold which terms: BM25 over texts that are added and removed one at a time.

A text gets a slot, a small number that is reused when the text is removed. Adding or dropping a
text touches only the lists of its own terms. What a term is worth is up to the caller, which may
search several `Postings` at once and must weight a term alike in all of them. This module decides
how much of that worth a text earns: a term's count saturates at `SATURATION`, and a long text earns
less by `LENGTH_PENALTY`.

The texts of a shelf that was kept on disk come all at once, as `PackedPostings`.

Not thread-safe.
"""

from array import array
from collections import Counter
from collections.abc import Collection, Container, Mapping, Sequence
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from memoryd.recall.rules.packed_postings import Counts, Ints, PackedPostings, TextArrays
from memoryd.text.terms import BEGINNING_LETTERS

SATURATION = 0.9  # k1
LENGTH_PENALTY = 0.4  # b

Scores = NDArray[np.float64]
Number = TypeVar("Number", float, Scores)


class _Holders(NamedTuple):
    """The texts that hold one term, in no order, and their counts."""

    slots: "array[int]"
    counts: "array[float]"


class TextTerms(NamedTuple):
    """The terms of one text, and their counts; never changed."""

    terms: tuple[str, ...]
    counts: "array[float]"


_NO_TEXTS = TextArrays((), np.zeros(0, np.int32), np.zeros(0, np.int32), np.zeros(0, np.float32))


class Postings:
    def __init__(self, packed: PackedPostings | None = None) -> None:
        self.size = 0
        self.total_length = 0.0
        self._packed = packed or PackedPostings(_NO_TEXTS)
        self._holders: dict[str, _Holders] = {}
        self._beginnings: Counter[str] = Counter()
        self._texts: list[TextTerms | None] = []
        self._lengths = array("d")
        self._free: list[int] = []
        if packed is not None:
            self.size = packed.size
            self._lengths = array("d", packed.lengths.tobytes())
            self.total_length = float(packed.lengths.sum())
            self._beginnings.update(term[:BEGINNING_LETTERS] for term in packed.terms())

    def texts(self) -> "tuple[PackedPostings, list[TextTerms | None]]":
        """The packed texts, and what each slot behind them holds, as they are now."""
        return self._packed, list(self._texts)

    @property
    def capacity(self) -> int:
        """One more than the highest slot ever used."""
        return len(self._lengths)

    @property
    def mean_length(self) -> float:
        return self.total_length / self.size if self.size else 0.0

    def add(self, counts: Mapping[str, float]) -> int:
        """Adds a text, given as its terms with their weighted counts; returns its slot."""
        slot = self._free.pop() if self._free else self._new_slot()
        for term, count in counts.items():
            holders = self._holders.get(term)
            if holders is None:
                if not self._packed.holders_of(term):
                    self._beginnings[term[:BEGINNING_LETTERS]] += 1
                holders = self._holders[term] = _Holders(array("i"), array("f"))
            holders.slots.append(slot)
            holders.counts.append(count)
        text = TextTerms(tuple(counts), array("f", counts.values()))
        self._texts[slot - self._packed.size] = text
        self._lengths[slot] = sum(counts.values())
        self.size += 1
        self.total_length += self._lengths[slot]
        return slot

    def drop(self, slot: int) -> None:
        if slot < self._packed.size:
            for term in self._packed.drop(slot):
                self._forget_beginning(term)
        else:
            for term in self._text_in(slot).terms:
                self._forget_holder(term, slot)
            self._texts[slot - self._packed.size] = None
            self._free.append(slot)
        self.size -= 1
        self.total_length -= self._lengths[slot]
        self._lengths[slot] = 0.0

    def holders_of(self, term: str) -> int:
        """How many texts hold the term."""
        holders = self._holders.get(term)
        return self._packed.holders_of(term) + (len(holders.slots) if holders else 0)

    def held_among(self, terms: Collection[str]) -> list[str]:
        """Those of these terms that some text holds."""
        newer = [term for term in terms if term in self._holders]
        return [*newer, *self._packed.held_among(terms)]

    @property
    def beginnings(self) -> Container[str]:
        """How the terms begin, with the first BEGINNING_LETTERS of each."""
        return self._beginnings

    def scores(self, worths: Mapping[str, float], mean_length: float) -> Scores:
        """What each slot earns of the worth of all terms; a text that holds none earns 0."""
        found = np.zeros(self.capacity)
        packed = [
            (worth, *self._packed.held(term))
            for term, worth in worths.items()
            if self._packed.holders_of(term)
        ]
        if packed:
            self._add_earned(
                found,
                np.concatenate([slots for _, slots, _ in packed]),
                np.concatenate([counts for _, _, counts in packed]),
                np.repeat([worth for worth, _, _ in packed], [len(s) for _, s, _ in packed]),
                mean_length,
            )
            found[self._packed.dropped] = 0.0
        held = [(worths[term], self._holders[term]) for term in worths if term in self._holders]
        if held:
            # Joined as bytes: making an array of each costs more than everything else.
            self._add_earned(
                found,
                np.frombuffer(b"".join([holders.slots for _, holders in held]), np.intc),
                np.frombuffer(b"".join([holders.counts for _, holders in held]), np.float32),
                np.repeat([worth for worth, _ in held], [len(h.slots) for _, h in held]),
                mean_length,
            )
        return found

    def _add_earned(
        self, found: Scores, slots: Ints, counts: Counts, worth: Scores, mean_length: float
    ) -> None:
        relative = np.frombuffer(self._lengths)[slots] / (mean_length or 1.0)
        earned = worth * counts / (counts + _half_way(relative))
        found += np.bincount(slots, earned, self.capacity)

    def shares(
        self, slots: Sequence[int], worths: Mapping[str, float], mean_length: float
    ) -> list[dict[str, float]]:
        """What each of some texts earns by term; the sum is its entry in `scores`."""
        half_ways = [_half_way(self._lengths[slot] / (mean_length or 1.0)) for slot in slots]
        found: list[dict[str, float]] = [{} for _ in slots]
        at = np.array(slots, np.int32)
        for term, worth in worths.items():
            for place, count in enumerate(self._counts(slots, at, term)):
                if count:
                    found[place][term] = worth * count / (count + half_ways[place])
        return found

    def _counts(self, slots: Sequence[int], at: Ints, term: str) -> list[float]:
        counts = [0.0] * len(slots)
        if self._packed.holders_of(term):
            counts = self._packed.counts_in(at, term)
        if term in self._holders:
            for place, slot in enumerate(slots):
                if slot >= self._packed.size:
                    text = self._text_in(slot)
                    has_it = term in text.terms
                    counts[place] = text.counts[text.terms.index(term)] if has_it else 0.0
        return counts

    def _forget_holder(self, term: str, slot: int) -> None:
        slots, counts = self._holders[term]
        at = slots.index(slot)
        # The last entry takes the place of the removed one: the order means nothing.
        last_slot, last_count = slots.pop(), counts.pop()
        if at < len(slots):
            slots[at], counts[at] = last_slot, last_count
        if not slots:
            del self._holders[term]
            if not self._packed.holders_of(term):
                self._one_beginning_less(term)

    def _forget_beginning(self, term: str) -> None:
        if term not in self._holders:
            self._one_beginning_less(term)

    def _one_beginning_less(self, term: str) -> None:
        letters = term[:BEGINNING_LETTERS]
        self._beginnings[letters] -= 1
        if not self._beginnings[letters]:
            del self._beginnings[letters]

    def _text_in(self, slot: int) -> TextTerms:
        text = self._texts[slot - self._packed.size]
        if text is None:
            raise LookupError(slot)
        return text

    def _new_slot(self) -> int:
        self._texts.append(None)
        self._lengths.append(0.0)
        return len(self._lengths) - 1


def _half_way(relative_length: Number) -> Number:
    """The count at which a text earns half of a term's worth."""
    return SATURATION * (1 - LENGTH_PENALTY + LENGTH_PENALTY * relative_length)
