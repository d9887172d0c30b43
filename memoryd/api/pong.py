"""The answer to `ping`, which needs nothing else of the daemon."""

import msgspec


class Pong(msgspec.Struct, frozen=True):
    """`problems` are mistakes in the settings, which every command shows."""

    version: str
    pid: int
    uptime_seconds: float
    problems: list[str] = []
