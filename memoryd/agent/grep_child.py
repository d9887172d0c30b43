"""The child process that matches a model's pattern against texts, so that it can be killed.

A regular expression can run for years on twenty letters, and inside the daemon nothing could stop
it. Here it has a deadline from outside and an alarm of its own, and sees only the text it is given.

It reads frames from its input: the query first, then pieces of files, each with the number of the
file and of its first line. When the input ends, or enough was found, it prints its answer.

Every piece is masked before the pattern sees it. A pattern that met the text itself could ask for a
secret letter by letter, by what it finds or by how long it takes.
"""

import re
import signal
import struct
import sys
from collections.abc import Iterator
from itertools import groupby
from typing import BinaryIO, Final

import msgspec

from memoryd.text.decode import decoded
from memoryd.text.invisible import strip_invisible
from memoryd.text.masking.mask import find_secrets
from memoryd.text.private import without_private_in_line

ALARM_SECONDS: Final = 20
# How far from a mask another secret may stand that was hidden by the first.
NEAR_LINES: Final = 5
MASK_OPENS: Final = "[secret: "

_FRAME = struct.Struct(">III")


class GrepQuery(msgspec.Struct, frozen=True):
    """`width` is how many characters of a line are shown around a match."""

    pattern: str
    width: int
    matches_limit: int


class Match(msgspec.Struct, frozen=True, array_like=True):
    file: int
    line: int
    text: str


class GrepAnswer(msgspec.Struct, frozen=True):
    """`is_pattern` is False if the pattern could not be compiled."""

    matches: list[Match]
    is_pattern: bool = True
    is_cut: bool = False


def frame(data: bytes, file: int = 0, line: int = 0) -> bytes:
    return _FRAME.pack(file, line, len(data)) + data


def main() -> None:
    signal.alarm(ALARM_SECONDS)
    frames = _frames(sys.stdin.buffer)
    query = msgspec.json.decode(next(frames)[2], type=GrepQuery)
    sys.stdout.buffer.write(msgspec.json.encode(_answer(query, frames)))


def _frames(stream: BinaryIO) -> Iterator[tuple[int, int, bytes]]:
    while len(head := stream.read(_FRAME.size)) == _FRAME.size:
        file, line, size = _FRAME.unpack(head)
        yield file, line, stream.read(size)


def _answer(query: GrepQuery, frames: Iterator[tuple[int, int, bytes]]) -> GrepAnswer:
    try:
        pattern = re.compile(query.pattern)
    except (re.error, OverflowError, RecursionError, MemoryError):
        return GrepAnswer([], is_pattern=False)
    found: dict[tuple[int, int], Match] = {}
    for file, first_line, data in frames:
        text = _masked(decoded(data))
        for line, excerpt in _matches(pattern, text, first_line, query.width):
            # A long line comes in overlapping pieces; it is reported once.
            found.setdefault((file, line), Match(file, line, excerpt))
            if len(found) >= query.matches_limit:
                return GrepAnswer(list(found.values()), is_cut=True)
    return GrepAnswer(list(found.values()))


def _matches(
    pattern: re.Pattern[str], text: str, first_line: int, width: int
) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(text.split("\n"), start=first_line):
        match = pattern.search(line)
        if match:
            yield number, _cut(line, match.start(), width)


def _masked(text: str) -> str:
    """The text without secrets and private words, with as many lines as before."""
    lines = [without_private_in_line(strip_invisible(line)) for line in text.split("\n")]
    text = "\n".join(line.replace("\n", " ") for line in lines)
    masked, is_changed = _with_masks(text)
    return _again(masked.split("\n")) if is_changed else text


def _with_masks(text: str) -> tuple[str, bool]:
    parts: list[str] = []
    done = 0
    for found in find_secrets(text):
        line_ends = "\n" * text.count("\n", found.start, found.end)
        parts += text[done : found.start], found.mask, line_ends
        done = found.end
    return "".join((*parts, text[done:])), bool(parts)


def _again(lines: list[str]) -> str:
    """Masks what the masks revealed, which is near them; all other lines were searched already."""
    near = {
        place
        for at, line in enumerate(lines)
        if MASK_OPENS in line
        for place in range(max(at - NEAR_LINES, 0), min(at + NEAR_LINES + 1, len(lines)))
    }
    parts: list[str] = []
    for is_near, group in groupby(range(len(lines)), near.__contains__):
        part = "\n".join(lines[at] for at in group)
        is_changed = is_near
        while is_changed:
            part, is_changed = _with_masks(part)
        parts.append(part)
    return "\n".join(parts)


def _cut(line: str, at: int, width: int) -> str:
    first = max(at - width // 2, 0)
    last = first + width
    return f"{'…' * (first > 0)}{line[first:last]}{'…' * (last < len(line))}"


if __name__ == "__main__":
    main()
