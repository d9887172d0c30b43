"""Which texts hold which terms: BM25 over texts that are added and removed one at a time.

A text gets a slot, a small number that is reused when the text is removed. Adding or dropping a
text touches only the lists of its own terms. What a term is worth is up to the caller, which may
search several `Postings` at once and must weight a term alike in all of them. This module decides
how much of that worth a text earns: a term's count saturates at `SATURATION`, and a long text earns
less by `LENGTH_PENALTY`.

Not thread-safe.
"""

from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from memoryd.text.terms import BEGINNING_LETTERS

SATURATION = 0.9  # k1
LENGTH_PENALTY = 0.4  # b

Scores = NDArray[np.float64]
Ints = NDArray[np.int32]
Number = TypeVar("Number", float, Scores)


class _Holders(NamedTuple):
    """The texts that hold one term, in no order, and their counts."""

    slots: "array[int]"
    counts: "array[float]"


class TextTerms(NamedTuple):
    """The terms of one text, and their counts; never changed."""

    terms: tuple[str, ...]
    counts: "array[float]"


class Postings:
    def __init__(self) -> None:
        self.size = 0
        self.total_length = 0.0
        self._holders: dict[str, _Holders] = {}
        self._beginnings: Counter[str] = Counter()
        self._texts: list[TextTerms | None] = []
        self._lengths = array("d")
        self._free: list[int] = []

    @classmethod
    def filled(
        cls, terms: Sequence[str], lengths: Ints, ids: Ints, counts: NDArray[np.float32]
    ) -> "Postings":
        """The texts in the slots 0, 1, ... at once.

        Text after text, `lengths` says how many terms it has, `ids` which of `terms` these are.
        """
        made = cls()
        made.size = len(lengths)
        slots = np.repeat(np.arange(made.size, dtype=np.intc), lengths)
        summed = np.bincount(slots, counts, made.size)
        made._lengths = array("d", summed.astype(np.float64).tobytes())
        made.total_length = float(summed.sum())
        spelled = np.array([*terms, None], object)[ids].tolist()
        start, packed = 0, counts.tobytes()
        for end in np.cumsum(lengths).tolist():
            own = array("f", packed[4 * start : 4 * end])
            made._texts.append(TextTerms(tuple(spelled[start:end]), own))
            start = end
        order = np.argsort(ids, kind="stable")
        packed_slots, packed = slots[order].tobytes(), counts[order].tobytes()
        start = 0
        ends = np.cumsum(np.bincount(ids, None, len(terms))).tolist()
        for term, end in zip(terms, ends, strict=True):
            if end > start:
                part = slice(4 * start, 4 * end)
                holders = _Holders(array("i", packed_slots[part]), array("f", packed[part]))
                made._holders[term] = holders
                made._beginnings[term[:BEGINNING_LETTERS]] += 1
            start = end
        return made

    def texts(self) -> "list[TextTerms | None]":
        """What each slot holds, as it is now."""
        return list(self._texts)

    @property
    def capacity(self) -> int:
        """One more than the highest slot ever used."""
        return len(self._texts)

    @property
    def mean_length(self) -> float:
        return self.total_length / self.size if self.size else 0.0

    def add(self, counts: Mapping[str, float]) -> int:
        """Adds a text, given as its terms with their weighted counts; returns its slot."""
        slot = self._free.pop() if self._free else self._new_slot()
        for term, count in counts.items():
            holders = self._holders.get(term)
            if holders is None:
                holders = self._holders[term] = _Holders(array("i"), array("f"))
                self._beginnings[term[:BEGINNING_LETTERS]] += 1
            holders.slots.append(slot)
            holders.counts.append(count)
        self._texts[slot] = TextTerms(tuple(counts), array("f", counts.values()))
        self._lengths[slot] = sum(counts.values())
        self.size += 1
        self.total_length += self._lengths[slot]
        return slot

    def drop(self, slot: int) -> None:
        for term in self._text_in(slot).terms:
            self._forget_holder(term, slot)
        self.size -= 1
        self.total_length -= self._lengths[slot]
        self._texts[slot] = None
        self._lengths[slot] = 0.0
        self._free.append(slot)

    def holders_of(self, term: str) -> int:
        """How many texts hold the term."""
        holders = self._holders.get(term)
        return len(holders.slots) if holders else 0

    def held_among(self, terms: Iterable[str]) -> list[str]:
        return [term for term in terms if term in self._holders]

    def has_beginning(self, letters: str) -> bool:
        """Whether any term begins like this; `letters` are BEGINNING_LETTERS long."""
        return self._beginnings.get(letters, 0) > 0

    def scores(self, worths: Mapping[str, float], mean_length: float) -> Scores:
        """What each slot earns of the worth of all terms; a text that holds none earns 0."""
        held = [(worths[term], self._holders[term]) for term in self.held_among(worths)]
        if not held:
            return np.zeros(self.capacity)
        # Joined as bytes: making an array of each costs more than everything else.
        slots = np.frombuffer(b"".join([holders.slots for _, holders in held]), np.intc)
        counts = np.frombuffer(b"".join([holders.counts for _, holders in held]), np.float32)
        worth = np.repeat([worth for worth, _ in held], [len(h.slots) for _, h in held])
        relative = np.frombuffer(self._lengths)[slots] / (mean_length or 1.0)
        earned = worth * counts / (counts + _half_way(relative))
        return np.bincount(slots, earned, self.capacity).astype(np.float64, copy=False)

    def shares(
        self, slot: int, worths: Mapping[str, float], mean_length: float
    ) -> Iterator[tuple[str, float]]:
        """What one text earns by term; the sum is its entry in `scores`."""
        text = self._text_in(slot)
        half_way = _half_way(self._lengths[slot] / (mean_length or 1.0))
        held = worths.keys() & text.terms
        for term, worth in worths.items():
            if term in held:
                count = text.counts[text.terms.index(term)]
                yield term, worth * count / (count + half_way)

    def _forget_holder(self, term: str, slot: int) -> None:
        slots, counts = self._holders[term]
        at = slots.index(slot)
        # The last entry takes the place of the removed one: the order means nothing.
        last_slot, last_count = slots.pop(), counts.pop()
        if at < len(slots):
            slots[at], counts[at] = last_slot, last_count
        if not slots:
            del self._holders[term]
            self._beginnings[term[:BEGINNING_LETTERS]] -= 1

    def _text_in(self, slot: int) -> TextTerms:
        text = self._texts[slot]
        if text is None:
            raise LookupError(slot)
        return text

    def _new_slot(self) -> int:
        self._texts.append(None)
        self._lengths.append(0.0)
        return len(self._texts) - 1


def _half_way(relative_length: Number) -> Number:
    """The count at which a text earns half of a term's worth."""
    return SATURATION * (1 - LENGTH_PENALTY + LENGTH_PENALTY * relative_length)
