"""How work in a thread learns that nobody wants it any more.

A thread cannot be cancelled, only asked. So a loop that may go on for seconds asks by itself, once
a step, whether the task that waits for it was cancelled: by the end of the daemon, by a person, by
a deadline. Then it raises what the task would have raised. What must never be left half done is
done `to_the_end`.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from typing import TypeVar

import anyio
import anyio.from_thread

Item = TypeVar("Item")

_goes_to_the_end: ContextVar[bool] = ContextVar("goes_to_the_end", default=False)


def stop_if_cancelled() -> None:
    """Raises where the task behind this thread was cancelled; elsewhere it does nothing."""
    if not _goes_to_the_end.get():
        with suppress(anyio.NoEventLoopError):
            anyio.from_thread.check_cancelled()


def while_wanted(items: Iterable[Item]) -> Iterator[Item]:
    """The items, with a look before each whether anybody still waits for what is made of them."""
    for item in items:
        stop_if_cancelled()
        yield item


@contextmanager
def to_the_end() -> Iterator[None]:
    """Inside nothing is stopped, however many loops ask."""
    before = _goes_to_the_end.set(True)
    try:
        yield
    finally:
        _goes_to_the_end.reset(before)
