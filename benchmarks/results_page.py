"""RESULTS.md: the rows as tables for people, and below them as lines that the next run reads.

The machine is described, not named: what it has, never what or where it is.
"""

import os
import platform
from collections.abc import Iterable, Sequence
from itertools import groupby
from pathlib import Path
from typing import Final

import msgspec
from results import Point, Row, points_of, rows_of
from results_plots import can_be_plotted

DATA_BEGINS: Final = "<!-- rows, for the next run to compare with"
DATA_ENDS: Final = "-->"
HEAD: Final = """\
# Results

Written by `make bench`; do not edit. Each figure is beside its baseline, measured in the same run,
because only ratios can be compared between machines. *Slope* is that of the logarithms: 0 does not
grow with the size, 1 grows as it does, 2 with its square. A dashed line in a plot is the baseline.
"""


def machine() -> str:
    """What the figures were measured on, in one line."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    kernel = ".".join(platform.release().split("-")[0].split(".")[:2])
    load = os.getloadavg()[0]
    return (
        f"{os.cpu_count()} cores ({platform.machine()}), {memory:.0f} GiB of memory,"
        f" {platform.system()} {kernel}, Python {platform.python_version()},"
        f" load {load:.1f} at the start"
    )


def number(value: float) -> str:
    """Three figures that count, and no more."""
    if abs(value) >= 100 or value == int(value):
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"


def cells(row: Row) -> tuple[str, str, str, str]:
    """The slope, the baseline, the ratios and the goal of a row."""
    grown = "" if row.slope is None else f"{row.slope:.2f}"
    beside = [point.beside for point in row.points if point.beside]
    baseline = ratios = ""
    if beside:
        baseline = f"{beside[0][0]}: {' / '.join(number(value) for _, value in beside)}"
        if row.baseline_slope is not None:
            baseline += f", slope {row.baseline_slope:.2f}"
        shown = ("-" if point.ratio is None else f"{point.ratio:.2f}" for point in row.points)
        ratios = " / ".join(shown)
    return grown, baseline, ratios, goal_of(row)


def goal_of(row: Row) -> str:
    goals = [point for point in row.points if point.goal is not None]
    if not goals:
        return ""
    wanted = " / ".join(dict.fromkeys(number(point.goal or 0) for point in goals))
    missed = [f"{point.size:,}" for point in goals if not point.meets_its_goal]
    return f"{wanted}, missed at {', '.join(missed)}" if missed else f"{wanted}, met"


def tables(rows: Iterable[Row]) -> list[str]:
    """Markdown tables; rows with the same sizes in one."""
    lines: list[str] = []
    for (sizes, of), group in groupby(rows, lambda row: (_sizes(row), row.points[0].of)):
        heads = [f"{size:,}" for size in sizes]
        heads[-1] += f" {of}"
        lines.append(f"| | {' | '.join(heads)} | slope | beside it | ratio | goal |")
        lines.append("|---" * (len(sizes) + 5) + "|")
        for row in group:
            values = " | ".join(f"{number(point.value)} {point.unit}" for point in row.points)
            lines.append(f"| {row.name} | {values} | {' | '.join(cells(row))} |")
        lines.append("")
    return lines


def page(rows: Sequence[Row], machine_line: str, date: str) -> str:
    lines = [HEAD, f"Measured on {date}: {machine_line}.", ""]
    for script, group in groupby(rows, lambda row: row.script):
        of_script = list(group)
        lines += [f"## {script}", "", *tables(of_script)]
        if any(map(can_be_plotted, of_script)):
            lines += [f"![growth of {script}](plots/{script}.svg)", ""]
    data = [msgspec.json.encode(point).decode() for row in rows for point in row.points]
    return "\n".join([*lines, DATA_BEGINS, *data, DATA_ENDS, ""])


def points_in(page_text: str) -> list[Point]:
    """The figures that a page was made from."""
    data = page_text.partition(DATA_BEGINS)[2].partition(DATA_ENDS)[0]
    return points_of(line.encode() for line in data.splitlines())


def read(path: Path) -> list[Point]:
    return points_in(path.read_text(encoding="utf-8")) if path.exists() else []


def merged(before: Sequence[Point], now: Sequence[Point]) -> list[Row]:
    """The rows of this run, and those of the file whose scripts did not run this time."""
    ran = {point.script for point in now}
    rows = rows_of([*(point for point in before if point.script not in ran), *now])
    return sorted(rows, key=lambda row: row.script)


def _sizes(row: Row) -> tuple[int, ...]:
    return tuple(point.size for point in row.points)
