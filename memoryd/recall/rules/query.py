"""The question that recall answers, as it comes over the socket."""

from typing import Annotated

import msgspec


class RecallQuery(msgspec.Struct, frozen=True):
    """Without a deadline the answer waits for the index; with one, it uses what is there."""

    query: str
    cwd: str
    session_id: str | None = None
    recent_tools: list[str] | None = None
    limit: Annotated[int, msgspec.Meta(ge=1, le=50)] | None = None
    deadline_ms: Annotated[float, msgspec.Meta(ge=0, le=60_000)] | None = None
    agent: str | None = None
    as_of: str | None = None
