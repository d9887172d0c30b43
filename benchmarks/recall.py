"""Recall through the socket at three sizes, beside SQLite FTS5 and a search of the files.

usage: benchmarks/recall.py [SIZE ...]     (200, 2,000 and 20,000 memories by default)
"""

import random
import shutil
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from figures import Numbers, late, resident_mib, rest, table
from results import report

from memoryd.base import paths
from memoryd.memories.rules import topics
from memoryd.memories.rules.topics import Topic
from tests.support.running import Daemon, Peer, make_home

SIZES = (200, 2_000, 20_000)
GOALS = {20_000: 1.5, 50_000: 4.0}
QUERIES = 1_000
QUERIES_WHILE_BUSY = 200
FILE_SEARCHES = 20
SYLLABLES = (
    "ba be bi bo bu da de di do du ka ke ki ko ku la le li lo lu ma me mi mo mu ra re ri ro ru"
)
TALK = "the deploy of service fails when database migration runs before cache is warm"


def vocabulary(rng: random.Random) -> list[str]:
    made = {"".join(rng.choices(SYLLABLES.split(), k=3)) for _ in range(4000)}
    return sorted(made) + TALK.split() * 20


def sentence(rng: random.Random, words: list[str], length: int) -> str:
    return " ".join(rng.choices(words, k=length))


def fill(folder: Path, size: int, words: list[str], rng: random.Random) -> list[str]:
    folder.mkdir(parents=True)
    texts = []
    for number in range(size):
        topic = Topic(
            name=sentence(rng, words, 5),
            description=sentence(rng, words, 12),
            type=topics.TYPES[number % 4],
            body=sentence(rng, words, 60),
        )
        text = topics.render(topic)
        (folder / f"m{number:05}.md").write_text(text)
        texts.append(text)
    return texts


def timed(work: Callable[[str], object], queries: list[str]) -> list[float]:
    times = []
    for query in queries:
        began = time.perf_counter()
        work(query)
        times.append((time.perf_counter() - began) * 1e3)
    return times


def fts5(texts: list[str], queries: list[str]) -> list[float]:
    table = sqlite3.connect(":memory:")
    table.execute("create virtual table t using fts5(x, tokenize='porter unicode61')")
    table.executemany("insert into t values (?)", [(text,) for text in texts])
    ask = "select rowid from t where x match ? order by bm25(t) limit 5"
    found = timed(
        lambda query: table.execute(ask, (" OR ".join(query.split()),)).fetchall(), queries
    )
    table.close()
    return found


def search_of_files(folder: Path, queries: list[str]) -> tuple[str, list[float]]:
    tool = shutil.which("rg") or shutil.which("grep")
    assert tool is not None
    flags = ["-rlE", "--"]
    found = timed(
        lambda query: subprocess.run(
            [tool, *flags, "|".join(query.split()), str(folder)], capture_output=True, check=False
        ),
        queries[:FILE_SEARCHES],
    )
    return Path(tool).name, found


def figures_at(size: int) -> Numbers:
    rng = random.Random(size)
    words = vocabulary(rng)
    queries = [sentence(rng, words, 8) for _ in range(QUERIES)]
    with tempfile.TemporaryDirectory() as made:
        home = make_home(Path(made))
        cwd = str(home / "app")
        folder = home / ".claude/projects" / paths.slug(cwd) / "memory"
        texts = fill(folder, size, words, rng)
        daemon = Daemon(home).start()
        try:
            with daemon.peer() as peer:
                peer.socket.settimeout(600)
                assert daemon.process is not None
                found = through_the_socket(peer, cwd, queries, daemon.process.pid)
            found["resident, MiB"] = resident_mib(daemon.process.pid)
        finally:
            daemon.end()
        plain = fts5(texts, queries)
        name, searched = search_of_files(folder, queries)
    beside = ("SQLite FTS5 in process", statistics.median(plain))
    report("recall p50", size, found["recall, p50 ms"], "ms", beside=beside, goal=GOALS.get(size))
    report("recall p99", size, found["recall, p99 ms"], "ms", beside=beside)
    while_busy = found["recall right after the first start, p50 ms"]
    report("recall right after the first start, p50", size, while_busy, "ms", beside=beside)
    report("save and find", size, found["save and find, ms"], "ms")
    return found | {
        "  FTS5 in process, p50 ms": statistics.median(plain),
        "  FTS5 in process, p99 ms": late(plain),
        f"  {name} over the files, p50 ms": statistics.median(searched),
    }


def through_the_socket(peer: Peer, cwd: str, queries: list[str], pid: int) -> Numbers:
    began = time.perf_counter()
    peer.call("recall", query="warm up", cwd=cwd)
    first = time.perf_counter() - began
    began = time.perf_counter()
    new = {"name": "N", "description": "d", "type": "user", "body": "zirconium"}
    peer.call("memory/save", cwd=cwd, **new)
    peer.call("recall", query="zirconium", cwd=cwd)
    update = time.perf_counter() - began
    some = queries[:QUERIES_WHILE_BUSY]
    busy = timed(lambda query: peer.call("recall", query=query, cwd=cwd), some)
    rest(pid)
    times = timed(lambda query: peer.call("recall", query=query, cwd=cwd), queries)
    return {
        "recall right after the first start, p50 ms": statistics.median(busy),
        "first answer (load, build), s": first,
        "save and find, ms": update * 1e3,
        "recall, p50 ms": statistics.median(times),
        "recall, p99 ms": late(times),
    }


def main() -> None:
    sizes = [int(word) for word in sys.argv[1:]] or list(SIZES)
    table("memories", {size: figures_at(size) for size in sizes})


if __name__ == "__main__":
    main()
