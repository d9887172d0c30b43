"""Crash loops in short and in full.

A loop that kills a writer at each of its steps is the best test that we have, and the slowest.
`make test` takes about every tenth step, always the same ones; `make kills` (`pytest --soak`) takes
all of them.
"""

from collections.abc import Iterator, Sequence
from itertools import count, product
from typing import Any, TypeVar

# Odd, so that steps which alternate (before a call, after it) are both taken.
EVERY = 9

Step = TypeVar("Step")


class Thinning:
    """Set once, by conftest.py, from the command line."""

    is_whole = False
    steps_tried = 0


def thinned(steps: Sequence[Step], every: int = EVERY) -> Sequence[Step]:
    """About every tenth step with the first and the last, or all of them with --soak."""
    chosen = steps if Thinning.is_whole or not steps else [*steps[:-1:every], steps[-1]]
    Thinning.steps_tried += len(chosen)
    return chosen


def hardest(steps: Sequence[Step]) -> Sequence[Step]:
    """The last step alone, which the caller has put there for that, or all of them with --soak."""
    return steps if Thinning.is_whole else steps[-1:]


def diagonal(*axes: Sequence[Any]) -> list[tuple[Any, ...]]:
    """Combinations in which each value occurs, or all combinations with --soak."""
    if Thinning.is_whole:
        return list(product(*axes))
    longest = max(map(len, axes))
    return [tuple(axis[at % len(axis)] for axis in axes) for at in range(longest)]


def strides(first: int = 1) -> Iterator[int]:
    """The steps of a loop without a known end: about every tenth, or all of them with --soak."""
    for step in count(first, stride()):
        Thinning.steps_tried += 1
        yield step


def stride(every: int = EVERY) -> int:
    """By how much a loop without a known end goes on."""
    return 1 if Thinning.is_whole else every
