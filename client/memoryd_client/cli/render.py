"""How output looks: colour on terminals only, columns that fit, no escape sequences from outside.

Memories, paths and log lines contain text from models and strangers. A terminal obeys escape
sequences, so everything shown to a person goes through `printable` first.
"""

import json
import os
import sys
import textwrap
from collections.abc import Sequence
from typing import Literal, TextIO

Colour = Literal["bold", "dim", "red", "green", "yellow", "cyan"]

CODES: dict[Colour, str] = {
    "bold": "1",
    "dim": "2",
    "red": "31",
    "green": "32",
    "yellow": "33",
    "cyan": "36",
}
GAP = "  "
# Invisible characters that reorder or hide the text around them.
DIRECTION_MARKS = frozenset(
    "\u200e\u200f\u061c\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
)


def wants_colour(stream: TextIO) -> bool:
    """Whether a stream is a terminal and its user did not ask for plain text."""
    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    return not plain and stream.isatty()


def paint(text: str, colour: Colour, stream: TextIO | None = None) -> str:
    if not wants_colour(stream or sys.stdout):
        return text
    return f"\x1b[{CODES[colour]}m{text}\x1b[0m"


def columns() -> int | None:
    """The width of the terminal; None when the output is not a terminal."""
    try:
        width = os.get_terminal_size(sys.stdout.fileno()).columns
    except (OSError, ValueError):
        return None
    return width or 80


def print_json(value: object) -> None:
    """Prints JSON for programs, in ASCII: no escape sequence gets through here either."""
    print(json.dumps(value, indent=2))


def printable(text: str) -> str:
    """The text without control characters, except line breaks and tabs."""
    return "".join(char if shows(char) else "\N{REPLACEMENT CHARACTER}" for char in text)


def shows(char: str) -> bool:
    if char in "\n\t":
        return True
    return not ("\ud800" <= char <= "\udfff") and char >= " " and not is_control(char)


def is_control(char: str) -> bool:
    return "\x7f" <= char <= "\x9f" or char in DIRECTION_MARKS


def one_line(text: str) -> str:
    return printable(" ".join(text.split()))


def shortened(text: str, width: int) -> str:
    return text if len(text) <= width else text[: max(width - 1, 0)] + "…"


def wrapped(text: str, indent: int = 0) -> str:
    """A paragraph wrapped to the terminal's width, with later lines indented."""
    width = columns()
    if width is None:
        return text
    room = max(width - indent, 30)
    lines = textwrap.wrap(text, room, break_on_hyphens=False, break_long_words=False)
    return ("\n" + " " * indent).join(lines)


def table(rows: Sequence[Sequence[str]], heading: Sequence[str] = ()) -> list[str]:
    """Aligned columns, one line a row; the last column is cut on a narrow terminal."""
    if not rows:
        return []
    everything = [heading, *rows] if heading else rows
    clean = [[one_line(cell) for cell in row] for row in everything]
    widths = [max(map(len, column)) for column in zip(*clean, strict=True)]
    room = columns()
    if room is not None:
        taken = sum(widths[:-1]) + len(GAP) * (len(widths) - 1)
        widths[-1] = max(room - taken, 10)
    lines = [row_line(row, widths, cut=room is not None) for row in clean]
    return [paint(lines[0], "dim"), *lines[1:]] if heading else lines


def row_line(row: Sequence[str], widths: Sequence[int], *, cut: bool) -> str:
    *firsts, last = row
    cells = [cell.ljust(width) for cell, width in zip(firsts, widths, strict=False)]
    return GAP.join([*cells, shortened(last, widths[-1]) if cut else last]).rstrip()


def print_diff(diff: str) -> None:
    """A unified diff in colour, after an empty line; nothing for an empty one."""
    if not diff:
        return
    print()
    for line in printable(diff).splitlines():
        colour: Colour = "bold" if line.startswith(("---", "+++")) else "dim"
        if not line.startswith(("---", "+++")) and line[:1] in {"+", "-"}:
            colour = "green" if line[0] == "+" else "red"
        print(paint(line, colour) if line[:1] in {"+", "-", "@"} else line)
