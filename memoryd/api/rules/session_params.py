"""What may be asked about sessions: hooks, context, notes, checkpoints, and lists of them."""

from typing import Annotated

import msgspec


class HookParams(msgspec.Struct, frozen=True):
    """The agent's own JSON; fields not listed here are ignored."""

    hook_event_name: str
    cwd: str = ""
    session_id: str = ""
    transcript_path: str = ""
    source: str = ""
    prompt: str = ""
    tool_name: str = ""
    tool_input: object = None
    session_env: dict[str, str] = {}
    agent_id: str = ""
    agent_type: str = ""
    agent_transcript_path: str = ""


class StatusLineParams(msgspec.Struct, frozen=True):
    """The agent's own JSON for a status line; fields not listed here are ignored."""

    cwd: str = ""
    session_id: str = ""


class ContextParams(msgspec.Struct, frozen=True):
    cwd: str
    session_id: str | None = None
    source: str | None = None
    path: str | None = None
    agent: str | None = None


class ContextApproveParams(msgspec.Struct, frozen=True):
    cwd: str
    path: str


class SessionNotesParams(msgspec.Struct, frozen=True):
    session_id: str
    cwd: str = ""


class CheckpointSaveParams(msgspec.Struct, frozen=True):
    cwd: str
    name: str
    session_id: str | None = None


class CheckpointListParams(msgspec.Struct, frozen=True):
    cwd: str


class CheckpointGetParams(msgspec.Struct, frozen=True):
    cwd: str
    name: str


class CheckpointRemoveParams(msgspec.Struct, frozen=True):
    cwd: str
    name: str


class TurnEndedParams(msgspec.Struct, frozen=True):
    session_id: str
    transcript_path: str


class SessionListParams(msgspec.Struct, frozen=True):
    cwd: str
    limit: Annotated[int, msgspec.Meta(ge=1, le=10_000)] = 50


class SessionShowParams(msgspec.Struct, frozen=True):
    """`session_id` may be a prefix that matches only one session."""

    session_id: str
