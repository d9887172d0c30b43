"""What each session was given already, and how many bytes that was.

It is known in memory and written down right after the answer: nobody waits for the disk, nor for
whoever else is writing to it. A restart reads it again; a stop writes what is left to write.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Final

import anyio
import anyio.to_thread
import structlog

from memoryd.base.errors import StorageError
from memoryd.system.database import Cell, Database

MOST_SESSIONS: Final = 1000

log = structlog.get_logger(__name__)

_Deed = tuple[str, Sequence[Sequence[Cell]]]


class Surfaced:
    """To be used on the event loop."""

    def __init__(self, state: Database, now: Callable[[], float]) -> None:
        self._state = state
        self._now = now
        self._sessions: dict[str, dict[str, int]] = {}
        self._unwritten: list[_Deed] = []
        self._is_behind = anyio.Event()

    def of(self, session_id: str) -> Mapping[str, int]:
        """The paths that a session was given, with their bytes; none for no session."""
        return self._known(session_id) if session_id else {}

    def add(self, session_id: str, sizes: Mapping[str, int]) -> None:
        if session_id and sizes:
            self._known(session_id).update(sizes)
            rows = [(session_id, path, size, self._now()) for path, size in sizes.items()]
            self._write_soon("insert or replace into surfaced values (?, ?, ?, ?)", rows)

    def forget(self, session_id: str) -> None:
        """After a compaction the session has lost what it was given: it may be given again."""
        self._sessions[session_id] = {}
        self._write_soon("delete from surfaced where session_id = ?", [(session_id,)])

    async def run(self) -> None:
        """Writes down what came in, until cancelled; then the rest."""
        try:
            while True:
                await self._is_behind.wait()
                self._is_behind = anyio.Event()
                await anyio.to_thread.run_sync(self._write, self._taken())
        finally:
            self._write(self._taken())

    def _known(self, session_id: str) -> dict[str, int]:
        known = self._sessions.get(session_id)
        if known is None:
            asked = "select path, bytes from surfaced where session_id = ?"
            known = {str(path): int(str(n)) for path, n in self._state.run(asked, session_id)}
            if len(self._sessions) >= MOST_SESSIONS:
                del self._sessions[next(iter(self._sessions))]
            self._sessions[session_id] = known
        return known

    def _write_soon(self, sql: str, rows: Sequence[Sequence[Cell]]) -> None:
        self._unwritten.append((sql, rows))
        self._is_behind.set()

    def _taken(self) -> list[_Deed]:
        taken, self._unwritten = self._unwritten, []
        return taken

    def _write(self, deeds: Sequence[_Deed]) -> None:
        try:
            with self._state.transaction():
                for sql, rows in deeds:
                    self._state.run_many(sql, rows)
        except StorageError as error:  # on a full disk the daemon still knows it
            log.warning("surfaced-not-noted", reason=error.message)
