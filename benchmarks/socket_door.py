"""The daemon's door: start, round trip, connect and call, in both framings, and its memory.

The baseline of a start is an interpreter that only imports what the daemon is built on.
"""

import statistics
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import Literal

from figures import Numbers, cpu_of_children, cpu_seconds, late, milliseconds, resident_mib

from tests.support.running import Daemon, make_home

ROUNDS = 2000
STARTS = 7
BARE = (sys.executable, "-c", "import anyio, asyncio, msgspec, sqlite3, structlog, watchfiles")


def connect_and_ping(daemon: Daemon, framing: Literal["lines", "headers"]) -> None:
    with daemon.peer(framing) as peer:
        peer.call("ping")


def starts(daemon: Daemon) -> Numbers:
    """The best of some starts, from exec to the first answer, beside bare imports."""
    wall, cpu, bare_wall, bare_cpu = [], [], [], []
    run = partial(subprocess.run, BARE, check=True)
    for _ in range(STARTS):
        wall.append(milliseconds(lambda: connect_and_ping(daemon.start(), "lines")))
        assert daemon.process is not None
        cpu.append(cpu_seconds(daemon.process.pid) * 1e3)
        daemon.stop()
        bare_cpu.append(cpu_of_children(lambda: bare_wall.append(milliseconds(run))))
    return {
        "exec to first ping, ms": min(wall),
        "  its CPU, ms": min(cpu),
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
            found["resident, idle, MiB"] = resident_mib(daemon.process.pid)
        finally:
            daemon.end()
    return found


def main() -> None:
    for name, value in figures().items():
        print(f"{name:<44}{value:>10.3f}")


if __name__ == "__main__":
    main()
