"""What a session already has, besides what recall gave it.

- Loaded: what MEMORY.md says whole, as the client read it at the session's start.
- Learned: memories that the session wrote or read itself, seen in its finished turns. A compaction
  loses them, so they may be given again.
- Tools in use: what its last calls were made with. Notes on how to use them are noise to it.
- What was extracted from the session carries its id in the header (`source`); `answer` leaves it
  out by that.

Kept in memory only: after a restart of the daemon a session may at worst be given something that
it has.
"""

import posixpath
from collections.abc import Iterable
from typing import Final

import msgspec

from memoryd.recall.rules.tool_notes import tool_names
from memoryd.recall.rules.tool_rules import ToolCall
from memoryd.transcripts.rules.turns import Turn

MOST_SESSIONS: Final = 1000
MOST_TOOLS: Final = 10
READING_TOOLS: Final = frozenset({"Read", "NotebookRead"})


class SessionHas(msgspec.Struct, frozen=True):
    """The paths of the memories that a session has, and the tools that it used last."""

    paths: frozenset[str] = frozenset()
    tools: tuple[str, ...] = ()


class SessionKnowledge:
    """To be used on the event loop."""

    def __init__(self) -> None:
        self._loaded: dict[str, frozenset[str]] = {}
        self._learned: dict[str, set[str]] = {}
        self._tools: dict[str, list[str]] = {}

    def of(self, session_id: str) -> SessionHas:
        learned = self._learned.get(session_id, set())
        return SessionHas(
            self._loaded.get(session_id, frozenset()) | learned,
            tuple(self._tools.get(session_id, ())),
        )

    def loaded(self, session_id: str, paths: Iterable[str]) -> None:
        """The session began, or begins again after a compaction, with these in its context."""
        _make_room(self._loaded)
        self._loaded[session_id] = frozenset(paths)

    def tools_used(self, session_id: str, calls: Iterable[ToolCall]) -> None:
        _make_room(self._tools)
        used = [*self._tools.get(session_id, ()), *tool_names(calls)]
        self._tools[session_id] = list(dict.fromkeys(reversed(used)))[:MOST_TOOLS][::-1]

    def turn_ended(self, turn: Turn) -> None:
        if touched := paths_touched(turn):
            _make_room(self._learned)
            self._learned.setdefault(turn.session_id, set()).update(touched)

    def forget(self, session_id: str) -> None:
        self._learned.pop(session_id, None)


def paths_touched(turn: Turn) -> set[str]:
    """The Markdown files that a turn wrote or read, absolute."""
    read = (call.gist for call in turn.tool_calls if call.tool in READING_TOOLS)
    return {
        posixpath.normpath(posixpath.join(turn.cwd, path))
        for path in (*turn.files_written, *read)
        if path.endswith(".md")
    }


def _make_room(
    sessions: dict[str, frozenset[str]] | dict[str, set[str]] | dict[str, list[str]],
) -> None:
    if len(sessions) >= MOST_SESSIONS:
        del sessions[next(iter(sessions))]
