"""Growth as pictures: for each row a small log-log plot, the panels of a script in one SVG file.

A line that lies flat does not grow; the dashed one is the baseline of the same run.
"""

import math
from collections.abc import Iterable, Sequence
from html import escape
from typing import Final

from results import Row

COLUMNS: Final = 3
WIDTH, HEIGHT = 250, 170
LEFT, RIGHT, TOP, BOTTOM = 46, 12, 34, 24
OURS, BASELINE, INK, GRID = "#1f6f8b", "#c2703d", "#444", "#ddd"

Line = list[tuple[float, float]]


def lines_of(row: Row) -> tuple[Line, Line]:
    """The points of a row and of its baseline that have a logarithm."""
    points = [point for point in row.points if point.size > 0]
    ours = [(float(point.size), point.value) for point in points if point.value > 0]
    beside = [
        (float(point.size), point.beside[1])
        for point in points
        if point.beside and point.beside[1] > 0
    ]
    return ours, beside


def can_be_plotted(row: Row) -> bool:
    return len(lines_of(row)[0]) > 1


def svg(rows: Sequence[Row]) -> str:
    """One picture of all rows that were measured at two sizes or more."""
    panels = [row for row in rows if can_be_plotted(row)]
    width = WIDTH * min(COLUMNS, max(1, len(panels)))
    height = HEIGHT * max(1, math.ceil(len(panels) / COLUMNS))
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="10" fill="{INK}">'
    )
    parts = [head, f'<rect width="{width}" height="{height}" fill="#fff"/>']
    for number, row in enumerate(panels):
        x, y = number % COLUMNS * WIDTH, number // COLUMNS * HEIGHT
        parts += [f'<g transform="translate({x} {y})">', *_panel(row), "</g>"]
    return "\n".join([*parts, "</svg>\n"])


def _panel(row: Row) -> list[str]:
    ours, beside = lines_of(row)
    xs = [math.log10(x) for x, _ in ours]
    ys = [math.log10(y) for _, y in (*ours, *beside)]
    # Whole decades, and one at least: else noise of a few per cent would look like growth.
    low, high = math.floor(min(ys)), max(math.ceil(max(ys)), math.floor(min(ys)) + 1)
    left, right = min(xs), max(xs)

    def place(point: tuple[float, float]) -> str:
        across = (math.log10(point[0]) - left) / (right - left or 1)
        up = (math.log10(point[1]) - low) / (high - low)
        x = LEFT + across * (WIDTH - LEFT - RIGHT)
        return f"{x:.1f},{HEIGHT - BOTTOM - up * (HEIGHT - TOP - BOTTOM):.1f}"

    unit = row.points[0].unit
    grown = "" if row.slope is None else f", slope {row.slope:.2f}"
    parts = [
        f'<text x="{LEFT}" y="14" font-weight="bold">{escape(row.name)}</text>',
        f'<text x="{LEFT}" y="27">{escape(unit)}{grown}</text>',
    ]
    for decade in range(low, high + 1):
        height = float(place((ours[0][0], 10.0**decade)).partition(",")[2])
        label = f'x="{LEFT - 4}" y="{height + 3:.1f}" text-anchor="end"'
        parts += [
            f'<path d="M{LEFT} {height}H{WIDTH - RIGHT}" stroke="{GRID}"/>',
            f"<text {label}>{10.0**decade:g}</text>",
        ]
    for x, _ in ours:
        at = place((x, 10.0**low)).partition(",")[0]
        parts.append(f'<text x="{at}" y="{HEIGHT - 9}" text-anchor="middle">{x:,.0f}</text>')
    if len(beside) > 1:
        parts.append(_line(map(place, beside), f'stroke="{BASELINE}" stroke-dasharray="4 3"'))
    parts.append(_line(map(place, ours), f'stroke="{OURS}" stroke-width="2"'))
    for point in ours:
        across, _, down = place(point).partition(",")
        parts.append(f'<circle cx="{across}" cy="{down}" r="2.5" fill="{OURS}"/>')
    return parts


def _line(places: Iterable[str], style: str) -> str:
    return f'<polyline points="{" ".join(places)}" fill="none" {style}/>'
