"""Sessions for which memory is off, as their own hooks said; kept for the turns that end later."""

from collections.abc import Mapping
from typing import Final

import msgspec

from memoryd.memories.rules.session_marks import why_off
from memoryd.system.database import Database

KEEP_SECONDS: Final = 90 * 86_400.0


class SessionSwitches:
    """`note` and `is_off` are for the event loop; `save` and `reason` block."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._off: dict[str, str] = {}

    def note(self, session_id: str, marks: Mapping[str, str]) -> str:
        """Why memory is off for this session, empty if it is on; the newest hook is right."""
        reason = why_off(marks) if session_id else ""
        if reason:
            self._off[session_id] = reason
        else:
            self._off.pop(session_id, None)
        return reason

    def save(self, session_id: str, reason: str, at: float) -> None:
        """A restart must not extract what was said while memory was off."""
        with self._database.transaction():
            self._database.run("delete from sessions_off where at < ?", at - KEEP_SECONDS)
            self._database.run(
                "insert or replace into sessions_off (session_id, reason, at) values (?, ?, ?)",
                session_id,
                reason,
                at,
            )

    def reason(self, session_id: str) -> str:
        """Why memory is off for a session, empty if it is on."""
        if session_id in self._off:
            return self._off[session_id]
        rows = self._database.run(
            "select reason from sessions_off where session_id = ?", session_id
        )
        found = msgspec.convert(rows, list[tuple[str]])
        return found[0][0] if found else ""
