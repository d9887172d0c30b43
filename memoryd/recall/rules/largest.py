"""Which of many scores are the largest."""

from typing import Final

import numpy as np
from numpy.typing import NDArray

# So many are laid out in rows; fewer are sorted at once.
MANY: Final = 4_096
_ROWS: Final = 16

Numbers = NDArray[np.float32] | NDArray[np.float64]


def places_near_largest(scores: Numbers, count: int, margin: float, most: int) -> NDArray[np.intp]:
    """Where the `count` largest are, and those that are below them by `margin` or less.

    If there are more than `most`, where the `most` largest are; in no order.
    """
    if len(scores) <= count:
        return np.arange(len(scores))
    places = (scores >= _least_near_largest(scores, count, margin, most)).nonzero()[0]
    if len(places) <= most:
        return places
    some = scores[places]
    return places[some.argpartition(len(some) - most)[len(some) - most :]]


def places_of_largest(scores: Numbers, count: int) -> NDArray[np.intp]:
    """Where the `count` largest are, in no order; of equal ones any may be left out."""
    return places_near_largest(scores, count, 0.0, count)


def _least_near_largest(scores: Numbers, count: int, margin: float, most: int) -> float:
    """A bound that each score which is wanted reaches, and few others do."""
    columns = len(scores) // _ROWS
    if len(scores) < MANY or columns <= most:
        some = scores.copy()
    else:
        # The n-th largest of the columns' maxima is no more than the n-th largest score.
        some = np.maximum.reduce(scores[: _ROWS * columns].reshape(_ROWS, columns))
    size = len(some)
    if size <= most:
        some.partition(size - count)
        return float(some[size - count]) - margin
    some.partition((size - most, size - count))
    return max(float(some[size - count]) - margin, float(some[size - most]))
