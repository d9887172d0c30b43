"""A synthetic year of one project, dreamt every night without a model: `make year`.

Prints, beside what is wanted: the largest index of all nights, the true facts that were lost, the
share of contradicted and ended facts that were retired, and whether each of the last ten nights
could be undone byte for byte.
"""

import argparse
import logging
import tempfile
import time
from pathlib import Path

import anyio
import msgspec
import structlog

from memoryd.memories.rules import index
from tests.support.dream_fixtures import DreamProject, tree_hash
from tests.support.dream_year import DreamYear, NightReport, year_of

LAST_NIGHTS = 10


class Year(msgspec.Struct, frozen=True):
    reports: list[NightReport]
    undone: int
    seconds: list[float]


async def dreamt(year: DreamYear) -> Year:
    """Every night a dream; each of the last ten is undone and dreamt again."""
    project, reports, undone, seconds = year.project, [], 0, []
    async with project.running():
        for day in range(year.nights):
            year.live(day)
            before = tree_hash(project.memory)
            began = time.monotonic()
            dream = await project.dream()
            seconds.append(time.monotonic() - began)
            if dream.state != "done":
                raise SystemExit(f"night {day}: {dream.state}: {dream.reason}")
            if day >= year.nights - LAST_NIGHTS:
                undone += await is_undone(project, before, has_changes=bool(dream.summary.files))
            reports.append(year.report(day))
    return Year(reports, undone, seconds)


async def is_undone(project: DreamProject, before: str, *, has_changes: bool) -> bool:
    if not has_changes:
        return True
    await project.dreamer.undo(project.root)
    same = tree_hash(project.memory) == before
    await project.dream()
    return same


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--days", type=int, default=300)
    parser.add_argument("--memories", type=int, default=600)
    parser.add_argument("--seed", type=int, default=18)
    wanted = parser.parse_args()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING))
    with tempfile.TemporaryDirectory() as home:
        year = DreamYear(
            DreamProject(Path(home)), year_of(wanted.seed, wanted.days, wanted.memories)
        )
        result = anyio.run(dreamt, year)
    last = result.reports[-1]
    lines = max(one.index_lines for one in result.reports)
    size = max(one.index_bytes for one in result.reports)
    lost = {text for one in result.reports for text in one.lost}
    retired = 100 * (last.to_retire - last.still_there) / max(1, last.to_retire)
    print(f"{len(year.memories)} memories in {year.nights} days, a dream every night, no model")
    limits = f"limits {index.LINE_LIMIT} and {index.BYTE_LIMIT}"
    print(f"  largest index        {lines} lines, {size} bytes ({limits})")
    print(f"  true facts lost      {len(lost)} (wanted 0)")
    print(f"  retired of {last.to_retire:4} ended {retired:.1f} % (wanted 80 %)")
    print(f"  undone byte for byte {result.undone} of the last {LAST_NIGHTS} nights")
    mean = sum(result.seconds) / len(result.seconds)
    print(f"  seconds per dream    {mean:.2f}, at most {max(result.seconds):.2f}")
    for text in sorted(lost)[:20]:
        print(f"  lost: {text}")
    good = lines <= index.LINE_LIMIT and size <= index.BYTE_LIMIT and not lost and retired >= 80
    raise SystemExit(0 if good and result.undone == LAST_NIGHTS else 1)


if __name__ == "__main__":
    main()
