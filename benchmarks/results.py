"""The rows of a benchmark run: what was measured at which size, beside what, and how it grows.

How a script plugs in: one call for each figure, at each size.

    from results import report

    report("recall p50", 2_000, 0.78, "ms", beside=("SQLite FTS5", 2.2), goal=1.5)

- The name says what is measured, the size how much there was (`of` says of what: memories unless
  told). Figures with the same name become one row, in the order of their first report.
- `beside` is the baseline, measured in the same run on the same machine: its name and its figure,
  in the same unit. Only the ratio to it can be compared between machines.
- `goal` is what the figure should not be above; with `more_is_better=True` not below.
- A script that is run by itself goes on as before: without `run.py` a report does nothing.

`run.py` names a file in MEMORYD_BENCH_ROWS; each report is a line of JSON at its end. It prints
the rows, says which ratio is a third worse than in RESULTS.md, and writes that file again.
"""

import math
import os
import statistics
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

import msgspec

ROWS_VARIABLE: Final = "MEMORYD_BENCH_ROWS"
WORSE: Final = 4 / 3
# Figures in these units say as much about the machine as about the program.
UNITS_OF_TIME: Final = frozenset(("s", "ms", "us", "MB/s"))


class Point(msgspec.Struct, frozen=True, omit_defaults=True):
    """One figure at one size."""

    script: str
    name: str
    size: int
    value: float
    unit: str
    of: str = "memories"
    beside: tuple[str, float] | None = None
    goal: float | None = None
    more_is_better: bool = False

    @property
    def ratio(self) -> float | None:
        """The cost in baselines: 2 is twice the cost of the baseline, for times and for rates."""
        if self.beside is None or self.beside[1] <= 0 or self.value <= 0:
            return None
        plain = self.value / self.beside[1]
        return 1 / plain if self.more_is_better else plain

    @property
    def comparable(self) -> float | None:
        """What can be compared with a run on another machine: a ratio, or a count."""
        if self.ratio is not None or self.beside is not None or self.value <= 0:
            return self.ratio
        if UNITS_OF_TIME & set(self.unit.split()):
            return None
        return 1 / self.value if self.more_is_better else self.value

    @property
    def meets_its_goal(self) -> bool:
        if self.goal is None:
            return True
        return self.value >= self.goal if self.more_is_better else self.value <= self.goal


class Row(msgspec.Struct, frozen=True):
    """What was measured, at all its sizes, from small to large."""

    script: str
    name: str
    points: tuple[Point, ...]

    @property
    def slope(self) -> float | None:
        return slope([(point.size, point.value) for point in self.points])

    @property
    def baseline_slope(self) -> float | None:
        pairs = [(point.size, point.beside[1]) for point in self.points if point.beside]
        return slope(pairs)


def report(
    name: str,
    size: int,
    value: float,
    unit: str,
    *,
    of: str = "memories",
    beside: tuple[str, float] | None = None,
    goal: float | None = None,
    more_is_better: bool = False,
) -> None:
    """Hands one figure to run.py, if that started this script."""
    file = os.environ.get(ROWS_VARIABLE)
    if not file:
        return
    script = os.environ.get("MEMORYD_BENCH_SCRIPT", "")
    point = Point(script, name, size, value, unit, of, beside, goal, more_is_better)
    with Path(file).open("ab") as rows:
        rows.write(msgspec.json.encode(point) + b"\n")


def points_of(lines: Iterable[bytes]) -> list[Point]:
    """The figures of so many lines; what is not one of them is left out."""
    found = []
    for line in lines:
        try:
            found.append(msgspec.json.decode(line, type=Point))
        except msgspec.MsgspecError:
            continue
    return found


def rows_of(points: Iterable[Point]) -> list[Row]:
    """One row for each name of a script; a size that was measured twice has its last figure."""
    rows: dict[tuple[str, str], dict[int, Point]] = {}
    for point in points:
        rows.setdefault((point.script, point.name), {})[point.size] = point
    return [
        Row(script, name, tuple(by_size[size] for size in sorted(by_size)))
        for (script, name), by_size in rows.items()
    ]


def slope(points: Sequence[tuple[float, float]]) -> float | None:
    """The exponent of a power law through the points: 0 is flat, 1 linear, 2 the square."""
    logs = [(math.log(x), math.log(y)) for x, y in points if x > 0 and y > 0]
    xs, ys = [x for x, _ in logs], [y for _, y in logs]
    if len(set(xs)) < 2:
        return None
    return statistics.linear_regression(xs, ys).slope


def regressions(before: Iterable[Point], now: Iterable[Point]) -> list[str]:
    """A line for each figure that is worse by more than a third than the file says."""
    known = {(p.script, p.name, p.size): p for p in before}
    said = []
    for point in now:
        old = known.get((point.script, point.name, point.size))
        was, is_ = old and old.comparable, point.comparable
        # A ratio to another baseline, or a count beside a ratio, is another figure.
        if old is None or not was or not is_ or (old.beside is None) != (point.beside is None):
            continue
        if is_ > was * WORSE:
            what = "of the baseline" if point.beside else point.unit
            at = f"{point.size:,} {point.of}"
            said.append(f"{point.name} at {at}: {was:.2f} -> {is_:.2f} {what}")
    return said
