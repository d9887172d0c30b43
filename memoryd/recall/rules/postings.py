"""Which texts hold which terms: BM25 over texts that are added and removed one at a time.

A text gets a slot, a small number that is reused when the text is removed. Adding or dropping a
text touches only the lists of its own terms. What a term is worth is up to the caller, which may
search several `Postings` at once and must weight a term alike in all of them. This module decides
how much of that worth a text earns: a term's count saturates at `SATURATION`, and a long text earns
less by `LENGTH_PENALTY`.

The texts of a shelf that was kept on disk come all at once, as `PackedPostings`. Others may be
packed later, when there are many of them: in lists they take several times the memory.

Not thread-safe.
"""

from array import array
from bisect import bisect_right
from collections import Counter
from collections.abc import Collection, Container, Mapping, Sequence
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from memoryd.recall.rules.packed_postings import Ints, PackedPostings, TextArrays
from memoryd.text.terms import BEGINNING_LETTERS

SATURATION = 0.9  # k1
LENGTH_PENALTY = 0.4  # b

Scores = NDArray[np.float64]


class _Holders(NamedTuple):
    """The texts that hold one term, in no order, and their counts."""

    slots: "array[int]"
    counts: "array[float]"


class Earnings(NamedTuple):
    """What each text earns of the worth of some terms: its total, and its share of each term.

    `terms[i]` is held by the texts in `slots`, which earn what `earned` says, from `ends[i - 1]` to
    `ends[i]`.
    """

    total: Scores
    terms: Sequence[str]
    ends: Sequence[int]
    slots: Ints
    earned: Scores

    def by_term(self, slots: Sequence[int]) -> list[dict[str, float]]:
        """What each of some texts, none of them dropped, earns by term; the sum is its total."""
        is_wanted = np.zeros(len(self.total), np.bool_)
        is_wanted[list(slots)] = True
        places = is_wanted.take(self.slots).nonzero()[0]
        found: dict[int, dict[str, float]] = {slot: {} for slot in slots}
        own_slots, own_earned = self.slots[places].tolist(), self.earned[places].tolist()
        for place, slot, earned in zip(places.tolist(), own_slots, own_earned, strict=True):
            found[slot][self.terms[bisect_right(self.ends, place)]] = earned
        return [found[slot] for slot in slots]


class TextTerms(NamedTuple):
    """The terms of one text, and their counts; never changed."""

    terms: tuple[str, ...]
    counts: "array[float]"


_NO_SLOTS = np.zeros(0, np.int32)
_NO_SCORES: Scores = np.zeros(0)
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
        self._known_half_ways: Scores = np.zeros(0)
        self._half_ways_at: float | None = None
        if packed is not None:
            self.size = packed.size
            self._lengths = array("d", packed.lengths.tobytes())
            self.total_length = float(packed.lengths.sum())
            self._beginnings.update(term[:BEGINNING_LETTERS] for term in packed.terms())

    def texts(self) -> "tuple[PackedPostings, list[TextTerms | None]]":
        """The packed texts, and what each slot behind them holds, as they are now."""
        return self._packed, list(self._texts)

    def use(self, packed: PackedPostings) -> None:
        """Holds the same texts in the same slots as arrays; ValueError if they are not all."""
        if packed.size != self.capacity or self._free or self._packed.dropped:
            raise ValueError("not every slot has a text")
        self._packed, self._holders, self._texts = packed, {}, []

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
        self._half_ways_at = None
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
        self._half_ways_at = None

    def holders_of(self, term: str) -> int:
        """How many texts hold the term."""
        holders = self._holders.get(term)
        packed = self._packed.holders_of(term)
        return packed if holders is None else packed + len(holders.slots)

    def held_among(self, terms: Collection[str]) -> list[str]:
        """Those of these terms that some text holds."""
        newer = [term for term in terms if term in self._holders]
        return [*newer, *self._packed.held_among(terms)]

    @property
    def beginnings(self) -> Container[str]:
        """How the terms begin, with the first BEGINNING_LETTERS of each."""
        return self._beginnings

    def earnings(self, worths: Mapping[str, float], mean_length: float) -> Earnings:
        """What each slot earns of the worth of these terms; a text that holds none earns 0."""
        terms: list[str] = []
        slots: list[Ints] = []
        counts: list[NDArray[Any]] = []
        for term in worths:
            held = self._packed.held(term)
            if held is not None:
                terms.append(term)
                slots.append(held[0])
                counts.append(held[1])
        lengths = [*map(len, slots)]
        newer = [(term, self._holders[term]) for term in worths if term in self._holders]
        if newer:
            # Joined as bytes: making an array of each costs more than everything else.
            slots.append(np.frombuffer(b"".join([held.slots for _, held in newer]), np.intc))
            counts.append(np.frombuffer(b"".join([held.counts for _, held in newer]), np.float32))
            terms += [term for term, _ in newer]
            lengths += [len(held.slots) for _, held in newer]
        if not slots:
            return Earnings(np.zeros(self.capacity), (), (), _NO_SLOTS, _NO_SCORES)
        at, held_times = np.concatenate(slots), np.concatenate(counts)
        earned = np.array([worths[term] for term in terms]).repeat(lengths) * held_times
        earned /= held_times + self._half_ways(mean_length).take(at)
        total: Scores = np.bincount(at, earned, self.capacity).astype(np.float64, copy=False)
        if self._packed.dropped:
            total[self._packed.dropped] = 0.0
        return Earnings(total, terms, [*accumulate(lengths)], at, earned)

    def _half_ways(self, mean_length: float) -> Scores:
        """`_half_way` of each text; most queries come when no text was added since the last."""
        if self._half_ways_at != mean_length:
            relative = np.frombuffer(self._lengths) / (mean_length or 1.0)
            self._known_half_ways, self._half_ways_at = _half_way(relative), mean_length
        return self._known_half_ways

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


def _half_way(relative_length: Scores) -> Scores:
    """The count at which a text earns half of a term's worth."""
    return SATURATION * (1 - LENGTH_PENALTY + LENGTH_PENALTY * relative_length)
