"""How far each session was when its notes were last written: one row for each session."""

from memoryd.sessions.rules.notes import NotesProgress
from memoryd.system.database import Database
from memoryd.transcripts.rules.open_turn import OpenTurn
from memoryd.transcripts.rules.turns import Turn


class NotesTable:
    """Blocks; callers use it in worker threads."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def count(self, turn: Turn) -> NotesProgress:
        """Counts a finished turn and returns how far its session is."""
        self._database.run(
            "insert into session_notes (session_id, tool_calls) values (?, ?)"
            " on conflict (session_id) do update set tool_calls = tool_calls + ?",
            turn.session_id,
            turn.tool_call_count,
            turn.tool_call_count,
        )
        asks = not turn.complete
        return self._progress(turn.session_id, turn.context_tokens, 0, asks_for_tools=asks)

    def with_open(self, turn: OpenTurn) -> NotesProgress:
        """How far a session is with a turn that still runs and is not counted yet."""
        return self._progress(
            turn.session_id, turn.context_tokens, turn.tool_calls, asks_for_tools=True
        )

    def record(self, session_id: str, last: Turn, *, uncounted_calls: int) -> None:
        """Notes were written that cover a session up to this turn.

        `uncounted_calls` are those of a turn that still runs: they are counted when it ends.
        """
        self._database.run(
            "insert into session_notes (session_id, noted_tokens, covered, noted_tool_calls)"
            " values (?, ?, ?, ?)"
            " on conflict (session_id) do update set noted_tokens = excluded.noted_tokens,"
            " noted_tool_calls = tool_calls + excluded.noted_tool_calls,"
            " covered = excluded.covered",
            session_id,
            last.context_tokens,
            last.ended,
            uncounted_calls,
        )

    def covered(self, session_id: str) -> str:
        """The time up to which notes cover a session; empty if it has none."""
        rows = self._database.run(
            "select covered from session_notes where session_id = ?", session_id
        )
        return str(rows[0][0]) if rows else ""

    def _progress(
        self, session_id: str, context_tokens: int, open_calls: int, *, asks_for_tools: bool
    ) -> NotesProgress:
        rows = self._database.run(
            "select tool_calls, noted_tokens, noted_tool_calls from session_notes"
            " where session_id = ?",
            session_id,
        )
        calls, noted, noted_calls = rows[0] if rows else (0, None, 0)
        return NotesProgress(
            context_tokens=context_tokens,
            tool_calls=int(str(calls)) + open_calls,
            noted_tokens=None if noted is None else int(str(noted)),
            noted_tool_calls=int(str(noted_calls)),
            asks_for_tools=asks_for_tools,
        )
