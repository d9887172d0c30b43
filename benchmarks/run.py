"""Runs every benchmark in this folder, one after the other, each beside its baseline.

usage: benchmarks/run.py [--keep] [NAME ...]

NAME is a file without .py; all of them by default. At the end come the rows that the scripts
reported (results.py), with their growth and with what is a third worse than in RESULTS.md. A run of
all writes RESULTS.md and its plots; so does a run of some with --keep, which leaves the other rows.
"""

import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path

import results_page
from results import ROWS_VARIABLE, Point, Row, points_of, regressions, rows_of
from results_plots import can_be_plotted, svg

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
RESULTS = HERE / "RESULTS.md"
PLOTS = HERE / "plots"
NO_SCRIPTS = {"run", "figures", "session_mix", "results", "results_page", "results_plots"}
# These want a folder, of judged queries or to write to; a year takes long (`make year`), so does
# what has a target of its own (`make soak`, `make kills`, `make load`).
NOT_BY_THEMSELVES = {"recall_quality", "long_store", "dream_year", "soak", "kills", "load"}


def run(name: str, rows: Path) -> int:
    path = f"{ROOT}:{ROOT / 'client'}"
    env = os.environ | {
        "PYTHONPATH": path,
        ROWS_VARIABLE: str(rows),
        "MEMORYD_BENCH_SCRIPT": name,
    }
    print(f"\n== {name} ==", flush=True)
    return subprocess.run([sys.executable, HERE / f"{name}.py"], env=env, check=False).returncode


def show(rows: Sequence[Row]) -> None:
    for row in rows:
        values = "  ".join(f"{p.size:,}: {results_page.number(p.value)}" for p in row.points)
        unit, of = row.points[0].unit, row.points[0].of
        print(f"{row.name} ({unit}; {of})\n    {values}")
        words = ("slope", "beside", "ratio", "goal")
        said = [f"{w} {c}" for w, c in zip(words, results_page.cells(row), strict=True) if c]
        if said:
            print(f"    {'; '.join(said)}")


def keep(rows: Sequence[Row], machine: str) -> None:
    """Writes the page, and a plot for each script that has something to plot."""
    date = datetime.now(UTC).date().isoformat()
    PLOTS.mkdir(exist_ok=True)
    for script, group in groupby(rows, lambda row: row.script):
        plotted = [row for row in group if can_be_plotted(row)]
        if plotted:
            (PLOTS / f"{script}.svg").write_text(svg(plotted), encoding="utf-8")
    RESULTS.write_text(results_page.page(rows, machine, date), encoding="utf-8")
    print(f"\nwrote {RESULTS.relative_to(ROOT)}")


def compare(before: Sequence[Point], now: Sequence[Point]) -> None:
    worse = regressions(before, now)
    print(f"\nworse by a third than in {RESULTS.name}: {len(worse) or 'nothing'}")
    for line in worse:
        print(f"  {line}")


def main() -> int:
    known = {path.stem for path in HERE.glob("*.py")} - NO_SCRIPTS
    named = [word for word in sys.argv[1:] if word != "--keep"]
    wanted = named or sorted(known - NOT_BY_THEMSELVES)
    unknown = [name for name in wanted if name not in known]
    if unknown:
        print(f"no benchmark {', '.join(unknown)}; there are: {', '.join(sorted(known))}")
        return 2
    machine = results_page.machine()
    with tempfile.TemporaryDirectory(prefix="memoryd-bench-") as folder:
        file = Path(folder) / "rows"
        file.touch()
        failed = [name for name in wanted if run(name, file)]
        now = points_of(file.read_bytes().splitlines())
    before = results_page.read(RESULTS)
    print(f"\n== rows ==\n{machine}")
    show(rows_of(now))
    if now:
        compare(before, now)
    if failed:
        print(f"\nfailed: {', '.join(failed)}; {RESULTS.name} stays as it was")
        return 1
    if not named or "--keep" in sys.argv[1:]:
        keep(results_page.merged(before, now), machine)
    return 0


if __name__ == "__main__":
    sys.exit(main())
