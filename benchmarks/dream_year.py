"""A synthetic year of one project, dreamt every night: `make year`.

Without a model, and with a scripted one that knows the truth and judges the pairs that it is given.
Prints, beside what is wanted: the largest index of all nights, the true facts that were lost, the
share of contradicted and ended facts that were retired, and whether each of the last ten nights
could be undone byte for byte.
"""

import argparse
import logging
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path

import anyio
import msgspec
import structlog

from memoryd.memories.rules import index
from tests.dreams.test_model_dream import dreaming
from tests.support.dream_fixtures import DreamProject, tree_hash
from tests.support.dream_year import DreamYear, NightReport, YearMemory, year_of
from tests.support.year_model import TruthfulModel

LAST_NIGHTS = 10
DEADLINE_SECONDS = 900.0
WANTED_PERCENT = 80


class DreamtNights(msgspec.Struct, frozen=True):
    reports: list[NightReport]
    undone: int
    cpu_seconds: list[float]
    judged: int = 0
    tokens: int = 0
    refused: int = 0

    @property
    def retired_percent(self) -> float:
        last = self.reports[-1]
        return 100 * (last.to_retire - last.still_there) / max(1, last.to_retire)

    @property
    def lost(self) -> set[str]:
        return {text for one in self.reports for text in one.lost}

    @property
    def is_good(self) -> bool:
        fits = all(
            one.index_lines <= index.LINE_LIMIT and one.index_bytes <= index.BYTE_LIMIT
            for one in self.reports
        )
        is_retired = self.retired_percent >= WANTED_PERCENT
        return fits and not self.lost and is_retired and self.undone == LAST_NIGHTS


async def dreamt(year: DreamYear, night_begins: Callable[[int], None]) -> DreamtNights:
    """Every night a dream; each of the last ten is undone and dreamt again."""
    project, reports, undone, spent, tokens, refused = year.project, [], 0, [], 0, 0
    project.deadline_seconds = DEADLINE_SECONDS
    async with project.running():
        for day in range(year.nights):
            year.live(day)
            night_begins(day)
            before = tree_hash(project.memory)
            began = time.process_time()
            dream = await project.dream()
            spent.append(time.process_time() - began)
            tokens += dream.summary.input_tokens + dream.summary.output_tokens
            if dream.state != "done":
                print(f"  night {day}: {dream.state}: {dream.reason}", flush=True)
                refused += 1
            if day >= year.nights - LAST_NIGHTS:
                has_changes = dream.state == "done" and bool(dream.summary.files)
                undone += await is_undone(project, before, has_changes=has_changes)
            reports.append(year.report(day))
    return DreamtNights(reports, undone, spent, tokens=tokens, refused=refused)


async def is_undone(project: DreamProject, before: str, *, has_changes: bool) -> bool:
    if not has_changes:
        return True
    await project.dreamer.undo(project.root)
    same = tree_hash(project.memory) == before
    await project.dream()
    return same


async def by_rules(home: Path, memories: list[YearMemory]) -> DreamtNights:
    return await dreamt(DreamYear(DreamProject(home), memories), lambda _day: None)


async def by_a_model(home: Path, memories: list[YearMemory]) -> DreamtNights:
    def read(file: str) -> str:
        for copy in sorted((home / ".local/state").glob(f"*/dreams/*/memory/{file}")):
            with suppress(OSError):
                return copy.read_text(encoding="utf-8")
        return ""

    model = TruthfulModel(memories, read)
    async with dreaming(home, model) as (project, _server):
        nights = await dreamt(DreamYear(project, memories), partial(setattr, model, "day"))
    return msgspec.structs.replace(nights, judged=model.judged)


def show(title: str, nights: DreamtNights) -> None:
    last = nights.reports[-1]
    lines = max(one.index_lines for one in nights.reports)
    size = max(one.index_bytes for one in nights.reports)
    print(title)
    limits = f"limits {index.LINE_LIMIT} and {index.BYTE_LIMIT}"
    print(f"  largest index        {lines} lines, {size} bytes ({limits})")
    print(f"  true facts lost      {len(nights.lost)} (wanted 0)")
    wanted = f"(wanted {WANTED_PERCENT} %)"
    print(f"  retired of {last.to_retire:4} ended {nights.retired_percent:.1f} % {wanted}")
    print(f"  undone byte for byte {nights.undone} of the last {LAST_NIGHTS} nights")
    spent = nights.cpu_seconds
    print(f"  CPU s per dream      {sum(spent) / len(spent):.2f}, at most {max(spent):.2f}")
    if nights.tokens:
        print(f"  the model            {nights.judged} pairs replaced, {nights.tokens} tokens")
    for text in sorted(nights.lost)[:20]:
        print(f"  lost: {text}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--days", type=int, default=300)
    parser.add_argument("--memories", type=int, default=600)
    parser.add_argument("--seed", type=int, default=18)
    parser.add_argument("--how", choices=("rules", "model", "both"), default="both")
    wanted = parser.parse_args()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
    memories = year_of(wanted.seed, wanted.days, wanted.memories)
    ways = {"rules": by_rules, "model": by_a_model}
    good = True
    for how, way in ways.items():
        if wanted.how in {how, "both"}:
            with tempfile.TemporaryDirectory() as home:
                nights = anyio.run(way, Path(home), memories)
            words = "no model" if how == "rules" else "a scripted model"
            show(f"{len(memories)} memories, {wanted.days} nights, {words}", nights)
            good = good and nights.is_good
    raise SystemExit(0 if good else 1)


if __name__ == "__main__":
    main()
