"""Short forms of many vectors, which say nearly the same about which are similar.

Comparing a query with 20,000 vectors of 512 numbers reads 40 MB, or 10 MB in bytes. The vectors of
one store differ mostly in few directions, so all of them are compared along these, and only those
that may be among the best are compared whole.

Measured with paragraphs of documentation and 700 queries: of the five best by words and meaning,
.997 are found among 3,000, .995 among 20,000 and .994 among 50,000. What is found instead scores
nearly the same. The more are wanted, the more are compared whole.
"""

from collections.abc import Sequence

import numpy as np

from memoryd.recall.rules.byte_rows import ByteRows, Matrix, Vector, in_bytes, in_singles

# Fewer are compared whole in a tenth of a millisecond.
MANY = 1_024
# More are compared along fewer directions: a query reads all of them.
VERY_MANY = 8_192
_DIRECTIONS = 64
_DIRECTIONS_OF_VERY_MANY = 32
_SAMPLE = 1_024
_ROWS_AT_ONCE = 256


class Sketch:
    """Made in a thread, then used on the event loop like the vectors themselves.

    The directions, a row each, are those of the `made_from` vectors that there were then. `columns`
    has a column for each vector: so they are compared faster than in rows. `whole` are the vectors
    in bytes, until somebody takes them; None if they were in bytes before.
    """

    def __init__(
        self, directions: Matrix, columns: Matrix, made_from: int, whole: ByteRows | None = None
    ) -> None:
        self.directions = directions
        self.columns = columns
        self.made_from = made_from
        self.whole = whole

    @classmethod
    def made_of(cls, rows: Matrix | ByteRows, used: int) -> "Sketch":
        """Takes some hundred milliseconds for 20,000 rows; behind `used` there is room for more."""
        room = len(rows.scales) if isinstance(rows, ByteRows) else len(rows)
        sample = singles_in(rows, slice(0, used, max(1, used // _SAMPLE)))
        most = _DIRECTIONS_OF_VERY_MANY if used >= VERY_MANY else _DIRECTIONS
        directions = _directions_of(sample, most)
        made = cls(directions, np.zeros((len(directions), room), np.float32), used)
        if not isinstance(rows, ByteRows):
            made.whole = ByteRows(np.zeros(rows.shape, np.int8), np.zeros(room, np.float32))
        for start in range(0, used, _ROWS_AT_ONCE):
            block = slice(start, min(start + _ROWS_AT_ONCE, used))
            some = singles_in(rows, block)
            made.columns[:, block] = directions @ some.T
            if made.whole is not None:
                made.whole.rows[block], made.whole.scales[block] = in_bytes(some)
        return made

    def dots(self, query: Vector, used: int) -> Vector:
        """The query and each of the first vectors, along the directions."""
        along: Vector = self.directions @ query
        return along @ self.columns[:, :used]

    def put(self, place: int, row: Vector) -> None:
        room = self.columns.shape[1]
        if place >= room:
            self.columns = wider(self.columns, max(place + 1, room + 64, room + room // 4))
        self.columns[:, place] = self.directions @ row


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


def _directions_of(sample: Matrix, most: int) -> Matrix:
    spread = sample - sample.mean(axis=0)
    _, found = np.linalg.eigh(spread.T @ spread)
    return np.ascontiguousarray(found[:, : -most - 1 : -1].T)
