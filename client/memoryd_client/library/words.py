"""What both Python clients decide in the same way."""

from collections.abc import Mapping, Sequence
from typing import Final, Literal

from memoryd_client.connection.failures import NotRunning, ProtocolError, TimedOut
from memoryd_client.library.wire_types import EventKind, Reconnected

MemoryType = Literal["user", "feedback", "project", "reference"]
Scope = Literal["auto", "project", "group", "user", "team"]

# What a daemon that stops, or has stopped, looks like.
AWAY: Final = (NotRunning, ProtocolError, TimedOut)
RECONNECTED: Final[Reconnected] = {"kind": "client/reconnected", "project": ""}
FIRST_PAUSE_SECONDS: Final = 0.05
LONGEST_PAUSE_SECONDS: Final = 2.0


def given(cwd: str, params: Mapping[str, object]) -> dict[str, object]:
    """The params that were given, and the folder of the project."""
    return {"cwd": cwd} | {name: value for name, value in params.items() if value is not None}


def subscription_params(cwd: str, kinds: Sequence[EventKind]) -> dict[str, object]:
    return {"cwd": cwd} | ({"kinds": list(kinds)} if kinds else {})


def next_pause(pause: float) -> float:
    """How long to wait for a daemon before the next try."""
    return min(max(pause * 2, FIRST_PAUSE_SECONDS), LONGEST_PAUSE_SECONDS)
