"""What grows with the number of memories: four sizes, a baseline in the same run, and the slope.

usage: benchmarks/growth.py [SIZE ...]     (200, 2,000, 20,000 and 50,000 memories by default)

The slope is that of the logarithms: 0 does not grow, 1 grows as the store does. The baseline of a
save is what no store can do without: the topic and the index, written and synced bare. That of a
restart is a bare interpreter that loads numpy, that of a list is the stat of each file, and that of
a recall is a ping. Where CPU is reported, that of the baseline is CPU as well. CPU is beside what
a person waits for because other work on the machine changes it less.
"""

import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from figures import (
    Numbers,
    cpu_of_children,
    cpu_seconds,
    cpu_seconds_with_children,
    late,
    milliseconds,
    resident_mib,
    rest,
    table,
)
from recall import fill, sentence, vocabulary
from results import report

from memoryd.base import paths
from tests.support.running import Daemon, Peer, make_home

SIZES = (200, 2_000, 20_000, 50_000)
TIMES = 15
QUERIES = 1_000
NEW = {"description": "what to do in this case", "type": "project", "body": "Use the real one.\n"}
FIRST = "how the cache is warm before the migration"
RESTARTS = 3
# What a figure should not be above, at some sizes or (0) at all of them.
GOALS: dict[str, dict[int, float]] = {
    "restart to first recall": {2_000: 0.6, 20_000: 1.5, 50_000: 4.0},
    "one save": {200: 20.0, 2_000: 20.0, 20_000: 20.0},
    "recall p50": {20_000: 1.5, 50_000: 4.0},
    "memory/list": {20_000: 150.0},
    "context": {20_000: 30.0},
    "outside change seen": {0: 100.0},
    "resident": {2_000: 75.0, 20_000: 150.0},
    "resident after the first start": {2_000: 75.0, 20_000: 150.0},
}
BARE = (sys.executable, "-c", "import asyncio, numpy, msgspec")


@contextmanager
def home_of(size: int) -> Iterator[tuple[Path, Path, list[str]]]:
    """A home, its memory folder with so many memories, and queries for them."""
    rng = random.Random(size)
    words = vocabulary(rng)
    with tempfile.TemporaryDirectory() as made:
        home = make_home(Path(made))
        folder = home / ".claude/projects" / paths.slug(str(home / "app")) / "memory"
        fill(folder, size, words, rng)
        an_hour_ago = time.time() - 3600  # so that the index is made at once, as in an old store
        os.utime(folder, (an_hour_ago, an_hour_ago))
        yield home, folder, [sentence(rng, words, 8) for _ in range(QUERIES)]


@contextmanager
def started(home: Path) -> Iterator[tuple[Daemon, Peer]]:
    daemon = Daemon(home).start()
    try:
        with daemon.peer() as peer:
            peer.socket.settimeout(600)
            yield daemon, peer
    finally:
        daemon.end()


def durable(path: Path, data: bytes) -> None:
    """A file and its folder, written as the store must, without anything else."""
    aside = path.with_suffix(".aside")
    with aside.open("wb") as file:
        file.write(data)
        os.fsync(file.fileno())
    aside.rename(path)
    handle = os.open(path.parent, os.O_RDONLY)
    os.fsync(handle)
    os.close(handle)


def bare_save(folder: Path) -> float:
    index = folder / "MEMORY.md"
    data = index.read_bytes() if index.exists() else b""
    beside = folder.parent / "bare"
    beside.mkdir(exist_ok=True)

    def work() -> None:
        durable(beside / "topic.md", b"x" * 300)
        durable(beside / "index.md", data)

    return statistics.median(milliseconds(work) for _ in range(TIMES))


def stat_each(folder: Path) -> None:
    with os.scandir(folder) as entries:
        for entry in entries:
            entry.stat(follow_symlinks=False)


def own_cpu(work: Callable[[], object]) -> float:
    """Milliseconds of CPU of this process."""
    began = time.process_time()
    work()
    return (time.process_time() - began) * 1e3


def to_first_recall(home: Path, cwd: str) -> tuple[float, float]:
    """Seconds, and seconds of CPU."""
    began = time.perf_counter()
    with started(home) as (daemon, peer):
        peer.call("recall", query=FIRST, cwd=cwd)
        assert daemon.process is not None
        return time.perf_counter() - began, cpu_seconds(daemon.process.pid)


def seen_after(peer: Peer, folder: Path, number: int) -> float:
    """How long until a file that another program wrote is announced."""
    file = folder / f"outside{number}.md"
    began = time.perf_counter()
    file.write_text(f"---\nname: Outside {number}\ntype: project\n---\nWritten by an editor.\n")
    while not peer.next_event().get("path", "").endswith(file.name):
        pass
    return (time.perf_counter() - began) * 1e3


def reported(size: int, figures: Numbers) -> None:
    """Hands the figures with their baselines and goals to run.py."""

    def one(name: str, of: str, unit: str, beside: tuple[str, str] | None = None) -> None:
        goals = GOALS.get(name, {})
        baseline = None if beside is None else (beside[0], figures[beside[1]])
        goal = goals.get(size, goals.get(0))
        report(name, size, figures[of], unit, beside=baseline, goal=goal)

    imports = ("bare imports", "  CPU of bare imports, s")
    one("first start to recall", "first start to recall, s", "s")
    one("first start until it rests, CPU", "  CPU of the first start, s", "s", imports)
    one("resident after the first start", "resident after the first start, MiB", "MiB")
    one("restart to first recall", "restart to recall, s", "s")
    one("restart to first recall, CPU", "  CPU of the restart, s", "s", imports)
    one("after a restart until it rests, CPU", "  CPU until it rests, s", "s", imports)
    one("resident", "resident, MiB", "MiB")
    one("resident after use", "resident after use, MiB", "MiB")
    one("one save", "save, ms", "ms", ("the same fsyncs bare", "  bare fsyncs, ms"))
    one("one save, CPU", "  CPU of a save, ms", "ms")
    one("recall p50", "recall, ms", "ms", ("a ping", "  a ping, ms"))
    one("recall, CPU", "  CPU of a recall, ms", "ms")
    stats = ("stat of each file", "  bare stat of each, CPU ms")
    one("memory/list", "list, ms", "ms")
    one("memory/list, CPU", "  CPU of a list, ms", "ms", stats)
    one("context", "context, ms", "ms")
    one("context, CPU", "  CPU of a context, ms", "ms")
    one("outside change seen", "outside change seen, ms", "ms")


def figures_at(size: int) -> Numbers:
    """Everything that is measured of a store of this size."""
    figures: Numbers = {}

    def told(name: str, value: float) -> None:
        figures[name] = value
        print(f"  {size:,} memories: {name.strip()} {value:.2f}", file=sys.stderr, flush=True)

    with home_of(size) as (home, folder, queries):
        cwd = str(home / "app")
        began = time.perf_counter()
        with started(home) as (daemon, peer):
            assert daemon.process is not None
            peer.call("recall", query=FIRST, cwd=cwd)
            told("first start to recall, s", time.perf_counter() - began)
            rest(daemon.process.pid)
            told("  CPU of the first start, s", cpu_seconds_with_children(daemon.process.pid))
            told("resident after the first start, MiB", resident_mib(daemon.process.pid))
        restarts = [to_first_recall(home, cwd) for _ in range(RESTARTS)]
        told("restart to recall, s", min(seconds for seconds, _ in restarts))
        told("  CPU of the restart, s", min(cpu for _, cpu in restarts))
        told("  CPU of bare imports, s", bare_imports())
        with started(home) as (daemon, peer):
            assert daemon.process is not None
            peer.call("recall", query="warm up", cwd=cwd)
            before = cpu_seconds(daemon.process.pid)
            rest(daemon.process.pid)
            told("  CPU until it rests, s", cpu_seconds(daemon.process.pid) - before)
            told("resident, MiB", resident_mib(daemon.process.pid))
            use(daemon.process.pid, peer, folder, cwd, queries, told)
            told("resident after use, MiB", resident_mib(daemon.process.pid))
    reported(size, figures)
    return figures


def bare_imports() -> float:
    """Seconds of CPU of an interpreter that only loads what the daemon is built on."""
    run = partial(subprocess.run, BARE, check=True)
    return min(cpu_of_children(run) for _ in range(RESTARTS)) / 1e3


def use(
    pid: int,
    peer: Peer,
    folder: Path,
    cwd: str,
    queries: list[str],
    told: Callable[[str, float], None],
) -> None:
    def asked(what: str, each: Callable[[int], dict[str, Any]], times: int = TIMES) -> None:
        method = {"save": "memory/save", "list": "memory/list"}.get(what, what)
        before = cpu_seconds(pid)
        taken = [
            milliseconds(partial(peer.call, method, cwd=cwd, **each(at))) for at in range(times)
        ]
        told(f"{what}, ms", statistics.median(taken))
        if what == "recall":
            told("  p99, ms", late(taken))
        told(f"  CPU of a {what}, ms", (cpu_seconds(pid) - before) / times * 1e3)

    peer.call("memory/save", cwd=cwd, **NEW, name="The first one reads the whole index")
    asked("save", lambda at: NEW | {"name": f"Case {at}"})
    told("  bare fsyncs, ms", bare_save(folder))
    asked("recall", lambda at: {"query": queries[at]}, QUERIES)
    pings = [milliseconds(partial(peer.call, "ping")) for _ in queries]
    told("  a ping, ms", statistics.median(pings))
    asked("list", lambda _: {}, 5)
    told("  bare stat of each, CPU ms", min(own_cpu(partial(stat_each, folder)) for _ in range(5)))
    asked("context", lambda _: {}, 5)
    peer.call("events/subscribe", kinds=["memory/saved"])
    seen = [seen_after(peer, folder, number) for number in range(7)]
    told("outside change seen, ms", statistics.median(seen))


def main() -> None:
    sizes = [int(word) for word in sys.argv[1:]] or list(SIZES)
    table("memories", {size: figures_at(size) for size in sizes})


if __name__ == "__main__":
    main()
