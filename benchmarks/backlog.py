"""What a turn costs that waits for extraction without a model, in one project, as the queue grows.

usage: benchmarks/backlog.py [TURNS ...]     (500, 1,500 and 5,000 by default)

Sessions of twenty turns wait, and every tenth turn asks to remember something new, so the store
grows with the queue. The worker, the tables and the store are the daemon's, in this process. Beside
it the least that keeps each turn exactly once: two bare commits a turn, and for each memory the
bare fsyncs of its file and the index.
"""

import logging
import random
import sqlite3
import sys
import tempfile
import time
from pathlib import Path

import anyio
import structlog
from figures import Numbers, table
from growth import durable
from results import report

from tests.support.extraction_fixtures import ExtractionBench
from tests.support.running import make_home

SIZES = (500, 1_500, 5_000)
TURNS_A_SESSION = 20
FACT_EVERY = 10
LOOK_SECONDS = 0.5
_SYLLABLES = [one + other for one in "bdfgklmnprstvz" for other in "aeiou"]


class _Talk:
    """Sentences of no meaning; some of them ask to be remembered, each something else."""

    def __init__(self) -> None:
        self._chance = random.Random(7)
        self._words = ["".join(self._chance.choices(_SYLLABLES, k=3)) for _ in range(4000)]

    def fact(self) -> str:
        one, two, three, four, five = self._chance.sample(self._words, 5)
        return self._chance.choice(
            (
                f"Remember: our {one} {two} is deployed with {three} to the {four} {five}.",
                f"Remember that {one} reviews every {two} of the {three} {four}.",
                f"Please remember: the {one} tests of {two} need a {three} {four} to start.",
                f"From now on, always run {one} {two} before you touch the {three} {four}.",
                f"Remember: the {one} {two} lives in {three}/{four}, not in {five}.",
            )
        )

    def question(self, number: int) -> str:
        return f"The import of part {number} fails when it is run twice, why? I saw it in the log."

    def answer(self, number: int) -> str:
        return f"Part {number} kept its lock file. It is removed now, and the tests pass. " * 4


def filled(home: Path, turns: int) -> ExtractionBench:
    (home / "app").mkdir()
    bench, talk = ExtractionBench(home, places=True), _Talk()
    for session in range(turns // TURNS_A_SESSION):
        script = bench.session(f"s{session}")
        for at in range(TURNS_A_SESSION):
            number = session * TURNS_A_SESSION + at
            said = talk.question(number) if number % FACT_EVERY else talk.fact()
            script.turn(said, talk.answer(number))
        bench.add(script)
    return bench


async def _until_done(bench: ExtractionBench) -> None:
    async with bench.working():
        while bench.state.run("select 1 from turns where state = 'pending' limit 1"):  # noqa: ASYNC110 - the table is the truth
            await anyio.sleep(LOOK_SECONDS)


def extracted(turns: int) -> tuple[float, float, int]:
    """CPU and wall milliseconds a turn, and how many memories were saved."""
    with tempfile.TemporaryDirectory(prefix="memoryd-bench-") as folder:
        bench = filled(make_home(Path(folder)), turns)
        used, began = time.process_time(), time.perf_counter()
        anyio.run(_until_done, bench)
        used, took = time.process_time() - used, time.perf_counter() - began
        memories = len(bench.store.scan(bench.project().memory))
        bench.state.close()
    return used / turns * 1e3, took / turns * 1e3, memories


def bare(turns: int) -> float:
    """CPU milliseconds a turn of commits and fsyncs alone."""
    with tempfile.TemporaryDirectory(prefix="memoryd-bench-") as folder:
        database = sqlite3.connect(f"{folder}/bare.db", isolation_level=None)
        database.execute("pragma journal_mode = wal")
        database.execute("pragma synchronous = normal")
        database.execute("create table turns (id integer primary key, state text)")
        index = b""
        used = time.process_time()
        for number in range(turns):
            database.execute("insert into turns values (?, 'begun')", (number,))
            database.execute("update turns set state = 'done' where id = ?", (number,))
            if number % FACT_EVERY == 0:
                index += b"- [a memory](a_memory.md): what it says\n"
                durable(Path(folder) / f"{number}.md", b"x" * 300)
                durable(Path(folder) / "MEMORY.md", index)
        used = time.process_time() - used
        database.close()
    return used / turns * 1e3


def figures_at(turns: int) -> Numbers:
    cpu, wall, memories = extracted(turns)
    plain = bare(turns)
    report(
        "CPU of a waiting turn",
        turns,
        cpu,
        "ms",
        of="turns",
        beside=("bare commits and fsyncs", plain),
        goal=5,
    )
    return {
        "CPU of a waiting turn, ms": cpu,
        "  its wall time, ms": wall,
        "  bare commits, CPU ms": plain,
        "  memories saved": float(memories),
    }


def main() -> None:
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
    sizes = tuple(int(word) for word in sys.argv[1:]) or SIZES
    table("turns that wait", {size: figures_at(size) for size in sizes})


if __name__ == "__main__":
    main()
