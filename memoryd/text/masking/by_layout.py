"""Secrets that only their place on the page gives away: a column, or the line below a label.

1. A table whose head names a password, a secret or a token: every cell of that column below or
   above it, in rows with as many columns. Columns are parted by commas, semicolons, tabs, bars or
   two spaces.
2. The same in SQL: `INSERT INTO users (name, password) VALUES ('kim', 'X')`.
3. A label that stands alone on its line ("Password"), and one value alone on the next; of a key,
   only a random one.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator
from typing import Final

import msgspec

from memoryd.text.lazy_regex import late
from memoryd.text.masking import values, words
from memoryd.text.masking.slot import is_any_password

_HINT = late(
    r"pass(?:w|phrase|code|\b)|pwd\b|secret|token|key\b|kennwort|contrase|senha|mot de passe"
    r"|\bpin\b"
)
# Each hint begins with one of these; to look for them is many times as fast as the pattern.
_HINT_WORDS: Final = frozenset(
    {
        *("pass", "pwd", "secret", "token", "key", "kennwort", "contrase", "senha"),
        *("mot de passe", "pin"),
    }
)
LAYOUT_ANCHORS: Final = _HINT_WORDS | {"insert into"}
_PASSWORD_HEAD = late(
    r"(?:[\w -]*[ _-])?(?:pass(?:word|wort|wd|phrase|code)?|pwd|kennwort|contraseña|senha|pin)"
    r"(?: \([\w ]+\))?"
)
_TOKEN_HEAD = late(r"(?:[\w -]*[ _-])?(?:secret|token|api[ _-]?key|access[ _-]?key)")
_HEAD = late(r"[a-z][\w ./-]{0,38}(?:\([\w ]+\))?|")
# What stands beside a password in a table of logins.
_OWNER_HEAD = late(
    r"(?:[\w -]*[ _-])?(?:user(?:[ _-]?name)?|login|name|e-?mail|account|host(?:name)?|server"
    r"|service|site|url|env(?:ironment)?|database|db|system|app|machine|client"
    r"|benutzer|usuario)"
)
_COMMA = late(r",")
# With what every separator of the kind begins.
_SEPARATORS: Final = (
    ("\t", late(r"\t")),
    ("|", late(r"\|")),
    (";", late(r";")),
    (",", _COMMA),
    ("  ", late(r" {2,}")),
)
_INSERT = late(
    r"insert into [^\s(]{1,80} ?\((?P<names>[^()]{1,400})\)\s*values\s*"
    r"(?P<rows>(?:\([^()]{1,800}\)[,\s]*){1,200})",
    re.IGNORECASE,
)
_ROW = late(r"\(([^()]*)\)")
_LABEL = late(
    r"(?:[\w -]{1,30}[ _-])?(?P<password>pass(?:word|wort|wd|phrase|code)|kennwort|contraseña|senha"
    r"|mot de passe)[ ]?:?|(?:[\w -]{1,30}[ ._-])?(?:key|secret|token)[ ]?:?"
)
_ROWS_MAX: Final = 400
_LINE_MAX: Final = 1000
_CELL_MARKS: Final = " \t\"'`*"


class _Line(msgspec.Struct, frozen=True):
    start: int
    text: str


class _Column(msgspec.Struct, frozen=True):
    """Which cell of how many, and whether words are secrets there."""

    at: int
    count: int
    takes_words: bool

    def cell_in(self, line: _Line, separator: re.Pattern[str]) -> tuple[int, int] | None:
        cells = _cells(line.text, separator)
        if len(cells) != self.count:
            return None
        start, end = cells[self.at]
        value = line.text[start:end]
        held = value.strip(_CELL_MARKS)
        begin = line.start + start + (value.index(held) if held else 0)
        is_secret = _is_password_cell(held) if self.takes_words else values.is_token(held)
        return (begin, begin + len(held)) if is_secret else None


def laid_out_in(text: str, lowered: str, present: frozenset[str]) -> Iterator[tuple[str, int, int]]:
    """Kind, start and end of every secret in a column or below a label."""
    if "insert into" in present:
        yield from _inserted(text)
    if "\n" not in text:
        return
    hints = sorted({lowered.rfind("\n", 0, hint) + 1 for hint in _hints(lowered, present)})
    heads = [start for start in hints if _is_head(text, start)]
    if not heads:
        return
    lines = _lines(text)
    starts = [line.start for line in lines]
    for at in (bisect_right(starts, head) - 1 for head in heads):
        if span := _below_label(lines, at):
            yield "password", *span
        for start, end in _in_table(lines, at):
            yield "password", start, end


def _is_head(text: str, start: int) -> bool:
    """Whether the line that starts here is a label, or the head of a table."""
    end = text.find("\n", start)
    line = text[start : end if end >= 0 else len(text)]
    if len(line) > _LINE_MAX:
        return False
    head = line.lower()
    return _label(head) is not None or any(
        _columns(head, separator) for mark, separator in _SEPARATORS if mark in head
    )


def _hints(lowered: str, present: frozenset[str]) -> Iterator[int]:
    """Where lines hold a word that may head a column; at most once a line for each word."""
    for word in _HINT_WORDS & present:
        at = lowered.find(word)
        while at >= 0:
            after = at + 1
            if _HINT.match(lowered, at):
                yield at
                after = lowered.find("\n", at)
            at = lowered.find(word, after) if after > 0 else -1


def _lines(text: str) -> list[_Line]:
    lines: list[_Line] = []
    start = 0
    for part in text.split("\n"):
        lines.append(_Line(start, part))
        start += len(part) + 1
    return lines


def _inserted(text: str) -> Iterator[tuple[str, int, int]]:
    for insert in _INSERT.finditer(text):
        names = [name.strip(_CELL_MARKS) for name in insert["names"].lower().split(",")]
        for row in _ROW.finditer(text, *insert.span("rows")):
            cells = _cells(row[1], _COMMA)
            for name, (start, end) in zip(names, cells, strict=False):
                held = row[1][start:end].strip(_CELL_MARKS)
                if _PASSWORD_HEAD.fullmatch(name) and is_any_password(held):
                    begin = row.start(1) + row[1].index(held, start)
                    yield "password", begin, begin + len(held)


def _label(line: str) -> re.Match[str] | None:
    return _LABEL.fullmatch(line.strip(" \t*_#"))


def _below_label(lines: list[_Line], at: int) -> tuple[int, int] | None:
    label = _label(lines[at].text.lower())
    if not label or at + 1 >= len(lines):
        return None
    below = lines[at + 1]
    value = below.text.strip(_CELL_MARKS + "\r")
    if not value or " " in value or not 4 <= len(value) <= 512:
        return None
    is_secret = _is_password_cell(value) if label["password"] else _is_key(value)
    start = below.start + below.text.index(value)
    return (start, start + len(value)) if is_secret else None


def _is_password_cell(value: str) -> bool:
    return is_any_password(value) and not words.speaks_of_a_secret(value)


def _is_key(value: str) -> bool:
    return len(value) >= 32 and values.is_token(value)


def _in_table(lines: list[_Line], at: int) -> Iterator[tuple[int, int]]:
    head = lines[at].text.lower()
    for mark, separator in _SEPARATORS:
        # A column for the secret and one for its owner: two at least.
        for column in _columns(head, separator) if mark in head else ():
            for step in (1, -1):
                yield from _cells_of(column, separator, lines, at, step)


def _columns(head: str, separator: re.Pattern[str]) -> list[_Column]:
    cells = [head[start:end].strip(_CELL_MARKS) for start, end in _cells(head, separator)]
    if not any(map(_OWNER_HEAD.fullmatch, cells)) or not all(map(_HEAD.fullmatch, cells)):
        return []
    return [
        _Column(at, len(cells), takes_words)
        for pattern, takes_words in ((_PASSWORD_HEAD, True), (_TOKEN_HEAD, False))
        for at, cell in enumerate(cells)
        if pattern.fullmatch(cell)
    ]


def _cells_of(
    column: _Column, separator: re.Pattern[str], lines: list[_Line], at: int, step: int
) -> Iterator[tuple[int, int]]:
    for number in range(1, _ROWS_MAX):
        row = at + number * step
        if not 0 <= row < len(lines) or len(lines[row].text) > _LINE_MAX:
            return
        if len(_cells(lines[row].text, separator)) != column.count:
            return
        if _columns(lines[row].text.lower(), separator):
            return  # The head of another table, which is read by itself.
        if span := column.cell_in(lines[row], separator):
            yield span


def _cells(line: str, separator: re.Pattern[str]) -> list[tuple[int, int]]:
    cells: list[tuple[int, int]] = []
    start = 0
    for match in separator.finditer(line.rstrip("\r")):
        cells.append((start, match.start()))
        start = match.end()
    return [*cells, (start, len(line.rstrip("\r")))]
