"""The requests that are about dreams, and what `status` says of them."""

from typing import assert_never

import anyio.to_thread
import msgspec

from memoryd import wire
from memoryd.dream.book import Dream, Summary
from memoryd.dream.dreamer import Dreamer, DreamStatus
from memoryd.topics import iso_time


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

    async def answer(self, params: wire.DreamParams) -> object:
        dreamer = self._dreamer
        match params:
            case wire.DreamStart():
                number = await dreamer.start(
                    params.cwd, force=params.force, dry_run=params.dry_run, scope=params.scope
                )
                return {"dream": number}
            case wire.DreamStop():
                return _line(await dreamer.stop(params.cwd, params.scope))
            case wire.DreamAccept():
                return _line(await dreamer.accept(params.cwd, params.dream, params.scope))
            case wire.DreamUndo():
                return await anyio.to_thread.run_sync(dreamer.undo, params.cwd, params.scope)
            case wire.DreamStatus():
                return await anyio.to_thread.run_sync(dreamer.status, params.cwd, params.scope)
            case wire.DreamLog():
                return {"dreams": await anyio.to_thread.run_sync(self._log, params)}
            case _:
                assert_never(params)

    def statuses(self) -> list[DreamStatus]:
        return self._dreamer.statuses()

    def _log(self, params: wire.DreamLog) -> list[DreamLine]:
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
