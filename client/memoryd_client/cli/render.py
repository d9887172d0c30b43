"""How things look: colour on a terminal only, columns that fit it, and no text that could steer it.

Memories, paths and log lines come from models and strangers. A terminal obeys escape sequences, so
whatever is shown to a person goes through `printable` first.
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
# Invisible marks that reorder or hide the text around them on the screen.
DIRECTION_MARKS = frozenset(
    "\u200e\u200f\u061c\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
)


def wants_colour(stream: TextIO) -> bool:
    """Whether a stream is a terminal whose owner has not asked for plain text."""
    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    return not plain and stream.isatty()


def paint(text: str, colour: Colour, stream: TextIO | None = None) -> str:
    if not wants_colour(stream or sys.stdout):
        return text
    return f"\x1b[{CODES[colour]}m{text}\x1b[0m"


def columns() -> int | None:
    """How many characters a line of the terminal holds; None when there is no terminal."""
    try:
        width = os.get_terminal_size(sys.stdout.fileno()).columns
    except (OSError, ValueError):
        return None
    return width or 80


def print_json(value: object) -> None:
    """Print for programs; escaped to ASCII, so that a terminal has nothing to obey here either."""
    print(json.dumps(value, indent=2))


def printable(text: str) -> str:
    """The text without anything that a terminal would obey instead of show; lines and tabs stay."""
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
    """A paragraph broken at the terminal's width, its later lines indented; whole without one."""
    width = columns()
    if width is None:
        return text
    room = max(width - indent, 30)
    lines = textwrap.wrap(text, room, break_on_hyphens=False, break_long_words=False)
    return ("\n" + " " * indent).join(lines)


def table(rows: Sequence[Sequence[str]]) -> list[str]:
    """Aligned columns, one line a row; the last column gives way when the terminal is narrow."""
    if not rows:
        return []
    clean = [[one_line(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*clean, strict=True)]
    room = columns()
    if room is not None:
        taken = sum(widths[:-1]) + len(GAP) * (len(widths) - 1)
        widths[-1] = max(room - taken, 10)
    return [row_line(row, widths, cut=room is not None) for row in clean]


def row_line(row: Sequence[str], widths: Sequence[int], *, cut: bool) -> str:
    *firsts, last = row
    cells = [cell.ljust(width) for cell, width in zip(firsts, widths, strict=False)]
    return GAP.join([*cells, shortened(last, widths[-1]) if cut else last]).rstrip()
