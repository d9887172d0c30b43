"""The unit vectors of documents, which come and go with them.

A document has one row or several (one per passage); its similarity to a query is that of its best
row. The documents of one project are about related things, so their vectors share a common part
that does not distinguish them. It is subtracted from the query before the comparison, which ranks
as if it were subtracted from both sides, and leaves the rows alone when the common part moves.

Many vectors are given a `Sketch` after a while: then a `Comparison` is rough at first, and the rows
are kept in a byte a number.

Not thread-safe.
"""

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from memoryd.recall.rules.byte_rows import ByteRows, Bytes, Matrix, Vector, in_bytes
from memoryd.recall.rules.sketch import MANY, Sketch, singles_in, wider

Array = TypeVar("Array", Matrix, Bytes)

ABSENT = -2.0  # below every cosine: the document has no vector yet
NO_OWNER = -1
NO_ROW = -1
_NO_ROWS = np.zeros((0, 0), np.float32)
_SUMMED_AT_ONCE = 512
# The common part of a handful of documents is uncertain and is subtracted only in part.
_COMMON_PRIOR = 10


class VectorArrays(NamedTuple):
    """The vectors of the documents 0, 1, ..., as they are kept; `counts` rows for each.

    `directions`, `columns` and `made_from` are those of the sketch, empty if there is none.
    """

    counts: NDArray[np.int32]
    rows: Matrix | ByteRows
    directions: Matrix = _NO_ROWS
    columns: Matrix = _NO_ROWS
    made_from: int = 0

    def chosen(self, which: NDArray[np.bool_]) -> "VectorArrays":
        """Those of some of the documents."""
        if which.all():
            return self
        at = np.flatnonzero(np.repeat(which, self.counts))
        columns = self.columns[:, at] if len(self.columns) else self.columns
        return self._replace(counts=self.counts[which], rows=_taken(self.rows, at), columns=columns)


class Wanted(NamedTuple):
    """A query less the common part, as a vector, and how much of the common part it has."""

    direction: Vector
    in_common: float


class Comparison:
    """A query and the vectors of the documents below `capacity`, until one of these changes.

    `similarity` is that of each document beyond the common part. One without a vector gets what the
    average document gets: nothing. If it `is_rough`, the best of them deserve another look.
    """

    def __init__(self, vectors: "Vectors", wanted: Wanted, capacity: int) -> None:
        self._vectors = vectors
        self._wanted = wanted
        self._is_in_order = vectors.are_rows_in_order(capacity)
        self.similarity = vectors.similarity(wanted, capacity)
        self.is_rough = vectors.is_rough and vectors.fits(wanted.direction)

    def correction(self, owners: NDArray[np.intp]) -> Vector:
        """What is missing between the rough similarity of some documents and the exact one."""
        common, rough = np.float32(self._wanted.in_common), self.similarity[owners]
        if self._is_in_order:
            return self._vectors.dots_at(owners, self._wanted.direction) - common - rough
        places = self._vectors.first_rows(owners)
        dots = self._vectors.dots_at(places, self._wanted.direction)
        return np.where(places < 0, np.float32(0), dots - common) - rough


class Vectors:
    def __init__(self) -> None:
        self._rows: Matrix | ByteRows = _NO_ROWS
        self._owners = np.zeros(0, np.intp)
        self._rows_of: dict[int, Sequence[int]] = {}
        self._first_row_of = np.zeros(0, np.int32)
        self._is_in_order = True  # the row of each document has the document's number
        self._free: list[int] = []
        self._used = 0
        self.total: Vector = np.zeros(0, np.float32)
        self.count = 0
        self.sketch: Sketch | None = None
        self._put_meanwhile: set[int] | None = None

    @classmethod
    def filled(cls, arrays: VectorArrays) -> "Vectors":
        """All at once."""
        made = cls()
        counts, rows = arrays.counts, arrays.rows
        used = int(counts.sum())
        if used:
            made._rows = _with_room(rows)
            made._owners = np.full(used + _room(used), NO_OWNER)
            made._owners[:used] = np.repeat(np.arange(len(counts)), counts)
            made._used = made.count = used
            made.total = _sum_of(rows, used)
            if isinstance(rows, ByteRows):
                columns = wider(arrays.columns, len(made._owners))
                made.sketch = Sketch(arrays.directions.copy(), columns, arrays.made_from)
                made.sketch.put_since = max(0, used - arrays.made_from)
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
        at = np.array([place for own in places for place in own], np.intp)
        rows, sketch = _taken(self._rows, at), self.sketch
        if sketch is None:
            return VectorArrays(counts, rows)
        columns = sketch.columns[:, at]
        return VectorArrays(counts, rows, sketch.directions, columns, sketch.made_from)

    def __len__(self) -> int:
        """How many documents have vectors."""
        return len(self._rows_of)

    def put(self, owner: int, rows: Matrix) -> None:
        """Sets the vectors of a document, replacing any it had."""
        self.drop(owner)
        if self.count == 0:
            self._start_with(rows.shape[1])
        places = [self._free.pop() if self._free else self._next_place() for _ in rows]
        self._set_rows(places, rows)
        self._owners[places] = owner
        if self._put_meanwhile is not None:
            self._put_meanwhile.update(places)
        if self.sketch is not None:
            self.sketch.put(places, rows)
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
            self.total -= singles_in(self._rows, places).sum(axis=0, dtype=np.float32)
            self.count -= len(places)
            self._owners[places] = NO_OWNER
            self._free += places

    def fits(self, query: Vector) -> bool:
        return self.count > 0 and len(query) == len(self.total)

    @property
    def is_rough(self) -> bool:
        return self.sketch is not None

    @property
    def wants_sketch(self) -> bool:
        """Whether there should be one and is none, or one that is outdated."""
        is_missing = self.sketch is None or self.sketch.is_outdated
        is_idle = self._put_meanwhile is None
        return is_idle and is_missing and MANY <= self.count == len(self._rows_of)

    @property
    def is_being_sketched(self) -> bool:
        return self._put_meanwhile is not None

    def begin_sketch(self) -> Callable[[], Sketch]:
        """What makes the sketch, in a thread; its result goes to `use_sketch`."""
        self._put_meanwhile = set()
        return partial(Sketch.made_of, self._rows, self._used)

    def use_sketch(self, made: Sketch | None) -> None:
        """None if it could not be made. One is not used if most vectors have come since."""
        late, self._put_meanwhile = self._put_meanwhile, None
        if made is None or late is None or len(late) > self.count - len(late):
            return
        if self.count != len(self._rows_of) or not self.count:
            return
        before = self._rows
        if made.whole is not None:
            self._rows, made.whole = _grown(made.whole, len(self._owners)), None
        if late:
            places = sorted(late)
            rows = singles_in(before, places)
            self._set_rows(places, rows)
            made.put(places, rows)
        self.sketch = made

    def cosines(self, owners: Sequence[int], query: Vector) -> list[float]:
        """The plain cosine of each document's best row, or `ABSENT`."""
        if not self.fits(query):
            return [ABSENT] * len(owners)
        if self.count == len(self._rows_of):
            rows = self.first_rows(np.array(owners, np.intp))
            found = zip(rows.tolist(), self.dots_at(rows, query).tolist(), strict=True)
            return [ABSENT if row < 0 else dot for row, dot in found]
        places = [self._rows_of.get(owner, ()) for owner in owners]
        dots = iter(self.dots_at([place for own in places for place in own], query).tolist())
        return [max([next(dots) for _ in own], default=ABSENT) for own in places]

    def similarity(self, wanted: Wanted, capacity: int) -> Vector:
        """See `Comparison`."""
        if not self.fits(wanted.direction):
            return np.zeros(capacity, np.float32)
        similarity = self._all_dots(wanted.direction)
        similarity -= np.float32(wanted.in_common)
        if self.are_rows_in_order(capacity):
            return similarity
        owners = self._owners[: self._used]
        # The entry past the end collects the rows of NO_OWNER.
        best = np.zeros(capacity + 1, np.float32)
        if self.count > len(self._rows_of):
            best[owners] = ABSENT
            np.maximum.at(best, owners, similarity)
        else:  # one row per document: no best to look for
            best[owners] = similarity
        return best[:-1]

    def are_rows_in_order(self, capacity: int) -> bool:
        """Whether each document below `capacity` has one row, with the document's number."""
        return self._is_in_order and self._used == capacity

    def _all_dots(self, query: Vector) -> Vector:
        """The query and each row, by its short form if there is one."""
        if self.sketch is not None:
            return self.sketch.dots(query, self._used)
        return singles_in(self._rows, slice(0, self._used)) @ query

    def dots_at(self, places: Sequence[int] | NDArray[np.intp], query: Vector) -> Vector:
        """The query and some rows."""
        some = _taken(self._rows, places)
        if isinstance(some, ByteRows):
            return (some.rows.astype(np.float32) @ query) * some.scales
        return some @ query

    def first_rows(self, owners: NDArray[np.intp]) -> NDArray[np.intp]:
        """A document without a row has `NO_ROW`, which can be compared as if it were one."""
        if len(self._first_row_of) > int(owners.max(initial=NO_OWNER)):
            return self._first_row_of[owners].astype(np.intp)
        places = np.full(len(owners), NO_ROW)
        is_known = owners < len(self._first_row_of)
        places[is_known] = self._first_row_of[owners[is_known]]
        return places

    def _set_rows(self, places: list[int], rows: Matrix) -> None:
        if isinstance(self._rows, ByteRows):
            self._rows.rows[places], self._rows.scales[places] = in_bytes(rows)
        else:
            self._rows[places] = rows

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
        self.sketch = None
        self._used = 0
        self._is_in_order = True
        self.total = np.zeros(dimensions, np.float32)

    def _next_place(self) -> int:
        if self._used == len(self._owners):
            added = _room(self._used)
            self._rows = _grown(self._rows, self._used + added)
            self._owners = np.concatenate([self._owners, np.full(added, NO_OWNER)])
        self._used += 1
        return self._used - 1


def _taken(rows: Matrix | ByteRows, places: Sequence[int] | NDArray[np.intp]) -> Matrix | ByteRows:
    at = np.asarray(places, np.intp)
    if isinstance(rows, ByteRows):
        return ByteRows(rows.rows.take(at, axis=0), rows.scales.take(at))
    return rows.take(at, axis=0)


def _grown(rows: Matrix | ByteRows, size: int) -> Matrix | ByteRows:
    """The rows with so many zeros behind them that there are `size`."""
    if isinstance(rows, ByteRows):
        return ByteRows(_longer(rows.rows, size), _longer(rows.scales, size))
    return _longer(rows, size)


def _longer(array: Array, size: int) -> Array:
    made = np.zeros((size, *array.shape[1:]), array.dtype)
    made[: len(array)] = array
    return made


def _with_room(rows: Matrix | ByteRows) -> Matrix | ByteRows:
    """A copy with room behind it: the first new one must not copy all of them."""
    if isinstance(rows, ByteRows):
        return ByteRows(_with_room_behind(rows.rows), _with_room_behind(rows.scales))
    return _with_room_behind(rows)


def _with_room_behind(array: Array) -> Array:
    return _longer(array, len(array) + _room(len(array)))


def _sum_of(rows: Matrix | ByteRows, used: int) -> Vector:
    total: Vector = np.zeros(0, np.float32)
    for start in range(0, used, _SUMMED_AT_ONCE):
        some = singles_in(rows, slice(start, min(start + _SUMMED_AT_ONCE, used)))
        total = some.sum(axis=0, dtype=np.float32) + (total if start else 0)
    return total


def _room(used: int) -> int:
    """For so many more rows there is room; what is not used takes no memory."""
    return max(64, used // 4)


def unit(vector: Vector) -> Vector:
    length = length_of(vector)
    return vector / np.float32(length) if length else vector


def length_of(vector: Vector) -> float:
    return math.sqrt(float(vector @ vector))


def wanted_by(query: Vector, all_vectors: Sequence[Vectors], weight: float = 1.0) -> Wanted:
    """What to compare these vectors with, instead of the query; weighted."""
    common = common_part(all_vectors, query)
    beyond = query - common
    length = length_of(beyond)
    direction = beyond * np.float32(weight / length) if length else beyond
    return Wanted(direction, float(common @ direction))


def common_part(all_vectors: Sequence[Vectors], query: Vector) -> Vector:
    """The mean of all vectors that can be compared with the query."""
    fitting = [vectors for vectors in all_vectors if vectors.fits(query)]
    if not fitting:
        return np.zeros_like(query)
    total: Vector = sum([vectors.total for vectors in fitting[1:]], fitting[0].total)
    return total / np.float32(_COMMON_PRIOR + sum([vectors.count for vectors in fitting]))
