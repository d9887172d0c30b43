"""The unit vectors of documents, which come and go with them.

A document has one row or several (one per passage); its similarity to a query is that of its best
row. The documents of one project are about related things, so their vectors share a common part
that does not distinguish them. It is subtracted from the query before the comparison, which ranks
as if it were subtracted from both sides, and leaves the rows alone when the common part moves.

Not thread-safe.
"""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from memoryd.recall.rules.postings import Scores

Vector = NDArray[np.float32]
Matrix = NDArray[np.float32]

ABSENT = -2.0  # below every cosine: the document has no vector yet
NO_OWNER = -1
# Numpy spreads larger products over spinning threads, which costs 20 ms if a core is busy.
_BLOCK_NUMBERS = 1 << 18
# The common part of a handful of documents is uncertain and is subtracted only in part.
_COMMON_PRIOR = 10


class Vectors:
    def __init__(self) -> None:
        self._rows: Matrix = np.zeros((0, 0), np.float32)
        self._owners = np.zeros(0, np.intp)
        self._rows_of: dict[int, list[int]] = {}
        self._free: list[int] = []
        self._used = 0
        self.total: Vector = np.zeros(0, np.float32)
        self.count = 0

    @classmethod
    def filled(cls, counts: NDArray[np.int32], rows: Matrix) -> "Vectors":
        """Those of the documents 0, 1, ... at once; `counts` says how many rows each has."""
        made = cls()
        if len(rows):
            made._rows = np.array(rows)
            made._owners = np.repeat(np.arange(len(counts)), counts)
            made._used = made.count = len(rows)
            made.total = rows.sum(axis=0, dtype=np.float32)
            start = 0
            for owner, end in enumerate(np.cumsum(counts).tolist()):
                if end > start:
                    made._rows_of[owner] = list(range(start, end))
                start = end
        return made

    def rows_of(self, owners: Sequence[int]) -> tuple[NDArray[np.int32], Matrix]:
        """How many rows each of these documents has, and all these rows in turn."""
        places = [self._rows_of.get(owner, []) for owner in owners]
        counts = np.array([len(own) for own in places], np.int32)
        return counts, self._rows[[place for own in places for place in own]]

    def __len__(self) -> int:
        """How many documents have vectors."""
        return len(self._rows_of)

    def put(self, owner: int, rows: Matrix) -> None:
        """Sets the vectors of a document, replacing any it had."""
        self.drop(owner)
        if self.count == 0:
            self._start_with(rows.shape[1])
        places = [self._free.pop() if self._free else self._next_place() for _ in rows]
        self._rows[places] = rows
        self._owners[places] = owner
        self._rows_of[owner] = places
        self.total += rows.sum(axis=0)
        self.count += len(rows)

    def drop(self, owner: int) -> None:
        places = self._rows_of.pop(owner, [])
        if places:
            self.total -= self._rows[places].sum(axis=0)
            self.count -= len(places)
            self._owners[places] = NO_OWNER
            self._free += places

    def fits(self, query: Vector) -> bool:
        return self.count > 0 and len(query) == len(self.total)

    def similarity(self, query: Vector, common: Vector, capacity: int) -> Scores:
        """For each document below `capacity`, its similarity to the query beyond the common part.

        A document without a vector gets what the average document gets: nothing.
        """
        # The entry past the end collects the rows of NO_OWNER.
        best = np.zeros(capacity + 1)
        if self.fits(query):
            wanted = unit(query - common)
            owners = self._owners[: self._used]
            similarity = self._dots(wanted) - float(common @ wanted)
            if self.count > len(self._rows_of):
                best[owners] = ABSENT
                np.maximum.at(best, owners, similarity)
            else:  # one row per document: no best to look for
                best[owners] = similarity
        return best[:-1]

    def cosine(self, owner: int, query: Vector) -> float:
        """The plain cosine of a document's best row, or `ABSENT`."""
        places = self._rows_of.get(owner)
        if not places or not self.fits(query):
            return ABSENT
        return max([float(self._rows[place] @ query) for place in places])

    def _dots(self, query: Vector) -> Vector:
        dots = np.empty(self._used, np.float32)
        at_once = max(1, _BLOCK_NUMBERS // max(1, len(query)))
        for start in range(0, self._used, at_once):
            block = slice(start, min(start + at_once, self._used))
            np.dot(self._rows[block], query, out=dots[block])
        return dots

    def _start_with(self, dimensions: int) -> None:
        self._rows = np.zeros((0, dimensions), np.float32)
        self._owners = np.zeros(0, np.intp)
        self._free.clear()
        self._used = 0
        self.total = np.zeros(dimensions, np.float32)

    def _next_place(self) -> int:
        if self._used == len(self._rows):
            added = max(self._used, 64)
            empty = np.zeros((added, self._rows.shape[1]), np.float32)
            self._rows = np.concatenate([self._rows, empty])
            self._owners = np.concatenate([self._owners, np.full(added, NO_OWNER)])
        self._used += 1
        return self._used - 1


def unit(vector: Vector) -> Vector:
    length = length_of(vector)
    return vector / np.float32(length) if length else vector


def length_of(vector: Vector) -> float:
    return math.sqrt(float(vector @ vector))


def common_part(all_vectors: Sequence[Vectors], query: Vector) -> Vector:
    """The mean of all vectors that can be compared with the query."""
    total, count = np.zeros(len(query), np.float32), _COMMON_PRIOR
    for vectors in all_vectors:
        if vectors.fits(query):
            total += vectors.total
            count += vectors.count
    return total / np.float32(count)
