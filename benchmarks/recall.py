"""Recall through the socket at three sizes, beside SQLite FTS5 and a search of the files."""

import random
import shutil
import sqlite3
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from memoryd.base import paths
from memoryd.memories.rules import topics
from memoryd.memories.rules.topics import Topic
from tests.support.running import Daemon, make_home

SIZES = (200, 2_000, 20_000)
QUERIES = 200
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
    return sorted(times)


def row(name: str, times: list[float]) -> None:
    last = times[max(0, int(len(times) * 0.99) - 1)]
    print(f"  {name:<32}{statistics.median(times):>10.2f}{last:>10.2f}")


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


def resident_mib(pid: int) -> float:
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.partition("VmRSS:")[2].split()[0]) / 1024


def measure(size: int) -> None:
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
                peer.socket.settimeout(120)
                began = time.perf_counter()
                peer.call("recall", query="warm up", cwd=cwd)
                first = time.perf_counter() - began
                began = time.perf_counter()
                new = {"name": "N", "description": "d", "type": "user", "body": "zirconium"}
                peer.call("memory/save", cwd=cwd, **new)
                peer.call("recall", query="zirconium", cwd=cwd)
                update = time.perf_counter() - began
                print(f"\n{size} memories{'':<20}{'p50 ms':>13}{'p99 ms':>10}")
                row(
                    "recall over the socket",
                    timed(lambda q: peer.call("recall", query=q, cwd=cwd), queries),
                )
            row("SQLite FTS5, in process", fts5(texts, queries))
            name, times = search_of_files(folder, queries)
            row(f"{name} over the files", times)
            assert daemon.process is not None
            print(
                f"  first answer (load, build) {first:.2f} s; save and find {update * 1e3:.0f} ms"
            )
            print(f"  resident {resident_mib(daemon.process.pid):.0f} MiB")
        finally:
            daemon.end()


def main() -> None:
    for size in SIZES:
        measure(size)


if __name__ == "__main__":
    main()
