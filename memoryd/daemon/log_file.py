"""The daemon's own log: JSON lines in a file rotated by size, readable text on a terminal.

Under systemd, the journal gets readable lines with priorities (`journal`).

One canonical line per unit of work, never the text of a memory or a transcript. Any string that
reaches a line by mistake is masked before it is written.
"""

import logging
import logging.handlers
import os
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import lru_cache
from io import TextIOWrapper
from itertools import islice
from pathlib import Path
from typing import Any, TextIO

import msgspec
import structlog
from structlog.stdlib import ProcessorFormatter
from structlog.typing import EventDict, Processor, WrappedLogger

from memoryd.base.config import LogLevel
from memoryd.daemon.environment import Environment
from memoryd.daemon.journal import journal_for, journal_lines
from memoryd.system.folder import make_folder
from memoryd.system.plain_file import refuse_unless_plain
from memoryd.text.masking.cut import masked_beginning, masked_ending
from memoryd.text.masking.mask import mask

VALUE_LIMIT_CHARACTERS = 2000
ITEMS_LIMIT = 100
ROOM_FOR_A_LINE = 1024
SECONDS_A_DAY = 86_400.0
SHORTEST_SECRET = 11  # shorter ones cannot be distinguished from words
LONGEST_NAME = 200
REMEMBERED_NAMES = 256
# Nobody else chooses these; and the first line is written at every start, before any mask is made.
_OUR_OWN = frozenset({"event", "level", "timestamp", "logger", "_record", "version", "socket"})
_PLAIN = (int, float, type(None))


class _PrivateRotatingFile(logging.handlers.RotatingFileHandler):
    """Rotates by size; its files are private to their owner, whatever the umask.

    With `keep_days` it also rotates once a day, and removes what is older than that.
    """

    keep_days: int | None = None
    begun: float = 0.0

    def _open(self) -> TextIOWrapper:
        handle = os.open(self.baseFilename, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        return TextIOWrapper(os.fdopen(handle, "ab"), encoding="utf-8", errors="replace")

    def shouldRollover(self, _: logging.LogRecord) -> bool:  # noqa: N802 - overrides the library's
        """Whether the file is full, by its size alone: formatting the line twice would be slow."""
        if self.stream is None:
            self.stream = self._open()
        size = os.fstat(self.stream.fileno()).st_size
        if self.keep_days is not None and size and time.time() - self.begun > SECONDS_A_DAY:
            return True
        return 0 < self.maxBytes <= size + ROOM_FOR_A_LINE

    def doRollover(self) -> None:  # noqa: N802 - overrides the library's
        super().doRollover()
        self.expire(time.time())

    def expire(self, now: float) -> None:
        """Removes rotated files whose last line is too old."""
        self.begun = now
        for number in range(1, self.backupCount + 1) if self.keep_days is not None else ():
            path = Path(f"{self.baseFilename}.{number}")
            with suppress(OSError):
                if path.stat().st_mtime < now - (self.keep_days or 0) * SECONDS_A_DAY:
                    path.unlink()


def start_for(environment: Environment, *, shows_log: bool) -> None:
    """The log as the settings want it."""
    settings = environment.settings.log
    refuse_unless_plain(environment.places.log_file)
    start(
        environment.places.log_file,
        level=settings.level,
        max_bytes=settings.max_bytes,
        keep_files=settings.keep_files,
        terminal=terminal_for(sys.stderr),
        is_quiet=not shows_log,
        keep_days=settings.keep_days,
        journal=journal_for(os.environ, sys.stderr),
    )


def start(
    path: str,
    *,
    level: LogLevel,
    max_bytes: int,
    keep_files: int,
    terminal: TextIO | None,
    is_quiet: bool = False,
    keep_days: int | None = None,
    journal: TextIO | None = None,
) -> None:
    """Sends every log line, ours and the libraries', to the file and to a terminal if given.

    A quiet terminal gets problems only, and when the daemon started and stopped.
    """
    make_folder(str(Path(path).parent))
    to_file = _PrivateRotatingFile(path, maxBytes=max_bytes, backupCount=keep_files, delay=False)
    to_file.keep_days = keep_days
    if keep_days is not None and Path(path).stat().st_size:  # it may hold lines of any age
        to_file.doRollover()
    to_file.expire(time.time())
    to_file.setFormatter(_formatter(_JsonLines, structlog.processors.JSONRenderer(_as_json)))
    handlers: list[logging.Handler] = [to_file]
    if terminal is not None:
        to_terminal = logging.StreamHandler(terminal)
        to_terminal.setFormatter(
            _formatter(
                ProcessorFormatter, structlog.dev.ConsoleRenderer(colors=wants_colour(os.environ))
            )
        )
        if is_quiet:
            to_terminal.addFilter(_is_for_a_quiet_terminal)
        handlers.append(to_terminal)
    if journal is not None:
        to_journal = logging.StreamHandler(journal)
        to_journal.setFormatter(_formatter(ProcessorFormatter, journal_lines))
        handlers.append(to_journal)
    logging.raiseExceptions = False  # a full disk must not turn each log line into a traceback
    # No line names its thread or process, and looking them up takes as long as writing the line.
    logging.logThreads = logging.logProcesses = logging.logMultiprocessing = False
    # The documented way to leave out where in the code a line was written: none says so.
    logging._srcfile = None  # noqa: SLF001
    logging.basicConfig(handlers=handlers, level=logging.WARNING, force=True)
    logging.getLogger("memoryd").setLevel(level.upper())
    structlog.configure(
        processors=[*_SHARED, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        # Below the level a call does nothing at all.
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.stdlib.LoggerFactory(),
        cache_logger_on_first_use=True,
    )


def _is_for_a_quiet_terminal(record: logging.LogRecord) -> bool:
    event = record.msg.get("event") if isinstance(record.msg, dict) else ""
    return record.levelno >= logging.WARNING or event in {"started", "stopped"}


def scrub(has_trace: Callable[[str], bool]) -> int:
    """Removes the lines with a trace from the log and its rotated files; returns how many."""
    for handler in logging.getLogger().handlers:
        if isinstance(handler, _PrivateRotatingFile):
            handler.acquire()
            try:
                handler.flush()
                rotated = [f"{handler.baseFilename}.{n}" for n in range(1, handler.backupCount + 1)]
                return sum(_scrubbed(path, has_trace) for path in (handler.baseFilename, *rotated))
            finally:
                handler.release()
    return 0


def _scrubbed(path: str, has_trace: Callable[[str], bool]) -> int:
    """In place: the log is open for appending, and must stay the same file."""
    with suppress(FileNotFoundError), Path(path).open("r+b") as file:
        lines = file.read().splitlines(keepends=True)
        kept = [line for line in lines if not has_trace(line.decode("utf-8", "replace"))]
        if len(kept) < len(lines):
            file.seek(0)
            file.write(b"".join(kept))
            file.truncate()
            os.fsync(file.fileno())
        return len(lines) - len(kept)
    return 0


def stop() -> None:
    """Closes the file; later lines go nowhere."""
    root = logging.getLogger()
    for handler in list(root.handlers):
        root.removeHandler(handler)
        handler.close()
    structlog.reset_defaults()


def terminal_for(stream: TextIO) -> TextIO | None:
    """The stream if it is a terminal."""
    return stream if stream.isatty() else None


def wants_colour(env: Mapping[str, str]) -> bool:
    """False if the environment asks for plain text."""
    return not env.get("NO_COLOR") and env.get("TERM") != "dumb"


class _JsonLines(ProcessorFormatter):
    """Our own lines are ready to be written; the library would copy each record for others."""

    def format(self, record: logging.LogRecord) -> str:
        if isinstance(record.msg, dict) and hasattr(record, "_logger"):
            return _as_json(record.msg)
        return super().format(record)


def _formatter(kind: type[ProcessorFormatter], renderer: Processor) -> logging.Formatter:
    return kind(
        foreign_pre_chain=[*_SHARED, _masked_event],
        processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, renderer],
    )


def _masked(_: WrappedLogger, __: str, event: EventDict) -> EventDict:
    """Masks and shortens every value; our own constant words are skipped."""
    for key, value in event.items():
        if key == "exception":
            event[key] = _end_of(str(value))
        elif key not in _OUR_OWN and not isinstance(value, _PLAIN):
            event[key] = _clean(value)
    return event


def _masked_event(_: WrappedLogger, __: str, event: EventDict) -> EventDict:
    """A library's event is a sentence that may contain anything; ours are constants."""
    event["event"] = _clean(event["event"])
    return event


def _end_of(trace: str) -> str:
    """The end of a traceback, which names the exception; masked before it is cut."""
    return masked_ending(trace, VALUE_LIMIT_CHARACTERS)


def _clean(value: object) -> object:
    """The value as plain JSON types, with every text masked and shortened."""
    if isinstance(value, str):
        return _clean_text(value)
    try:
        return _clean_plain(msgspec.to_builtins(value, str_keys=True, enc_hook=repr))
    except (TypeError, ValueError, RecursionError):  # a log line never fails its caller
        return _clean_text(repr(value))


def _clean_plain(value: object) -> object:
    if isinstance(value, str):
        return _clean_text(value)
    if isinstance(value, dict):
        some = islice(value.items(), ITEMS_LIMIT)
        return {_clean_text(key): _clean_plain(item) for key, item in some}
    if isinstance(value, list | tuple):
        return [_clean_plain(item) for item in value[:ITEMS_LIMIT]]
    return value


def _clean_text(text: str) -> str:
    if len(text) <= SHORTEST_SECRET:
        return text
    if len(text) <= LONGEST_NAME:
        return _masked_name(text)
    return masked_beginning(text, VALUE_LIMIT_CHARACTERS)


@lru_cache(REMEMBERED_NAMES)
def _masked_name(text: str) -> str:
    """Cached: sessions, projects and files are named in line after line."""
    return mask(text)


def _as_json(event: Mapping[str, Any], **_: object) -> str:
    return msgspec.json.encode(event, enc_hook=repr).decode()


_SHARED: list[Processor] = [
    structlog.contextvars.merge_contextvars,
    structlog.stdlib.add_log_level,
    structlog.processors.TimeStamper(fmt="iso", utc=True),
    structlog.processors.format_exc_info,
    _masked,
]
