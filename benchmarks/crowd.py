"""64 clients that ask, save and list while a dream runs, beside one client alone.

usage: benchmarks/crowd.py [SIZE ...]     (200, 1,000 and 5,000 memories by default)

Each of them asks four times, saves, and lists every fourth time. First they do so every two
seconds, which is what 64 busy sessions do; the goals are for that. Then they hardly pause, so that
they wait for each other, whatever the daemon does: that shows how much it can do at all.
"""

import random
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path

from figures import Numbers, late, rest, table
from recall import fill, sentence, vocabulary
from results import report

from memoryd.base import paths
from tests.support.running import Daemon, Peer, make_home

SIZES = (200, 1_000, 5_000)
CLIENTS = 64
ROUNDS = 8
# Between two rounds of a client, in seconds.
BUSY, HARDLY = (1.0, 3.0), (0.05, 0.5)
ALONE = 200
SAVES_ALONE = 20
PATIENCE_SECONDS = 600
GOAL_RECALL_MS, GOAL_RECALL_LATE_MS, GOAL_SAVE_MS = 15, 150, 100


class Client(threading.Thread):
    """Four questions, then a save, sometimes a list, and a pause, again and again."""

    def __init__(
        self,
        daemon: Daemon,
        cwd: str,
        number: int,
        queries: Sequence[str],
        pause: tuple[float, float],
    ) -> None:
        super().__init__(daemon=True)
        self.number = number
        self.pause = pause
        self.peer = daemon.peer()
        self.peer.socket.settimeout(PATIENCE_SECONDS)
        self.cwd = cwd
        self.queries = queries
        self.times: dict[str, list[float]] = {"recall": [], "memory/save": [], "memory/list": []}

    def run(self) -> None:
        dice = random.Random(self.number)
        with self.peer:
            for turn in range(ROUNDS):
                time.sleep(dice.uniform(*self.pause))
                for _ in range(4):
                    self.timed("recall", query=dice.choice(self.queries))
                name = f"Client {self.number} said {turn} after {self.pause[0]} s"
                self.timed("memory/save", name=name, description="d", type="user", body="Yes.\n")
                if turn % 4 == 3:
                    self.timed("memory/list", scope="project")

    def timed(self, method: str, **params: object) -> None:
        # The answers are not parsed: the clients are programs of their own, and here they would
        # wait for each other instead of for the daemon.
        request = {
            "jsonrpc": "2.0",
            "id": 1,
            "method": method,
            "params": {"cwd": self.cwd} | params,
        }
        began = time.perf_counter()
        self.peer.send(request)
        answer = self.peer.file.readline()
        self.times[method].append((time.perf_counter() - began) * 1e3)
        if b'"result"' not in answer[:100]:
            raise SystemExit(f"{method}: {answer[:300]!r}")


def figures_at(size: int) -> Numbers:
    rng = random.Random(size)
    words = vocabulary(rng)
    queries = [sentence(rng, words, 8) for _ in range(50)]
    with tempfile.TemporaryDirectory() as made:
        home = make_home(Path(made))
        cwd = str(home / "app")
        fill(home / ".claude/projects" / paths.slug(cwd) / "memory", size, words, rng)
        daemon = Daemon(home).start()
        try:
            with daemon.peer() as peer:
                peer.socket.settimeout(PATIENCE_SECONDS)
                assert daemon.process is not None
                peer.call("recall", query="warm up", cwd=cwd)
                rest(daemon.process.pid)
                alone, saved = alone_with(peer, cwd, queries), saved_alone(peer, cwd)
                peer.call("dream/start", cwd=cwd, force=True)
                busy = times_of(daemon, cwd, queries, BUSY)
                peer.ask("dream/start", cwd=cwd, force=True)  # the first may still run
                began = time.perf_counter()
                most = times_of(daemon, cwd, queries, HARDLY)
                rate = sum(map(len, most.values())) / (time.perf_counter() - began)
        finally:
            daemon.end()
    recall, save = statistics.median(busy["recall"]), statistics.median(busy["memory/save"])
    one, one_save = ("one client alone, p50", alone), ("one client alone, p50", saved)
    latest = late(busy["recall"])
    report("recall in a crowd, p50", size, recall, "ms", beside=one, goal=GOAL_RECALL_MS)
    report("recall in a crowd, p99", size, latest, "ms", beside=one, goal=GOAL_RECALL_LATE_MS)
    report("save in a crowd, p50", size, save, "ms", beside=one_save, goal=GOAL_SAVE_MS)
    report("answers to a crowd that hardly pauses", size, rate, "a second", more_is_better=True)
    return {
        "recall, p50 ms": recall,
        "recall, p99 ms": latest,
        "  alone, p50 ms": alone,
        "save, p50 ms": save,
        "  alone, save, p50 ms": saved,
        "save, p99 ms": late(busy["memory/save"]),
        "list, p50 ms": statistics.median(busy["memory/list"]),
        "hardly a pause: answers a second": rate,
        "  recall, p50 ms": statistics.median(most["recall"]),
        "  recall, p99 ms": late(most["recall"]),
        "  save, p50 ms": statistics.median(most["memory/save"]),
    }


def times_of(
    daemon: Daemon, cwd: str, queries: Sequence[str], pause: tuple[float, float]
) -> dict[str, list[float]]:
    """Milliseconds of each request, by method."""
    clients = [Client(daemon, cwd, number, queries, pause) for number in range(CLIENTS)]
    for client in clients:
        client.start()
    for client in clients:
        client.join(PATIENCE_SECONDS)
    return {
        method: [one for client in clients for one in client.times[method]]
        for method in clients[0].times
    }


def alone_with(peer: Peer, cwd: str, queries: Sequence[str]) -> float:
    peer.call("recall", query="warm up", cwd=cwd)
    times = []
    for number in range(ALONE):
        began = time.perf_counter()
        peer.call("recall", query=queries[number % len(queries)], cwd=cwd)
        times.append((time.perf_counter() - began) * 1e3)
    return statistics.median(times)


def saved_alone(peer: Peer, cwd: str) -> float:
    times = []
    for number in range(SAVES_ALONE):
        began = time.perf_counter()
        name = f"Alone said {number}"
        peer.call("memory/save", cwd=cwd, name=name, description="d", type="user", body="Yes.\n")
        times.append((time.perf_counter() - began) * 1e3)
    return statistics.median(times)


def main() -> None:
    sizes = [int(word) for word in sys.argv[1:]] or list(SIZES)
    title = f"{CLIENTS} clients and a dream"
    table(title, {size: figures_at(size) for size in sizes})


if __name__ == "__main__":
    main()
