"""Renders the daemon's JSON log lines for people, and follows the file across its rotation.

Rules:
- The file is read directly: the log matters most when the daemon does not answer.
- A rotation renames `memoryd.log` to `memoryd.log.1`. The open file is read to its end before the
  new one is opened; another inode means a rotation, a smaller size a truncation.
- A line that is not JSON is shown as it is: it may be a traceback, which is what people look for.
"""

import json
import os
from collections import deque
from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, NamedTuple, Self

from memoryd_client.cli.dream_view import counts_of
from memoryd_client.cli.render import Colour, one_line, paint, printable
from memoryd_client.cli.times import parsed_time
from memoryd_client.connection.answers import Json, as_object, number_at, text_at

LEVELS = ("debug", "info", "warning", "error", "critical")
COLOURS: dict[str, Colour] = {
    "debug": "dim",
    "warning": "yellow",
    "error": "red",
    "critical": "red",
}
POLL_SECONDS = 0.25
EVENT_WIDTH = 24


class Line(NamedTuple):
    """One line of the log; `fields` is empty when it is not a JSON object."""

    raw: str
    fields: Json


def parsed(raw: bytes) -> Line:
    text = raw.decode("utf-8", "replace").rstrip("\r\n")
    try:
        fields = as_object(json.loads(text))
    except (ValueError, RecursionError):
        fields = {}
    return Line(text, fields)


def is_at_least(line: Line, level: str) -> bool:
    """Whether a line has this level or a higher one; a line without a level always counts."""
    own = text_at(line.fields, "level").lower()
    return own not in LEVELS or LEVELS.index(own) >= LEVELS.index(level)


class Follower:
    """Reads whole lines appended to a log, across its rotation."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: BinaryIO | None = None
        self._half = b""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._file is not None:
            self._file.close()

    def rotated_lines(self) -> Iterator[Line]:
        """The lines from before the last rotation."""
        try:
            with self._path.with_name(self._path.name + ".1").open("rb") as raw_lines:
                yield from map(parsed, raw_lines)
        except FileNotFoundError:
            return

    def new_lines(self) -> Iterator[Line]:
        """The lines since the last call; all of them at the first call."""
        while True:
            if self._file is None:
                self._open()
            yield from self._rest()
            if self._file is None or not self._was_replaced():
                return
            # The daemon may have written a last line between our read and the rename.
            yield from self._rest()
            yield from self._cut_off()
            self._file.close()
            self._file = None

    def _open(self) -> None:
        try:
            self._file = self._path.open("rb")
        except FileNotFoundError:
            self._file = None

    def _rest(self) -> Iterator[Line]:
        if self._file is None:
            return
        if os.fstat(self._file.fileno()).st_size < self._file.tell():
            self._file.seek(0)
            self._half = b""
        *whole, self._half = (self._half + self._file.read()).split(b"\n")
        yield from map(parsed, whole)

    def _cut_off(self) -> Iterator[Line]:
        """The half line that a crash left at the end of a rotated file."""
        if self._half:
            yield parsed(self._half)
        self._half = b""

    def _was_replaced(self) -> bool:
        """Whether the path is another file now; while there is none, the old one still counts."""
        if self._file is None:
            return False
        try:
            now = self._path.stat()
        except FileNotFoundError:
            return False
        own = os.fstat(self._file.fileno())
        return (now.st_dev, now.st_ino) != (own.st_dev, own.st_ino)


def last_lines(follower: Follower, count: int, level: str) -> list[Line]:
    """The newest `count` lines of at least this level, oldest first.

    The same follower then continues after them: between two readers, a line would be shown twice
    or not at all.
    """
    lines = chain(follower.rotated_lines(), follower.new_lines())
    return list(deque((line for line in lines if is_at_least(line, level)), maxlen=count))


def follow(follower: Follower, wait: Callable[[], None]) -> Iterator[Line]:
    """New lines, for ever; `wait` is called whenever there are none."""
    while True:
        yield from follower.new_lines()
        wait()


def rendered(line: Line) -> str:
    """A line for people: local time, level, event, other fields; texts of several lines below."""
    if not line.fields:
        return printable(line.raw)
    level = text_at(line.fields, "level").lower()
    colour = COLOURS.get(level)
    label = one_line(level or "-").ljust(8)
    if story := told(line.fields):
        parts = [paint(local_time(line.fields), "dim"), paint(label, colour) if colour else label]
        return " ".join([*parts, one_line(story)])
    event = one_line(text_at(line.fields, "event")).ljust(EVENT_WIDTH)
    others = {
        one_line(key): value
        for key, value in line.fields.items()
        if key not in {"timestamp", "level", "event"}
    }
    parts = [
        paint(local_time(line.fields), "dim"),
        paint(label, colour) if colour else label,
        paint(event, "bold"),
        *(f"{paint(key, 'cyan')}={plain(value)}" for key, value in others.items() if fits(value)),
    ]
    blocks = [indented(str(value)) for value in others.values() if not fits(value)]
    return "\n".join([" ".join(parts).rstrip(), *blocks])


def told(fields: Json) -> str:
    """A line about a dream as a sentence, so that its lines read as a story; else empty."""
    number = f"dream {number_at(fields, 'dream'):.0f}"
    cost = f", ${number_at(fields, 'usd'):.4f}" if number_at(fields, "usd") else ""
    took = f" ({number_at(fields, 'seconds'):.1f} s{cost})"
    match text_at(fields, "event"):
        case "dream-started":
            where = text_at(fields, "project") or f"the {text_at(fields, 'scope')}'s own memories"
            how = "with a model" if text_at(fields, "how") == "model" else "without a model"
            count = number_at(fields, "memories")
            memories = "1 memory" if count == 1 else f"{count:.0f} memories"
            return f"{number} begins over {memories} of {where}, {how}"
        case "dream-phase":
            counts = counts_of(fields)
            return f"{number}: {text_at(fields, 'phase')}{f', {counts}' * bool(counts)}{took}"
        case "dream-said":
            return f"{number} says: {text_at(fields, 'text')}{took}"
        case "dream-file":
            return f"{number}: works on {text_at(fields, 'file')}"
        case "dream-applied" if text_at(fields, "file"):
            return f"{number}: {text_at(fields, 'file')} {text_at(fields, 'action')}"
        case "dream-finished":
            words = text_at(fields, "words") or text_at(fields, "reason")
            return f"{number} is {text_at(fields, 'state')}{f': {words}' * bool(words)}{took}"
    return ""


def as_json(line: Line) -> str:
    """A line for programs: always one JSON object, even if the log has something else."""
    return line.raw if line.fields else json.dumps({"event": "no-json", "text": line.raw})


def fits(value: object) -> bool:
    """Whether a value fits in the line; a traceback does not."""
    return not (isinstance(value, str) and "\n" in value)


def plain(value: object) -> str:
    """A value, quoted only where it has blanks."""
    if isinstance(value, str) and value.split() == [value]:
        return printable(value)
    return printable(json.dumps(value, ensure_ascii=False))


def indented(text: str) -> str:
    return "\n".join(f"    {line}" for line in printable(text).rstrip().split("\n"))


def local_time(fields: Json) -> str:
    """The time stamp in the reader's time zone; unchanged when it is not a time."""
    written = str(fields.get("timestamp", ""))
    when = parsed_time(written)
    return f"{when:%Y-%m-%d %H:%M:%S}" if when else one_line(written).ljust(19)
