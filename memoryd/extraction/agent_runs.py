"""What a named sub-agent did becomes work for extraction, if that agent has a memory.

Rules
- A run that has ended is read once, a few times more if its last words are not on disk yet. Its
  turns wait in the table like all others; the id of a turn keeps it from being stored twice.
- An agent without a memory of its own is left alone: what it found, its report says, and that is in
  the session's own transcript.
- What the agent wrote into its memory itself is recorded as its own.
"""

import time
from collections.abc import Callable
from typing import Final

import anyio
import anyio.to_thread
import structlog

from memoryd.base.errors import MemorydError
from memoryd.memories.agents import Agents
from memoryd.memories.scopes import Scopes
from memoryd.transcripts.agent_transcripts import agent_turns
from memoryd.transcripts.rules.turns import Turn
from memoryd.transcripts.turn_table import QueuedTurn, TurnTable, root_named

LOOKS_AFTER_SECONDS: Final = (0.0, 0.3, 1.0, 3.0)

log = structlog.get_logger(__name__)


class AgentRuns:
    def __init__(
        self,
        root: str,
        turns: TurnTable,
        scopes: Scopes,
        agents: Agents,
        wake: Callable[[], None],
        now: Callable[[], float] = time.time,
    ) -> None:
        self._root = root
        self._turns = turns
        self._scopes = scopes
        self._agents = agents
        self._wake = wake
        self._now = now

    async def ended(self, agent: str, transcript: str, cwd: str) -> None:
        """An agent has finished its task; stores its turns for extraction."""
        try:
            if not await anyio.to_thread.run_sync(self._has_memory, agent, cwd):
                return  # most agents have none, and their transcripts are large
            for seconds in LOOKS_AFTER_SECONDS:
                await anyio.sleep(seconds)
                if await anyio.to_thread.run_sync(self._store, agent, transcript):
                    return
        except MemorydError as error:
            log.info("agent-not-read", agent=agent, reason=error.message)

    def _store(self, agent: str, transcript: str) -> bool:
        """Whether there is nothing more to wait for."""
        found = agent_turns(self._root, transcript, agent)
        if not found or not found[-1].complete:
            return False
        filed = [
            QueuedTurn(turn, root, transcript)
            for turn in found
            if turn.complete and (root := self._root_of(turn, agent))
        ]
        if new := self._turns.add(filed, at=self._now()):
            log.info("agent-read", agent=agent, turns=len(new))
            self._wake()
        return True

    def _root_of(self, turn: Turn, agent: str) -> str:
        """The project the agent worked in; empty if it has no memory there."""
        root = root_named(turn.cwd, self._scopes.root)
        return root if root and self._has_memory(agent, root) else ""

    def _has_memory(self, agent: str, cwd: str) -> bool:
        return self._agents.of(self._scopes.project(cwd), agent).has_memory
