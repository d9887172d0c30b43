"""What can go wrong for a person at the command line; each failure says what to do next.

Failure                 exit code 1
|-- NotRunning          nothing listens on the socket; exit code 69
|-- Denied              the socket belongs to another user, or may not be opened
|-- TimedOut            the daemon did not answer in time
|-- ProtocolError       the daemon's answer cannot be understood
|-- DaemonError         the daemon answered with an error; carries its code and kind
|-- LocalFailure        something on this side of the socket
`-- UsageError          wrong arguments; exit code 2
"""

from __future__ import annotations

TYPE_CHECKING = False  # typing takes a while to load, and an MCP client waits
if TYPE_CHECKING:
    from typing import ClassVar


class Failure(Exception):
    """A command cannot do what was asked; `hint` says what to type or change next."""

    exit_code: ClassVar[int] = 1
    kind: str = "failed"

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        """What went wrong and what to type next, in one line."""
        return f"{self.message}; {self.hint}" if self.hint else self.message


class NotRunning(Failure):
    exit_code = 69
    kind = "not-running"


class Denied(Failure):
    kind = "denied"


class TimedOut(Failure):
    kind = "timed-out"


class ProtocolError(Failure):
    kind = "protocol"


class DaemonError(Failure):
    def __init__(self, code: int, message: str, kind: str, hint: str) -> None:
        super().__init__(message, hint)
        self.code = code
        self.kind = kind or "refused"


class LocalFailure(Failure):
    kind = "local"


class UsageError(Failure):
    exit_code = 2
    kind = "usage"


def as_json(failure: Failure) -> dict[str, object]:
    """The failure for programs."""
    error = {"kind": failure.kind, "message": failure.message, "hint": failure.hint}
    return {"error": error, "exit_code": failure.exit_code}
