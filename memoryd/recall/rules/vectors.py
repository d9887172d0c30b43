"""The unit vectors of documents, which come and go with them.

A document has one row or several (one per passage); its similarity to a query is that of its best
row. The documents of one project are about related things, so their vectors share a common part
that does not distinguish them. It is subtracted from the query before the comparison, which ranks
as if it were subtracted from both sides, and leaves the rows alone when the common part moves.

Many vectors are given a `Sketch` after a while: then `similarity` is rough, `exact` is not, and the
rows are kept in two bytes a number.

Not thread-safe.
"""

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from memoryd.recall.rules.postings import Scores
from memoryd.recall.rules.sketch import LARGE, Halves, Sketch

Vector = NDArray[np.float32]
Matrix = NDArray[np.float32]
Rows = TypeVar("Rows", bound=Matrix | Halves)

ABSENT = -2.0  # below every cosine: the document has no vector yet
NO_OWNER = -1
NO_ROW = -1
_NO_ROWS = np.zeros((0, 0), np.float32)
_NO_HALVES = np.zeros((0, 0), np.float16)
_SUMMED_AT_ONCE = 512
_OUTGROWN = 2
# Numpy spreads larger products over spinning threads, which costs 20 ms if a core is busy.
_BLOCK_NUMBERS = 1 << 18
# The bits of a float16, shifted left by 13, have sign, exponent and fraction where a float32 has
# them. The exponent is then too small by 112.
_BITS_OF_HALF = np.uint32(0x8FFF_E000).astype(np.int32)
_EXPONENT_CORRECTION = np.float32(2.0**112)
# The common part of a handful of documents is uncertain and is subtracted only in part.
_COMMON_PRIOR = 10


class VectorArrays(NamedTuple):
    """The vectors of the documents 0, 1, ..., as they are kept; `counts` rows for each.

    `directions`, `short` and `made_from` are those of the sketch, empty if there is none.
    """

    counts: NDArray[np.int32]
    rows: Matrix | Halves
    directions: Matrix = _NO_ROWS
    short: Matrix = _NO_ROWS
    made_from: int = 0

    def chosen(self, which: NDArray[np.bool_]) -> "VectorArrays":
        """Those of some of the documents."""
        if which.all():
            return self
        rows = np.repeat(which, self.counts)
        short = self.short[rows] if len(self.short) else self.short
        return self._replace(counts=self.counts[which], rows=self.rows[rows], short=short)


class Wanted(NamedTuple):
    """A query less the common part, as a unit vector, and how much of the common part it has."""

    direction: Vector
    in_common: float


class Vectors:
    def __init__(self) -> None:
        self._rows: Matrix | Halves = np.zeros((0, 0), np.float32)
        self._owners = np.zeros(0, np.intp)
        self._rows_of: dict[int, Sequence[int]] = {}
        self._first_row_of = np.zeros(0, np.int32)
        self._is_in_order = True  # the row of each document has the document's number
        self._free: list[int] = []
        self._used = 0
        self.total: Vector = np.zeros(0, np.float32)
        self.count = 0
        self._sketch: Sketch | None = None
        self._put_meanwhile: set[int] | None = None

    @classmethod
    def filled(cls, arrays: VectorArrays) -> "Vectors":
        """All at once."""
        made = cls()
        counts, rows = arrays.counts, arrays.rows
        if len(rows):
            used = len(rows)
            made._rows = _with_room(rows)
            made._owners = np.full(len(made._rows), NO_OWNER)
            made._owners[:used] = np.repeat(np.arange(len(counts)), counts)
            made._used = made.count = used
            made.total = _sum_of(rows)
            if rows.dtype == np.float16:
                short = _with_room(arrays.short)
                made._sketch = Sketch(arrays.directions.copy(), short, _NO_HALVES, arrays.made_from)
            ends = np.cumsum(counts)
            made._is_in_order = bool((counts == 1).all())
            made._first_row_of = np.where(counts, ends - counts, NO_ROW).astype(np.int32)
            start = 0
            for owner, end in enumerate(ends.tolist()):
                if end > start:
                    made._rows_of[owner] = list(range(start, end))
                start = end
        return made

    def arrays_of(self, owners: Sequence[int]) -> VectorArrays:
        """What `filled` makes the vectors of these documents from, in this order."""
        places = [self._rows_of.get(owner, []) for owner in owners]
        counts = np.array([len(own) for own in places], np.int32)
        at = [place for own in places for place in own]
        if self._sketch is None:
            return VectorArrays(counts, self._rows[at])
        sketch = self._sketch
        short = sketch.rows[at]
        return VectorArrays(counts, self._rows[at], sketch.directions, short, sketch.made_from)

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
        if self._put_meanwhile is not None:
            self._put_meanwhile.update(places)
        if self._sketch is not None:
            for place, row in zip(places, rows, strict=True):
                self._sketch.put(place, row)
        self._is_in_order = self._is_in_order and places == [owner]
        self._rows_of[owner] = places
        self._note_first_row(owner, places[0] if places else NO_ROW)
        self.total += rows.sum(axis=0)
        self.count += len(rows)

    def drop(self, owner: int) -> None:
        places = self._rows_of.pop(owner, [])
        if places:
            self._note_first_row(owner, NO_ROW)
            self._is_in_order = False
            self.total -= self._rows[places].sum(axis=0, dtype=np.float32)
            self.count -= len(places)
            self._owners[places] = NO_OWNER
            self._free += places

    def fits(self, query: Vector) -> bool:
        return self.count > 0 and len(query) == len(self.total)

    @property
    def is_rough(self) -> bool:
        return self._sketch is not None

    @property
    def wants_sketch(self) -> bool:
        """Whether there is none and should be, or one of half as many vectors."""
        is_outgrown = self._sketch is None or self.count >= _OUTGROWN * self._sketch.made_from
        is_idle = self._put_meanwhile is None
        return is_idle and is_outgrown and LARGE <= self.count == len(self._rows_of)

    @property
    def is_being_sketched(self) -> bool:
        return self._put_meanwhile is not None

    def begin_sketch(self) -> Callable[[], Sketch]:
        """What makes the sketch, in a thread; its result goes to `use_sketch`."""
        self._put_meanwhile = set()
        return partial(Sketch.made_of, self._rows.astype(np.float32, copy=False), self._used)

    def use_sketch(self, made: Sketch | None) -> None:
        """None if it could not be made."""
        late, self._put_meanwhile = self._put_meanwhile, None
        if made is None or late is None or self.count != len(self._rows_of) or not self.count:
            return
        if len(made.whole) < len(self._rows):
            room = np.zeros((len(self._rows) - len(made.whole), made.whole.shape[1]), np.float16)
            made.whole = np.concatenate([made.whole, room])
        for place in late:
            made.whole[place] = self._rows[place]
            made.put(place, self._rows[place].astype(np.float32))
        self._rows, self._sketch = made.whole, made
        made.whole = _NO_HALVES

    def similarity(self, wanted: Wanted, capacity: int) -> Scores:
        """For each document below `capacity`, its similarity to the query beyond the common part.

        A document without a vector gets what the average document gets: nothing.
        """
        if not self.fits(wanted.direction):
            return np.zeros(capacity)
        if self._sketch is None:
            similarity = _dots(self._rows[: self._used], wanted.direction)
        else:
            short = self._sketch.short(wanted.direction)
            similarity = _dots(self._sketch.rows[: self._used], short)
        similarity -= wanted.in_common
        if self._is_in_order and self._used == capacity:
            return similarity.astype(np.float64)
        owners = self._owners[: self._used]
        # The entry past the end collects the rows of NO_OWNER.
        best = np.zeros(capacity + 1)
        if self.count > len(self._rows_of):
            best[owners] = ABSENT
            np.maximum.at(best, owners, similarity)
        else:  # one row per document: no best to look for
            best[owners] = similarity
        return best[:-1]

    def exact(self, wanted: Wanted, owners: NDArray[np.intp]) -> Scores:
        """As `similarity`, of some documents, by their whole vectors."""
        if not self.fits(wanted.direction):
            return np.zeros(len(owners))
        places = np.full(len(owners), NO_ROW)
        is_known = owners < len(self._first_row_of)
        places[is_known] = self._first_row_of[owners[is_known]]
        # A document without a row is compared with any, and gets nothing.
        dots = as_singles(self._rows[places]) @ wanted.direction - wanted.in_common
        return np.where(places < 0, 0.0, dots)

    def cosines(self, owners: Sequence[int], query: Vector) -> list[float]:
        """The plain cosine of each document's best row, or `ABSENT`."""
        if not self.fits(query):
            return [ABSENT] * len(owners)
        rows = self._rows
        return [
            max(
                [
                    float(rows[place].astype(np.float32, copy=False) @ query)
                    for place in self._rows_of.get(owner, ())
                ],
                default=ABSENT,
            )
            for owner in owners
        ]

    def _note_first_row(self, owner: int, place: int) -> None:
        missing = owner + 1 - len(self._first_row_of)
        if missing > 0:
            room = np.full(missing + _room(owner), NO_ROW, np.int32)
            self._first_row_of = np.concatenate([self._first_row_of, room])
        self._first_row_of[owner] = place

    def _start_with(self, dimensions: int) -> None:
        self._rows = np.zeros((0, dimensions), np.float32)
        self._owners = np.zeros(0, np.intp)
        self._free.clear()
        self._sketch = None
        self._used = 0
        self._is_in_order = True
        self.total = np.zeros(dimensions, np.float32)

    def _next_place(self) -> int:
        if self._used == len(self._rows):
            added = _room(self._used)
            empty = np.zeros((added, self._rows.shape[1]), self._rows.dtype)
            self._rows = np.concatenate([self._rows, empty])
            self._owners = np.concatenate([self._owners, np.full(added, NO_OWNER)])
        self._used += 1
        return self._used - 1


def _dots(rows: Matrix | Halves, query: Vector) -> Vector:
    dots = np.empty(len(rows), np.float32)
    at_once = max(1, _BLOCK_NUMBERS // max(1, len(query)))
    for start in range(0, len(rows), at_once):
        block = slice(start, min(start + at_once, len(rows)))
        np.dot(rows[block], query, out=dots[block])
    return dots


def as_singles(rows: Matrix | Halves) -> Matrix:
    """Finite rows as float32.

    NumPy widens float16 one by one. Shifting the bits takes a quarter of the time.
    """
    if rows.dtype != np.float16:
        return np.asarray(rows, np.float32)
    bits = rows.view(np.int16).astype(np.int32)
    bits <<= 13
    bits &= _BITS_OF_HALF
    return bits.view(np.float32) * _EXPONENT_CORRECTION


def _with_room(rows: Rows) -> Rows:
    """A copy with room behind it: the first new one must not copy all of them."""
    used = len(rows)
    made = np.empty_like(rows, shape=(used + _room(used), rows.shape[1]))
    made[:used] = rows
    return made


def _sum_of(rows: Matrix | Halves) -> Vector:
    total = np.zeros(rows.shape[1], np.float32)
    for start in range(0, len(rows), _SUMMED_AT_ONCE):
        total += as_singles(rows[start : start + _SUMMED_AT_ONCE]).sum(axis=0, dtype=np.float32)
    return total


def _room(used: int) -> int:
    """For so many more rows there is room; what is not used takes no memory."""
    return max(64, used // 4)


def unit(vector: Vector) -> Vector:
    length = length_of(vector)
    return vector / np.float32(length) if length else vector


def length_of(vector: Vector) -> float:
    return math.sqrt(float(vector @ vector))


def wanted_by(query: Vector, all_vectors: Sequence[Vectors]) -> Wanted:
    """What to compare these vectors with, instead of the query."""
    common = common_part(all_vectors, query)
    direction = unit(query - common)
    return Wanted(direction, float(common @ direction))


def common_part(all_vectors: Sequence[Vectors], query: Vector) -> Vector:
    """The mean of all vectors that can be compared with the query."""
    total, count = np.zeros(len(query), np.float32), _COMMON_PRIOR
    for vectors in all_vectors:
        if vectors.fits(query):
            total += vectors.total
            count += vectors.count
    return total / np.float32(count)
