"""What each session was already given, and how many bytes that was.

It is kept in memory and saved right after the answer, so that no answer waits for the disk. After a
restart it is read again, in a thread; a stop saves the rest.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Final

import anyio
import anyio.to_thread
import structlog

from memoryd.base.errors import StorageError
from memoryd.recall.recall_table import COUNT_ONE
from memoryd.system.database import Cell, Database

MOST_SESSIONS: Final = 1000

log = structlog.get_logger(__name__)

_Write = tuple[str, Sequence[Sequence[Cell]]]


class Surfaced:
    """To be used on the event loop."""

    def __init__(self, database: Database, now: Callable[[], float]) -> None:
        self._database = database
        self._now = now
        self._sessions: dict[str, dict[str, int]] = {}
        self._unsaved: list[_Write] = []
        self._is_behind = anyio.Event()

    async def of(self, session_id: str) -> Mapping[str, int]:
        """The paths that a session was given, with their bytes; empty without a session."""
        if not session_id:
            return {}
        if session_id not in self._sessions:
            saved = await anyio.to_thread.run_sync(self._saved, session_id)
            # What was added or forgotten while we waited is newer than what we read.
            self._keep(session_id, self._sessions.get(session_id, saved))
        return self._sessions[session_id]

    def add(self, session_id: str, sizes: Mapping[str, int]) -> None:
        if session_id and sizes:
            self._keep(session_id, {**self._sessions.get(session_id, {}), **sizes})
            now = self._now()
            rows = [(session_id, path, size, now) for path, size in sizes.items()]
            self._save_soon("insert or replace into surfaced values (?, ?, ?, ?)", rows)
            self._save_soon(COUNT_ONE, [(path, now, session_id) for path in sizes])

    def forget(self, session_id: str) -> None:
        """A compacted session has lost what it was given, so it may be given again."""
        self._keep(session_id, {})
        self._save_soon("delete from surfaced where session_id = ?", [(session_id,)])

    def moved(self, old_path: str, new_path: str) -> None:
        """A session that was given a memory still has it when the memory has moved."""
        for known in self._sessions.values():
            if old_path in known:
                known[new_path] = known.pop(old_path)
        sql = "update or replace surfaced set path = ? where path = ?"
        self._save_soon(sql, [(new_path, old_path)])

    async def run(self) -> None:
        """Saves new entries until cancelled; then the rest, blocking, since the loop is ending."""
        try:
            while True:
                await self._is_behind.wait()
                self._is_behind = anyio.Event()
                await anyio.to_thread.run_sync(self._save, self._take_unsaved())
        finally:
            self._save(self._take_unsaved())

    def _keep(self, session_id: str, known: dict[str, int]) -> None:
        if session_id not in self._sessions and len(self._sessions) >= MOST_SESSIONS:
            del self._sessions[next(iter(self._sessions))]
        self._sessions[session_id] = known

    def _saved(self, session_id: str) -> dict[str, int]:
        sql = "select path, bytes from surfaced where session_id = ?"
        try:
            rows = self._database.run(sql, session_id)
        except StorageError as error:  # at worst a memory is given twice
            log.warning("surfaced-not-read", reason=error.message)
            return {}
        return {str(path): int(str(size)) for path, size in rows}

    def _save_soon(self, sql: str, rows: Sequence[Sequence[Cell]]) -> None:
        self._unsaved.append((sql, rows))
        self._is_behind.set()

    def _take_unsaved(self) -> list[_Write]:
        taken, self._unsaved = self._unsaved, []
        return taken

    def _save(self, writes: Sequence[_Write]) -> None:
        try:
            with self._database.transaction():
                for sql, rows in writes:
                    self._database.run_many(sql, rows)
        except StorageError as error:  # the daemon still has it in memory
            log.warning("surfaced-not-saved", reason=error.message)
