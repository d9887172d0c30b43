"""Crash loops in short and in full.

A loop that kills a writer at each of its steps is the best test that we have, and the slowest.
`make test` takes about every tenth step, always the same ones; `make soak` (`pytest --soak`) takes
all of them.
"""

from collections.abc import Sequence
from typing import TypeVar

# Odd, so that steps which alternate (before a call, after it) are both taken.
EVERY = 9

Step = TypeVar("Step")


class Thinning:
    """Set once, by conftest.py, from the command line."""

    is_whole = False


def thinned(steps: Sequence[Step], every: int = EVERY) -> Sequence[Step]:
    """About every tenth step with the first and the last, or all of them with --soak."""
    if Thinning.is_whole or not steps:
        return steps
    return [*steps[:-1:every], steps[-1]]


def stride(every: int = EVERY) -> int:
    """By how much a loop without a known end goes on."""
    return 1 if Thinning.is_whole else every
