"""A terminal's screen as a small SVG: text that can be selected, and the same bytes each time.

`rows_of` reads what `tmux capture-pane -e` prints: lines with colours and styles. Other escape
sequences and underlines are left out. All text has its place and its width, so that no font moves
anything.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple
from xml.sax.saxutils import escape

CELL_WIDTH = 8.4
CELL_HEIGHT = 18
MARGIN = 14
FRAME = "#1d2129"
GROUND = "#14161b"
INK = "#e0e2ea"
FONTS = "ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace"
# The sixteen colours of a terminal: normal, then bright.
PALETTE = (
    *("#3b4048", "#ff8080", "#8cc99a", "#e0b04a", "#8ab4f0", "#d7a8e8", "#7fd0d0", "#d0d4dc"),
    *("#6b7280", "#ffa0a0", "#b3f6c0", "#fce094", "#a6dbff", "#ffcaff", "#8cf8f7", "#ffffff"),
)
SWITCHES: dict[int, dict[str, Any]] = {
    1: {"is_bold": True},
    3: {"is_italic": True},
    7: {"is_reversed": True},
    22: {"is_bold": False},
    23: {"is_italic": False},
    27: {"is_reversed": False},
}
SEQUENCE = re.compile(r"\x1b\[([0-9;:]*)m|\x1b\[[0-9;?]*[A-Za-z]|\x1b\([A-Z0-9]|\x1b.|[\x00-\x1f]")


# Renderers disagree about two spaces in a row: what they separate has a place of its own.
WORDS = re.compile(r"\S+(?: \S+)*")


class Style(NamedTuple):
    ink: str | None = None
    ground: str | None = None
    is_bold: bool = False
    is_italic: bool = False
    is_reversed: bool = False


class Span(NamedTuple):
    text: str
    style: Style


def rows_of(screen: str) -> list[list[Span]]:
    """The spans of each line; a style goes on in the next line until it is changed."""
    style, rows = Style(), []
    for line in screen.split("\n"):
        row, place = [], 0
        for found in SEQUENCE.finditer(line):
            if found.start() > place:
                row.append(Span(line[place : found.start()], style))
            place = found.end()
            if found[1] is not None:
                style = styled(style, [int(part or 0) for part in re.split("[;:]", found[1])])
        if line[place:]:
            row.append(Span(line[place:], style))
        rows.append(row)
    return rows


def styled(style: Style, codes: Sequence[int]) -> Style:
    """The style after one sequence of codes; those it does not know change nothing."""
    left = iter(codes)
    for code in left:
        tens, digit = divmod(code, 10)
        if code == 0:
            style = Style()
        elif code in SWITCHES:
            style = style._replace(**SWITCHES[code])
        elif tens in {3, 9}:
            style = style._replace(ink=named_colour(digit, tens == 9, left))
        elif tens in {4, 10}:
            style = style._replace(ground=named_colour(digit, tens == 10, left))
    return style


def named_colour(digit: int, is_bright: bool, codes: Iterator[int]) -> str | None:
    """The colour that a code's last digit names, with the codes after it; None is the usual one."""
    if digit == 8:
        return colour(codes)
    return None if digit == 9 else PALETTE[digit + 8 * is_bright]


def colour(codes: Iterator[int]) -> str | None:
    """The colour that the codes after 38 or 48 name; None if they name none."""
    kind = next(codes, 0)
    if kind == 2:
        red, green, blue = (next(codes, 0) % 256 for _ in range(3))
        return f"#{red:02x}{green:02x}{blue:02x}"
    if kind != 5:
        return None
    number = next(codes, 0) % 256
    if number < 16:
        return PALETTE[number]
    if number >= 232:
        return "#" + f"{8 + 10 * (number - 232):02x}" * 3
    steps = (number - 16) // 36, (number - 16) // 6 % 6, (number - 16) % 6
    return "#" + "".join(f"{55 + 40 * step if step else 0:02x}" for step in steps)


def svg_of(screen: str, columns: int, title: str, description: str) -> str:
    """The whole picture."""
    rows = rows_of(screen.rstrip("\n"))
    width = columns * CELL_WIDTH + 2 * MARGIN
    height = len(rows) * CELL_HEIGHT + 2 * MARGIN
    size = f'width="{width:g}" height="{height:g}"'
    inside = f'width="{width - 2 * MARGIN + 12:g}" height="{height - 2 * MARGIN + 12:g}"'
    edge = MARGIN - 6
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" {size}',
        ' role="img" aria-labelledby="title desc">',
        f'<title id="title">{escape(title)}</title>',
        f'<desc id="desc">{escape(description)}</desc>',
        f'<rect {size} rx="8" fill="{FRAME}"/>',
        f'<rect x="{edge}" y="{edge}" {inside} rx="4" fill="{GROUND}"/>',
        f'<g font-family="{FONTS}" font-size="14">',
    ]
    for number, row in enumerate(rows):
        lines += list(shapes(row, MARGIN + number * CELL_HEIGHT))
    return "\n".join([*lines, "</g>", "</svg>", ""])


def shapes(row: Sequence[Span], top: int) -> Iterator[str]:
    """A rectangle for each coloured ground and a text for each span that shows something."""
    column = 0
    for text, style in row:
        left, width = MARGIN + column * CELL_WIDTH, len(text) * CELL_WIDTH
        ink, ground = style.ink or INK, style.ground
        if style.is_reversed:
            ink, ground = ground or GROUND, ink
        if ground:
            yield (
                f'<rect x="{left:.1f}" y="{top}" width="{width:.1f}" height="{CELL_HEIGHT}"'
                f' fill="{ground}"/>'
            )
        looks = ' font-weight="bold"' * style.is_bold + ' font-style="italic"' * style.is_italic
        for words in WORDS.finditer(text):
            start, length = left + words.start() * CELL_WIDTH, len(words[0]) * CELL_WIDTH
            yield (
                f'<text x="{start:.1f}" y="{top + 13}" textLength="{length:.1f}" fill="{ink}"'
                f"{looks}>{escape(words[0])}</text>"
            )
        column += len(text)
