"""Follows what becomes of injected memories until the turn of their prompt ends.

Kept in memory: a turn that ends while the daemon is down leaves no outcome, and none is invented.
"""

from collections.abc import Sequence
from typing import Final

import msgspec

from memoryd.recall.rules.outcomes import Outcome, outcome_of
from memoryd.recall.rules.rendering import Recalled
from memoryd.recall.rules.tool_rules import ToolCall
from memoryd.transcripts.rules.turns import Turn

MOST_SESSIONS: Final = 1000


class _Injected(msgspec.Struct, frozen=True):
    prompt: str
    contents: dict[str, str]


class OutcomeTracker:
    """To be used on the event loop."""

    def __init__(self) -> None:
        self._open: dict[str, _Injected] = {}

    def injected(self, session_id: str, prompt: str, memories: Sequence[Recalled]) -> None:
        if not session_id or not memories:
            return
        if len(self._open) >= MOST_SESSIONS:
            del self._open[next(iter(self._open))]
        self._open[session_id] = _Injected(prompt, {one.path: one.content for one in memories})

    def turn_ended(self, turn: Turn, calls: Sequence[ToolCall]) -> list[tuple[str, Outcome]]:
        """The outcomes of what was injected at this turn's prompt."""
        injected = self._open.get(turn.session_id)
        if injected is None or not _is_turn_of(injected.prompt, turn):
            return []
        del self._open[turn.session_id]
        answer = "\n".join(part.text for part in turn.prose)
        return [
            (path, outcome_of(content, injected.prompt, answer, calls))
            for path, content in injected.contents.items()
        ]


def _is_turn_of(prompt: str, turn: Turn) -> bool:
    """Masked parts may differ, so the start decides."""
    return any(part.text.strip()[:40] == prompt.strip()[:40] for part in turn.prompts)
