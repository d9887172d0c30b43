"""The daemon's own log: JSON lines in a file that is rotated by size, words on a terminal.

One canonical line per unit of work. Never the text of a memory or a transcript; and whatever string
reaches a line by mistake is masked before it is written.
"""

import logging
import logging.handlers
import os
from collections.abc import Mapping
from io import TextIOWrapper
from pathlib import Path
from typing import Any, TextIO

import msgspec
import structlog
from structlog.typing import EventDict, Processor, WrappedLogger

from memoryd.config import LogLevel
from memoryd.files import make_folder
from memoryd.masking import mask

VALUE_LIMIT_CHARACTERS = 2000
SHORTEST_SECRET = 11  # shorter ones cannot be told from words
_OUR_OWN = frozenset({"event", "level", "timestamp", "logger"})


class _PrivateRotatingFile(logging.handlers.RotatingFileHandler):
    """Rotates by size; its files are for their owner alone, whatever the umask."""

    def _open(self) -> TextIOWrapper:
        handle = os.open(self.baseFilename, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        return TextIOWrapper(os.fdopen(handle, "ab"), encoding="utf-8", errors="replace")


def start(
    path: str, *, level: LogLevel, max_bytes: int, keep_files: int, terminal: TextIO | None
) -> None:
    """Sends every line, ours and the libraries', to the file and to a terminal if there is one."""
    make_folder(str(Path(path).parent))
    to_file = _PrivateRotatingFile(path, maxBytes=max_bytes, backupCount=keep_files, delay=False)
    to_file.setFormatter(_formatter(structlog.processors.JSONRenderer(serializer=_as_json)))
    handlers: list[logging.Handler] = [to_file]
    if terminal is not None:
        to_terminal = logging.StreamHandler(terminal)
        to_terminal.setFormatter(
            _formatter(structlog.dev.ConsoleRenderer(colors=terminal.isatty()))
        )
        handlers.append(to_terminal)
    logging.raiseExceptions = False  # a full disk must not turn each log line into a traceback
    logging.basicConfig(handlers=handlers, level=logging.WARNING, force=True)
    logging.getLogger("memoryd").setLevel(level.upper())
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            *_SHARED,
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        wrapper_class=structlog.stdlib.BoundLogger,
        logger_factory=structlog.stdlib.LoggerFactory(),
        cache_logger_on_first_use=True,
    )


def stop() -> None:
    """Closes the file; later lines go nowhere."""
    root = logging.getLogger()
    for handler in list(root.handlers):
        root.removeHandler(handler)
        handler.close()
    structlog.reset_defaults()


def terminal_for(stream: TextIO) -> TextIO | None:
    """The stream, when a person is looking at it."""
    return stream if stream.isatty() else None


def _formatter(renderer: Processor) -> logging.Formatter:
    return structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=_SHARED,
        processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, renderer],
    )


def _masked(_: WrappedLogger, __: str, event: EventDict) -> EventDict:
    """No secret and no long text, whoever put it there; our own words need no look."""
    for key, value in event.items():
        if isinstance(value, str) and len(value) > SHORTEST_SECRET and key not in _OUR_OWN:
            event[key] = mask(value[:VALUE_LIMIT_CHARACTERS])
    return event


def _as_json(event: Mapping[str, Any], **_: object) -> str:
    return msgspec.json.encode(event, enc_hook=repr).decode()


_SHARED: list[Processor] = [
    structlog.contextvars.merge_contextvars,
    structlog.stdlib.add_log_level,
    structlog.processors.TimeStamper(fmt="iso", utc=True),
    structlog.processors.format_exc_info,
    _masked,
]
