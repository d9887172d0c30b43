"""The child process that matches a model's pattern against texts, so that it can be killed.

A regular expression can run for years on twenty letters, and inside the daemon nothing could stop
it. Here it has a deadline from outside and an alarm of its own, and sees only the text it is given.

It reads frames from its input: the query first, then pieces of files, each with the number of the
file and of its first line. When the input ends, or enough was found, it prints its answer.

A matching line is masked before it is cut, with enough text around it to recognise secrets, and
must match again after that: what matches only inside a secret is not found.
"""

import re
import signal
import struct
import sys
from collections.abc import Iterator
from typing import BinaryIO, Final

import msgspec

from memoryd.text.decode import decoded

ALARM_SECONDS: Final = 20
CONTEXT_CHARACTERS: Final = 3000

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
        text = decoded(data)
        for line, excerpt in _matches(pattern, text, first_line, query.width):
            # A long line comes in overlapping pieces; it is reported once.
            found.setdefault((file, line), Match(file, line, excerpt))
            if len(found) >= query.matches_limit:
                return GrepAnswer(list(found.values()), is_cut=True)
    return GrepAnswer(list(found.values()))


def _matches(
    pattern: re.Pattern[str], text: str, first_line: int, width: int
) -> Iterator[tuple[int, str]]:
    start = 0
    for number, line in enumerate(text.split("\n"), start=first_line):
        match = pattern.search(line)
        if match:
            masked = _masked(text, slice(start, start + len(line)), start + match.start())
            again = pattern.search(masked)
            if again:
                yield number, _cut(masked, again.start(), width)
        start += len(line) + 1


def _masked(text: str, line: slice, at: int) -> str:
    """The line, or as much of a long line as is safe to show, with secrets masked."""
    # Imported only if there is something to show: it costs more than the rest of this process.
    from memoryd.text.masking.mask import find_secrets, presentable  # noqa: PLC0415

    low, high = max(at - 2 * CONTEXT_CHARACTERS, 0), at + 2 * CONTEXT_CHARACTERS
    # A secret at the edge of this window may be cut and not recognised, so the edge is not shown.
    done, end = max(line.start, at - CONTEXT_CHARACTERS), min(line.stop, at + CONTEXT_CHARACTERS)
    parts: list[str] = []
    for secret in find_secrets(text[low:high]):
        first, last = low + secret.start, low + secret.end
        if first < end and last > done:
            parts += text[done : max(first, done)], secret.mask
            done = min(last, end)
    return presentable("".join((*parts, text[done:end])))


def _cut(line: str, at: int, width: int) -> str:
    first = max(at - width // 2, 0)
    last = first + width
    return f"{'…' * (first > 0)}{line[first:last]}{'…' * (last < len(line))}"


if __name__ == "__main__":
    main()
