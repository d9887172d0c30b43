"""The requests that are about dreams, and what `status` says of them."""

from typing import assert_never

import anyio.to_thread
import msgspec

from memoryd.api.rules import protocol
from memoryd.base.timestamps import iso_time
from memoryd.dreams.dream_table import Dream, Summary
from memoryd.dreams.dreamer import Dreamer, DreamStatus


class DreamLine(msgspec.Struct, frozen=True):
    """A dream as it is told over the wire."""

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
        dreamer = self._dreamer
        match params:
            case protocol.DreamStartParams():
                number = await dreamer.start(
                    params.cwd, force=params.force, dry_run=params.dry_run, scope=params.scope
                )
                return {"dream": number}
            case protocol.DreamStopParams():
                return _line(await dreamer.stop(params.cwd, params.scope))
            case protocol.DreamAcceptParams():
                return _line(await dreamer.accept(params.cwd, params.dream, params.scope))
            case protocol.DreamUndoParams():
                return await anyio.to_thread.run_sync(dreamer.undo, params.cwd, params.scope)
            case protocol.DreamStatusParams():
                return await anyio.to_thread.run_sync(dreamer.status, params.cwd, params.scope)
            case protocol.DreamLogParams():
                return {"dreams": await anyio.to_thread.run_sync(self._log, params)}
            case _:
                assert_never(params)

    def statuses(self) -> list[DreamStatus]:
        return self._dreamer.statuses()

    def _log(self, params: protocol.DreamLogParams) -> list[DreamLine]:
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
