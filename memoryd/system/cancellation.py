"""How work in a thread notices that its task was cancelled.

A thread cannot be cancelled, it has to ask. So a loop that may run for seconds asks at its first
step, and then every few milliseconds, whether the task that waits for it was cancelled: by
shutdown, by the user, by a deadline. If so it raises what the task would have raised. Work that
must not stop halfway is `uncancellable`. Between two steps it gives way too (`giving_way`).
"""

import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from typing import Final, TypeVar

import anyio
import anyio.from_thread

from memoryd.system.giving_way import WORK_SECONDS, give_way

# As long as work goes on before it gives way: asking takes longer than most steps do.
CHECK_SECONDS: Final = WORK_SECONDS

Item = TypeVar("Item")

_is_uncancellable: ContextVar[bool] = ContextVar("is_uncancellable", default=False)


def stop_if_cancelled() -> None:
    """Raises if the task behind this thread was cancelled; outside a task it does nothing."""
    give_way()
    if not _is_uncancellable.get():
        with suppress(anyio.NoEventLoopError):
            anyio.from_thread.check_cancelled()


def cancellable(items: Iterable[Item]) -> Iterator[Item]:
    """The items, with a check for cancellation before the first and every few milliseconds."""
    due = 0.0
    for item in items:
        if time.monotonic() >= due:
            stop_if_cancelled()
            due = time.monotonic() + CHECK_SECONDS
        yield item


@contextmanager
def uncancellable() -> Iterator[None]:
    """Turns the checks off inside."""
    before = _is_uncancellable.set(True)
    try:
        yield
    finally:
        _is_uncancellable.reset(before)
