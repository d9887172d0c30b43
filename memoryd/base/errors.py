"""Who reads an error decides its root.

    Exception
    |-- MemorydError          the user reads it, through the client: a kind, a code, a next step
    |   |-- InvalidInput      what was asked for makes no sense as it stands
    |   |-- NotFound          no such memory, session, checkpoint, version
    |   |-- Conflict          somebody else changed it first; nothing was overwritten
    |   |-- Refused           a rule of safety forbids it
    |   |-- ConfigError       config.toml cannot be used as it is
    |   |-- StorageError      the disk said no; carries the path and the deed
    |   |-- Unavailable       a part that is needed is off, paused or away
    |   `-- AlreadyRunning    another daemon serves this user
    `-- ToolError             the model reads it; fixed words, never another exception's text

Everything else is a bug: it is logged with its traceback and reaches nobody else.
"""

from typing import ClassVar


class MemorydError(Exception):
    """Something the user can act on; `hint` says what to type or change next."""

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
    """The file system failed; `path` and `deed` say where and in doing what."""

    code = -32005
    kind = "storage"

    def __init__(self, path: str, deed: str, cause: OSError) -> None:
        reason = cause.strerror or type(cause).__name__
        super().__init__(
            f"cannot {deed} {path}: {reason}",
            hint="free some space or mend the permissions, then try again",
        )
        self.path = path
        self.deed = deed
        self.errno = cause.errno


class Unavailable(MemorydError):
    code = -32006
    kind = "unavailable"


class AlreadyRunning(MemorydError):
    code = -32007
    kind = "already-running"


class ToolError(Exception):
    """A tool said no; the words are the whole answer that the model gets."""
