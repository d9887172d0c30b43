"""Which of many scores are the largest."""

from typing import Any, Final

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
    places = (scores >= _least_of_largest(scores, count) - margin).nonzero()[0]
    if len(places) <= most:
        return places
    return places[_places_of_largest_of_few(scores[places], most)]


def places_of_largest(scores: Numbers, count: int) -> NDArray[np.intp]:
    """Where the `count` largest are, in no order; of equal ones any may be left out."""
    return places_near_largest(scores, count, 0.0, count)


def _least_of_largest(scores: Numbers, count: int) -> np.floating[Any]:
    """What the `count` largest reach, and not many others do."""
    columns = len(scores) // _ROWS
    if len(scores) < MANY or columns <= count:
        some = scores.copy()
    else:
        # At least `count` scores reach the `count`-th best of the columns' maxima.
        some = np.maximum.reduce(scores[: _ROWS * columns].reshape(_ROWS, columns))
    some.partition(len(some) - count)
    least: np.floating[Any] = some[len(some) - count]
    return least


def _places_of_largest_of_few(scores: Numbers, count: int) -> NDArray[np.intp]:
    return scores.argpartition(len(scores) - count)[len(scores) - count :]
