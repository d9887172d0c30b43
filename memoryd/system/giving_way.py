"""How long work in a thread gives way to those who wait for an answer.

A thread that computes shares the interpreter with every answer, which then takes twice as long. So
a loop that may run for seconds asks at each step whether somebody waits, and pauses until nobody
does. A pause has an end, and some work follows each: the loop ends, however many ask.
"""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

WORK_SECONDS: Final = 0.002
PAUSE_SECONDS: Final = 0.01


class _Turn:
    """`quiet` is set while nobody waits."""

    def __init__(self, quiet: threading.Event) -> None:
        self.quiet = quiet
        self.resumed = time.monotonic()


_turn: ContextVar[_Turn | None] = ContextVar("turn", default=None)


def give_way() -> None:
    """Pauses while somebody waits for an answer, unless this thread has only just gone on."""
    turn = _turn.get()
    if turn is None or turn.quiet.is_set():
        return
    if time.monotonic() - turn.resumed >= WORK_SECONDS:
        turn.quiet.wait(PAUSE_SECONDS)
        turn.resumed = time.monotonic()


@contextmanager
def giving_way(quiet: threading.Event | None) -> Iterator[None]:
    """Work inside pauses while `quiet` is not set; with None it does not."""
    before = _turn.set(None if quiet is None else _Turn(quiet))
    try:
        yield
    finally:
        _turn.reset(before)
