"""How far a turn is that has not ended: a long one must not keep its session's notes waiting."""

import msgspec

from memoryd.transcripts.rules.turns import TurnDraft


class OpenTurn(msgspec.Struct, frozen=True):
    """A turn that still runs; `path` is its transcript, below the projects folder."""

    session_id: str
    cwd: str
    path: str
    tool_calls: int
    context_tokens: int


def open_turn(draft: TurnDraft | None, path: str) -> OpenTurn | None:
    """None if no turn runs; one with an ending only waits to be handed out."""
    if draft is None or draft.ending is not None or not draft.session_id:
        return None
    return OpenTurn(draft.session_id, draft.cwd, path, draft.tool_call_count, draft.context_tokens)
