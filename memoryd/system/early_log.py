"""The log for what runs before there is one: the daemon listens first, and loads structlog then.

Lines are held from `hold` to `release`. Without a `hold` they go to structlog at once. All of this
is called on the event loop's thread, or before there are others.
"""

import sys
from typing import Any, Final, NamedTuple

MOST_HELD: Final = 1000


class _Line(NamedTuple):
    log: "EarlyLog"
    level: str
    event: str
    fields: dict[str, Any]


class _Held:
    lines: list[_Line] | None = None


class EarlyLog:
    """What `structlog.get_logger` gives, as far as it is used here."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._log: Any = None

    def debug(self, event: str, **fields: object) -> None:
        self._write("debug", event, fields)

    def info(self, event: str, **fields: object) -> None:
        self._write("info", event, fields)

    def warning(self, event: str, **fields: object) -> None:
        self._write("warning", event, fields)

    def error(self, event: str, **fields: object) -> None:
        self._write("error", event, fields)

    def exception(self, event: str, **fields: object) -> None:
        """To be called while an exception is handled."""
        self._write("error", event, {"exc_info": sys.exc_info(), **fields})

    def _write(self, level: str, event: str, fields: dict[str, Any]) -> None:
        if _Held.lines is not None:
            if len(_Held.lines) < MOST_HELD:
                _Held.lines.append(_Line(self, level, event, fields))
            return
        if self._log is None:
            import structlog  # noqa: PLC0415 - see above

            self._log = structlog.get_logger(self._name)
        getattr(self._log, level)(event, **fields)


def hold() -> None:
    """Keeps lines until the log is there."""
    _Held.lines = []


def release() -> None:
    """Writes what was held, in its order; the log is there."""
    lines, _Held.lines = _Held.lines, None
    for log, level, event, fields in lines or ():
        getattr(log, level)(event, **fields)
