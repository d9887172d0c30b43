"""A model's choices that arrive after the hook that asked for them has answered.

- One per session: a new prompt replaces the choice for the one before, unless that one still fits.
- A choice is delivered once, by the next hook that can carry it.
- The same prompt is not asked about twice.
"""

from collections.abc import Collection
from typing import Final

import msgspec

MOST_SESSIONS: Final = 1000


class _Choice(msgspec.Struct):
    prompt: str
    paths: list[str]


class LateChoices:
    """To be used on the event loop."""

    def __init__(self) -> None:
        self._sessions: dict[str, _Choice] = {}

    def begin(self, session_id: str, prompt: str) -> bool:
        """Whether to ask: not again for the same prompt."""
        known = self._sessions.get(session_id)
        if known is not None and known.prompt == prompt:
            return False
        if len(self._sessions) >= MOST_SESSIONS:
            del self._sessions[next(iter(self._sessions))]
        self._sessions[session_id] = _Choice(prompt, [])
        return True

    def arrived(self, session_id: str, prompt: str, paths: Collection[str]) -> None:
        """Dropped if the session has moved on to another prompt."""
        known = self._sessions.get(session_id)
        if known is not None and known.prompt == prompt:
            known.paths = list(paths)

    def take(self, session_id: str) -> list[str]:
        """What arrived and was not delivered yet."""
        known = self._sessions.get(session_id)
        if known is None:
            return []
        taken, known.paths = known.paths, []
        return taken

    def forget(self, session_id: str) -> None:
        self._sessions.pop(session_id, None)
