"""Short forms of many vectors, which say nearly the same about which are similar.

Comparing a query with 20,000 vectors of 512 numbers reads 40 MB, or 10 MB in bytes. The vectors of
one store lie mostly along few directions, so all of them are compared along these, and only those
that may be among the best are compared whole.

The directions fit what most memories are about. A memory about something else lies mostly beyond
them, and so does a query for it. Whether they are similar there is not known, so a part of the most
that it could add counts: such a memory is then compared whole as well.

Measured with 23,000 paragraphs of documentation, 28 memories about other things, and 358 queries:
of the five best by words and meaning none is lost; of the twenty best none for queries about
documentation, and one or two in a hundred for queries about the other things.
"""

from collections.abc import Sequence

import numpy as np

from memoryd.recall.rules.byte_rows import ByteRows, Matrix, Vector, in_bytes, in_singles

# Fewer are compared whole in a tenth of a millisecond.
MANY = 1_024
_DIRECTIONS = 64
# Of what the parts beyond the directions could add at the most.
_HOPE = 0.2
_SAMPLE = 1_024
_ROWS_AT_ONCE = 256


class Sketch:
    """Made in a thread, then used on the event loop like the vectors themselves.

    `directions` has a row for each, worked out from the `made_from` vectors that there were then;
    `put_since` is how many have come since. `columns` has a column for each vector, since columns
    are compared faster than rows: the vector along the directions and, last, the length of what
    lies beyond them. `whole` are the vectors in bytes, until somebody takes them; None if they were
    in bytes before.
    """

    def __init__(
        self, directions: Matrix, columns: Matrix, made_from: int, whole: ByteRows | None = None
    ) -> None:
        self.directions = directions
        self.columns = columns
        self.made_from = made_from
        self.put_since = 0
        self.whole = whole

    @classmethod
    def made_of(cls, rows: Matrix | ByteRows, used: int) -> "Sketch":
        """Takes some hundred milliseconds for 20,000 rows; behind `used` there is room for more."""
        room = len(rows.scales) if isinstance(rows, ByteRows) else len(rows)
        sample = singles_in(rows, slice(0, used, max(1, used // _SAMPLE)))
        directions = _directions_of(sample)
        made = cls(directions, np.zeros((len(directions) + 1, room), np.float32), used)
        if not isinstance(rows, ByteRows):
            made.whole = ByteRows(np.zeros(rows.shape, np.int8), np.zeros(room, np.float32))
        for start in range(0, used, _ROWS_AT_ONCE):
            block = slice(start, min(start + _ROWS_AT_ONCE, used))
            some = singles_in(rows, block)
            made.columns[:, block] = _along_and_beyond(directions, some)
            if made.whole is not None:
                made.whole.rows[block], made.whole.scales[block] = in_bytes(some)
        return made

    def dots(self, query: Vector, used: int) -> Vector:
        """The query and each of the first vectors, nearly."""
        column = _along_and_beyond(self.directions, query[np.newaxis])[:, 0]
        column[-1] *= _HOPE
        found: Vector = column @ self.columns[:, :used]
        return found

    def put(self, places: Sequence[int], rows: Matrix) -> None:
        room, needed = self.columns.shape[1], max(places, default=0) + 1
        if needed > room:
            self.columns = wider(self.columns, max(needed, room + 64, room + room // 4))
        self.columns[:, places] = _along_and_beyond(self.directions, rows)
        self.put_since += len(places)

    @property
    def is_outdated(self) -> bool:
        """Whether more vectors have come than it was made from."""
        return self.put_since >= self.made_from


def _along_and_beyond(directions: Matrix, rows: Matrix) -> Matrix:
    """A column for each row."""
    along = directions @ rows.T
    beyond = (rows * rows).sum(axis=1) - (along * along).sum(axis=0)
    return np.concatenate([along, np.sqrt(np.maximum(beyond, 0))[np.newaxis]])


def wider(columns: Matrix, room: int) -> Matrix:
    """The columns with so many zeros behind them that there are `room`."""
    made = np.zeros((len(columns), room), np.float32)
    made[:, : columns.shape[1]] = columns
    return made


def singles_in(rows: Matrix | ByteRows, places: slice | Sequence[int]) -> Matrix:
    """Some rows as numbers, however they are held."""
    if isinstance(rows, ByteRows):
        return in_singles(ByteRows(rows.rows[places], rows.scales[places]))
    return rows[places]


def _directions_of(sample: Matrix) -> Matrix:
    """Those along which most of the vectors lies; what all have in common is not left out."""
    _, found = np.linalg.eigh(sample.T @ sample)
    return np.ascontiguousarray(found[:, : -_DIRECTIONS - 1 : -1].T)
