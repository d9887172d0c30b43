"""Which transcripts to read next, now or later, each by one worker at a time."""

from collections.abc import Iterator
from contextlib import contextmanager
from heapq import heappop, heappush
from math import inf

import anyio


class WorkQueue:
    """First come, first served. A path added while a worker has it comes up once more."""

    def __init__(self) -> None:
        self._waiting: dict[str, None] = {}
        self._later: list[tuple[float, str]] = []
        self._busy: set[str] = set()
        self._added = anyio.Event()

    @property
    def busy(self) -> frozenset[str]:
        return frozenset(self._busy)

    def add(self, path: str) -> None:
        self._waiting.setdefault(path)
        self._added.set()

    def add_later(self, path: str, delay_seconds: float) -> None:
        heappush(self._later, (anyio.current_time() + delay_seconds, path))
        self._added.set()

    @contextmanager
    def working_on(self, path: str) -> Iterator[None]:
        """Wraps the work on a path returned by `next`."""
        try:
            yield
        finally:
            self._busy.discard(path)
            self._added.set()

    async def next(self) -> str:
        """Waits for a path; no other worker gets it until the work on it is done."""
        while True:
            self._promote_due()
            for path in self._waiting:
                if path not in self._busy:
                    del self._waiting[path]
                    self._busy.add(path)
                    return path
            if self._added.is_set():
                self._added = anyio.Event()  # shared: the next addition wakes all workers
            next_at = self._later[0][0] if self._later else inf
            with anyio.CancelScope(deadline=next_at):
                await self._added.wait()

    def _promote_due(self) -> None:
        while self._later and self._later[0][0] <= anyio.current_time():
            self._waiting.setdefault(heappop(self._later)[1])
