"""The daemon's door: start, round trip, connect and call, in both framings, and its memory.

The baseline of a start is an interpreter that only imports what the daemon is built on.
"""

import statistics
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import Literal

from figures import Numbers, cpu_of_children, cpu_seconds, late, milliseconds, resident_mib
from results import report

from tests.support.running import Daemon, make_home

ROUNDS = 2000
STARTS = 9
GOAL_WALL_MS, GOAL_CPU_MS, GOAL_RESIDENT_MIB = 300, 150, 60
BARE = (sys.executable, "-c", "import anyio, asyncio, msgspec, sqlite3, structlog, watchfiles")
BARE_NAME = "bare imports"


def connect_and_ping(daemon: Daemon, framing: Literal["lines", "headers"]) -> None:
    with daemon.peer(framing) as peer:
        peer.call("ping")


def start_and_ping(daemon: Daemon) -> None:
    """Starts the process and asks until it answers, before it says that it is ready."""
    daemon.process = subprocess.Popen(
        daemon.serve_command, env=daemon.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    while True:
        try:
            connect_and_ping(daemon, "lines")
        except OSError:
            time.sleep(0.001)
        else:
            return


def starts(daemon: Daemon) -> Numbers:
    """The best of some starts, from exec to the first answers, beside bare imports."""
    wall, cpu, recall, bare_wall, bare_cpu = [], [], [], [], []
    run = partial(subprocess.run, BARE, check=True)
    daemon.start()  # the first of all, which looks at what is there, is not one of them
    daemon.stop()
    for _ in range(STARTS):
        began = time.perf_counter()
        wall.append(milliseconds(partial(start_and_ping, daemon)))
        assert daemon.process is not None
        cpu.append(cpu_seconds(daemon.process.pid) * 1e3)
        with daemon.peer() as peer:
            peer.call("recall", query="what is remembered", cwd=str(daemon.home))
        recall.append((time.perf_counter() - began) * 1e3)
        daemon.stop()
        bare_cpu.append(cpu_of_children(lambda: bare_wall.append(milliseconds(run))))
    wall_beside, cpu_beside = (BARE_NAME, min(bare_wall)), (BARE_NAME, min(bare_cpu))
    report("start to first ping", 0, min(wall), "ms", beside=wall_beside, goal=GOAL_WALL_MS)
    report("start to first ping, CPU", 0, min(cpu), "ms", beside=cpu_beside, goal=GOAL_CPU_MS)
    report("start to first recall", 0, min(recall), "ms", beside=wall_beside)
    return {
        "exec to first ping, ms": min(wall),
        "  its CPU, ms": min(cpu),
        "exec to first recall, ms": min(recall),
        "  bare imports, ms": min(bare_wall),
        "  their CPU, ms": min(bare_cpu),
        "  ratio of CPU": min(cpu) / min(bare_cpu),
    }


def round_trips(daemon: Daemon) -> Numbers:
    found: Numbers = {}
    framings: tuple[Literal["lines", "headers"], ...] = ("lines", "headers")
    for framing in framings:
        with daemon.peer(framing) as peer:
            peer.call("ping")
            times = [milliseconds(lambda: peer.call("ping")) for _ in range(ROUNDS)]
        found[f"ping, {framing}, p50 ms"] = statistics.median(times)
        found[f"ping, {framing}, p99 ms"] = late(times)
        report(f"ping on the socket, {framing}, p50", 0, statistics.median(times), "ms")
    for framing in framings:
        call = partial(connect_and_ping, daemon, framing)
        times = [milliseconds(call) for _ in range(ROUNDS // 4)]
        found[f"connect, ping, close, {framing}, p50 ms"] = statistics.median(times)
    return found


def figures() -> Numbers:
    with tempfile.TemporaryDirectory() as made:
        daemon = Daemon(make_home(Path(made)))
        found = starts(daemon)
        daemon.start()
        try:
            found |= round_trips(daemon)
            assert daemon.process is not None
            resident = resident_mib(daemon.process.pid)
            found["resident, idle, MiB"] = resident
            report("resident, idle", 0, resident, "MiB", goal=GOAL_RESIDENT_MIB)
        finally:
            daemon.end()
    return found


def main() -> None:
    for name, value in figures().items():
        print(f"{name:<44}{value:>10.3f}")


if __name__ == "__main__":
    main()
