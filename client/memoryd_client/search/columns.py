"""How many columns of a terminal a text takes, and how it is cut to fit. Pure."""

import textwrap
import unicodedata

ELLIPSIS = "…"


def width_of(text: str) -> int:
    return sum(map(width_of_char, text))


def width_of_char(char: str) -> int:
    """East Asian letters and most pictures are two columns wide, marks on a letter none."""
    if unicodedata.category(char) in {"Mn", "Me", "Cf"}:
        return 0
    return 2 if unicodedata.east_asian_width(char) in {"W", "F"} else 1


def cut(text: str, columns: int) -> str:
    """The text in at most so many columns, with an ellipsis if something is missing."""
    if width_of(text) <= columns:
        return text
    return start_of(text, columns - 1) + ELLIPSIS if columns > 0 else ""


def end_of(text: str, columns: int) -> str:
    """The end of a text that is being typed, which must stay in sight."""
    return text if width_of(text) <= columns else start_of(text[::-1], columns)[::-1]


def padded(text: str, columns: int) -> str:
    short = cut(text, columns)
    return short + " " * (columns - width_of(short))


def start_of(text: str, columns: int) -> str:
    taken, used = [], 0
    for char in text:
        used += width_of_char(char)
        if used > columns:
            break
        taken.append(char)
    return "".join(taken)


def folded(text: str, columns: int) -> list[str]:
    """The lines of a text, those that are too long broken at a blank if they have one."""
    lines: list[str] = []
    for line in text.splitlines():
        if width_of(line) <= columns:
            lines.append(line)
        elif line.isascii():
            lines += textwrap.wrap(line, columns) or [""]
        else:
            lines += broken(line, columns)
    return lines


def broken(line: str, columns: int) -> list[str]:
    parts = []
    while line:
        part = start_of(line, columns) or line[0]
        parts.append(part)
        line = line[len(part) :]
    return parts
