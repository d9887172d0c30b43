"""The requests that are about transcripts: the agent's word of a turn's end, sessions, imports."""

from typing import assert_never

import anyio.to_thread

from memoryd.api.rules import protocol
from memoryd.extraction.backfill import Backfill
from memoryd.transcripts.sessions import Sessions
from memoryd.transcripts.tail import Lag, Tail


class TranscriptMethods:
    def __init__(self, tail: Tail, sessions: Sessions, backfill: Backfill) -> None:
        self._tail = tail
        self._sessions = sessions
        self._backfill = backfill

    async def answer(self, params: protocol.TranscriptParams) -> object:
        match params:
            case protocol.TurnEndedParams():
                return {"queued": await self._tail.turn_ended(params.transcript_path)}
            case protocol.SessionListParams():
                found = await anyio.to_thread.run_sync(
                    self._sessions.of_project, params.cwd, params.limit
                )
                return {"sessions": found}
            case protocol.SessionShowParams():
                return await anyio.to_thread.run_sync(self._sessions.show, params.session_id)
            case protocol.ImportStartParams(dry_run=True):
                return await self._backfill.estimate(params.cwd, params.since)
            case protocol.ImportStartParams():
                return await self._backfill.start(params.cwd, params.since)
            case protocol.ImportStopParams():
                return {"stopping": self._backfill.stop()}
            case _:
                assert_never(params)

    async def lag(self) -> Lag:
        return await self._tail.lag()

    @property
    def problems(self) -> list[str]:
        return self._tail.problems
