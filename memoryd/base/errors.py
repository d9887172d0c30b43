"""Errors by who reads them.

    Exception
    |-- MemorydError          the user reads it, through the client: a kind, a code, a next step
    |   |-- InvalidInput      the request makes no sense as it stands
    |   |-- NotFound          no such memory, session, checkpoint, version
    |   |-- Conflict          someone else changed it first; nothing was overwritten
    |   |-- Refused           a safety rule forbids it
    |   |-- ConfigError       config.toml cannot be used as it is
    |   |-- StorageError      the disk failed; carries the path and what was tried
    |   |-- Unavailable       a part that is needed is off, paused or unreachable
    |   `-- AlreadyRunning    another daemon serves this user
    `-- ToolError             the model reads it; fixed words, never another exception's text

Any other exception is a bug: it is logged with its traceback and shown to no one.
"""

from typing import ClassVar


class MemorydError(Exception):
    """A problem the user can act on; `hint` says what to type or change next."""

    code: ClassVar[int] = -32000
    kind: ClassVar[str] = "failed"

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class InvalidInput(MemorydError):
    code = -32602
    kind = "invalid-input"


class NotFound(MemorydError):
    code = -32001
    kind = "not-found"


class Conflict(MemorydError):
    code = -32002
    kind = "conflict"


class Refused(MemorydError):
    code = -32003
    kind = "refused"


class ConfigError(MemorydError):
    code = -32004
    kind = "config"


class StorageError(MemorydError):
    """The file system or the database failed; `action` is a verb, such as "write"."""

    code = -32005
    kind = "storage"

    def __init__(self, path: str, action: str, cause: OSError, hint: str = "") -> None:
        reason = cause.strerror or type(cause).__name__
        super().__init__(
            f"cannot {action} {path}: {reason}",
            hint=hint or "free disk space or fix the permissions, then try again",
        )
        self.path = path
        self.action = action
        self.errno = cause.errno


class Unavailable(MemorydError):
    code = -32006
    kind = "unavailable"


class AlreadyRunning(MemorydError):
    code = -32007
    kind = "already-running"


class ToolError(Exception):
    """A tool call failed; the model gets these words and nothing else."""
