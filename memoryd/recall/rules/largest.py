"""Which of many scores are the largest."""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from memoryd.recall.rules.postings import Scores

# So many are laid out in rows; fewer are sorted at once.
MANY: Final = 4_096
_ROWS: Final = 8
_SAMPLE: Final = 2_048


def places_of_about(scores: Scores, count: int) -> NDArray[np.intp]:
    """Where about `count` of the largest are, in order: more of them where many are equal."""
    step = max(1, len(scores) // _SAMPLE)
    some = scores[::step]
    wanted = max(1, count // step)
    if wanted >= len(some):
        return np.arange(len(scores))
    return np.flatnonzero(scores >= np.partition(some, -wanted)[-wanted])


def places_of_largest(scores: Scores, count: int) -> NDArray[np.intp]:
    """Where the `count` largest are, in no order; of equal ones any may be left out."""
    if len(scores) <= count:
        return np.arange(len(scores))
    columns = len(scores) // _ROWS
    if len(scores) < MANY or columns <= count:
        return np.argpartition(scores, -count)[-count:]
    # At least `count` scores reach the `count`-th best of the columns' maxima. So none below that
    # is among the largest, and not many are above it.
    best_of_columns = scores[: _ROWS * columns].reshape(_ROWS, columns).max(axis=0)
    some = np.flatnonzero(scores >= np.partition(best_of_columns, -count)[-count])
    return some[np.argpartition(scores[some], -count)[-count:]]
