"""Answers the requests about dreams."""

from typing import assert_never

import anyio.to_thread
import msgspec

from memoryd.api.rules import protocol
from memoryd.dreams.dream_table import Dream, Summary
from memoryd.dreams.dreamer import Dreamer, Undone
from memoryd.dreams.status import DreamStatus
from memoryd.memories.rules.topics import iso_time


class DreamLine(msgspec.Struct, frozen=True):
    """A dream as clients see it."""

    dream: int
    scope: str
    project: str
    cause: str
    state: str
    reason: str
    started: str
    finished: str
    summary: Summary


class DreamMethods:
    def __init__(self, dreamer: Dreamer) -> None:
        self._dreamer = dreamer

    async def answer(self, params: protocol.DreamParams) -> object:
        match params:
            case protocol.DreamStartParams():
                return await self.start(params)
            case protocol.DreamStopParams():
                return await self.stop(params)
            case protocol.DreamAcceptParams():
                return await self.accept(params)
            case protocol.DreamUndoParams():
                return await self.undo(params)
            case protocol.DreamStatusParams():
                return await self.status(params)
            case protocol.DreamLogParams():
                return await self.log(params)
            case _:
                assert_never(params)

    async def start(self, params: protocol.DreamStartParams) -> dict[str, int]:
        number = await self._dreamer.start(
            params.cwd, force=params.force, dry_run=params.dry_run, scope=params.scope
        )
        return {"dream": number}

    async def stop(self, params: protocol.DreamStopParams) -> DreamLine:
        return _line(await self._dreamer.stop(params.cwd, params.scope))

    async def accept(self, params: protocol.DreamAcceptParams) -> DreamLine:
        return _line(await self._dreamer.accept(params.cwd, params.dream, params.scope))

    async def undo(self, params: protocol.DreamUndoParams) -> Undone:
        return await anyio.to_thread.run_sync(self._dreamer.undo, params.cwd, params.scope)

    async def status(self, params: protocol.DreamStatusParams) -> DreamStatus:
        return await anyio.to_thread.run_sync(self._dreamer.status, params.cwd, params.scope)

    async def log(self, params: protocol.DreamLogParams) -> dict[str, list[DreamLine]]:
        return {"dreams": await anyio.to_thread.run_sync(self._past, params)}

    def statuses(self) -> list[DreamStatus]:
        """Blocking."""
        return self._dreamer.statuses()

    def _past(self, params: protocol.DreamLogParams) -> list[DreamLine]:
        if params.dream is not None:
            return [_line(self._dreamer.one(params.cwd, params.dream, params.scope))]
        found = self._dreamer.past(params.cwd, params.limit, params.scope)
        return [_line(dream) for dream in found]


def _line(dream: Dream) -> DreamLine:
    return DreamLine(
        dream.id,
        dream.scope,
        dream.project,
        dream.cause,
        dream.state,
        dream.reason,
        iso_time(dream.started),
        iso_time(dream.finished) if dream.finished is not None else "",
        dream.summary,
    )
