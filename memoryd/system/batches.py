"""Work of many threads for one place, done together by the one that comes first.

A thread that asks while another one holds the place's lock waits, and so do those after it. The
next one to get the lock does the work of all, one after the other, inside one `batch`: what a batch
costs is paid once. A thread returns when its own work is done and its batch has ended; an error is
that of its own work.
"""

import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Generic, TypeVar

from memoryd.system.cancellation import uncancellable

Result = TypeVar("Result")


class _Waiting(Generic[Result]):
    """One piece of work, and what became of it."""

    def __init__(self, work: Callable[[], Result]) -> None:
        self._work = work
        self._results: list[Result] = []
        self._error: BaseException | None = None
        self.is_done = False

    def do(self) -> None:
        try:
            self._results.append(self._work())
        except BaseException as error:  # noqa: BLE001 - raised in the thread that asked
            self._error = error

    def failed(self, error: BaseException) -> None:
        self._error = self._error or error

    def result(self) -> Result:
        if self._error is not None:
            raise self._error
        return self._results[0]


class Batches(Generic[Result]):
    """The batches of any number of places."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._waiting: dict[str, list[_Waiting[Result]]] = {}

    def waiting(self, place: str) -> int:
        """How much work waits for a place."""
        with self._guard:
            return len(self._waiting.get(place, ()))

    def run(
        self,
        place: str,
        work: Callable[[], Result],
        *,
        lock: AbstractContextManager[object],
        batch: AbstractContextManager[None],
    ) -> Result:
        """Does the work, alone or with that of others; blocks until it is done.

        `lock` is that of the place: what waits for it is done by the thread that gets it first.
        """
        mine = _Waiting(work)
        with self._guard:
            self._waiting.setdefault(place, []).append(mine)
        with lock:
            if not mine.is_done:
                with self._guard:
                    together = self._waiting.pop(place)
                _do_all(together, batch)
        return mine.result()


def _do_all(together: list[_Waiting[Result]], batch: AbstractContextManager[None]) -> None:
    """A client that leaves must not stop the work of the others, so nothing is cancelled here."""
    try:
        with uncancellable(), batch:
            for one in together:
                one.do()
    except BaseException as error:  # noqa: BLE001 - raised in the threads that asked
        for one in together:
            one.failed(error)
    for one in together:
        one.is_done = True
