"""Dreams as they are shown over the socket."""

import msgspec

from memoryd.api.rules import protocol
from memoryd.base.timestamps import iso_time
from memoryd.dreams.dream_table import Dream, Summary
from memoryd.dreams.dreamer import Dreamer
from memoryd.dreams.target import AgentName, DreamScope


class DreamLine(msgspec.Struct, frozen=True):
    dream: int
    scope: str
    project: str
    cause: str
    state: str
    reason: str
    started: str
    finished: str
    summary: Summary


def whose(params: protocol.DreamParamsBase) -> DreamScope:
    """Whose memories a request is about."""
    return AgentName(params.agent) if params.scope == "agent" else params.scope


def past_dreams(dreamer: Dreamer, params: protocol.DreamLogParams) -> list[DreamLine]:
    if params.dream is not None:
        return [dream_line(dreamer.one(params.cwd, params.dream, whose(params)))]
    found = dreamer.past(params.cwd, params.limit, whose(params))
    return [dream_line(dream) for dream in found]


def dream_line(dream: Dream) -> DreamLine:
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
