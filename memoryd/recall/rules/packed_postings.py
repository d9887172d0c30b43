"""Many texts in a few arrays: which of them hold which terms.

They are added at once, when a shelf is read from disk, and none is added later. `Postings` holds
the others. One that is dropped stays in the arrays, and is left out wherever it counts.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.integer[Any]]
Counts = NDArray[np.uint8] | NDArray[np.uint16] | NDArray[np.float32]

_SMALL = 1 << 16
_TINY = 1 << 8


class TextArrays(NamedTuple):
    """Text after text, `lengths` says how many terms it has, `ids` which of `terms` these are."""

    terms: Sequence[str]
    lengths: NDArray[np.int32]
    ids: NDArray[np.int32]
    counts: NDArray[np.float32]


class PackedPostings:
    """The texts in the slots 0 to `size` - 1."""

    def __init__(self, texts: TextArrays) -> None:
        terms, lengths, ids, counts = texts
        self.size = len(lengths)
        self._id_of = {term: number for number, term in enumerate(terms)}
        slots = np.repeat(_first_numbers(self.size), lengths)
        self.lengths = np.bincount(slots, counts, self.size).astype(np.float64)
        # Numbers of two bytes are sorted much faster.
        order = np.argsort(ids.astype(np.uint16) if len(terms) <= _SMALL else ids, kind="stable")
        self._slots: Ints = slots[order]
        self._counts = _in_few_bytes(counts[order])
        held_by = np.bincount(ids, None, len(terms))
        self._ends = np.cumsum(held_by)
        # A number of an array takes several times as long to get.
        self._end_of = self._ends.data
        self._live = held_by.tolist()
        self.dropped: list[int] = []

    def terms(self) -> Iterator[str]:
        """Those that some text holds."""
        return (term for term, number in self._id_of.items() if self._live[number])

    def holders_of(self, term: str) -> int:
        number = self._id_of.get(term)
        return 0 if number is None else self._live[number]

    def held_among(self, terms: Iterable[str]) -> list[str]:
        """Those of these terms that some text holds; they may be hundreds, of which few are."""
        ids, live = self._id_of, self._live
        return [term for term in terms if term in ids and live[ids[term]]]

    def held(self, term: str) -> tuple[Ints, Counts] | None:
        """The slots that hold a term, dropped ones too, and their counts; None if none holds it."""
        number = self._id_of.get(term)
        if number is None or not self._live[number]:
            return None
        start, end = self._end_of[number - 1] if number else 0, self._end_of[number]
        return self._slots[start:end], self._counts[start:end]

    def drop(self, slot: int) -> list[str]:
        """Leaves a text out from now on; returns the terms that no other one holds."""
        places = np.flatnonzero(self._slots == slot)
        numbers = np.searchsorted(self._ends, places, side="right").tolist()
        for number in numbers:
            self._live[number] -= 1
        self.dropped.append(slot)
        gone = {number for number in numbers if not self._live[number]}
        return [term for term, number in self._id_of.items() if number in gone] if gone else []

    def texts(self) -> TextArrays:
        """All texts as they were given, the terms of a text in any order."""
        order = np.argsort(self._slots, kind="stable")
        numbers = np.repeat(
            np.arange(len(self._ends), dtype=np.int32), np.diff(self._ends, prepend=0)
        )
        lengths = np.bincount(self._slots, None, self.size).astype(np.int32)
        counts = self._counts[order].astype(np.float32)
        return TextArrays(list(self._id_of), lengths, numbers[order], counts)


def _first_numbers(size: int) -> Ints:
    return np.arange(size, dtype=np.uint16) if size <= _SMALL else np.arange(size, dtype=np.int32)


def _in_few_bytes(counts: NDArray[np.float32]) -> Counts:
    """Counts are whole numbers, but for those that somebody else weighted."""
    is_tiny = counts.max(initial=0.0) < _TINY
    small: Counts = counts.astype(np.uint8) if is_tiny else counts.astype(np.uint16)
    return small if np.array_equal(small, counts) else counts
