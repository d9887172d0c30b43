"""The daemon's door: start, round trip, connect and call, in both framings, and its memory."""

import statistics
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Literal

from tests.support.running import Daemon, make_home

ROUNDS = 2000


def milliseconds(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return (time.perf_counter() - began) * 1e3


def row(name: str, times: list[float]) -> None:
    times.sort()
    last = times[int(len(times) * 0.99) - 1]
    print(f"{name:<34}{statistics.median(times):>10.3f}{last:>10.3f}")


def connect_and_ping(daemon: Daemon, framing: Literal["lines", "headers"]) -> None:
    with daemon.peer(framing) as peer:
        peer.call("ping")


def resident_mib(pid: int) -> float:
    status = Path(f"/proc/{pid}/status").read_text()
    line = next(line for line in status.splitlines() if line.startswith("VmRSS"))
    return int(line.split()[1]) / 1024


def main() -> None:
    with tempfile.TemporaryDirectory() as made:
        daemon = Daemon(make_home(Path(made)))
        starts = []
        for _ in range(5):
            starts.append(milliseconds(lambda: connect_and_ping(daemon.start(), "lines")))
            daemon.stop()
        print(f"{'':<34}{'p50 ms':>10}{'p99 ms':>10}")
        print(f"{'exec to first ping answered':<34}{statistics.median(starts):>10.1f}{'':>10}")
        daemon.start()
        try:
            framings: tuple[Literal["lines", "headers"], ...] = ("lines", "headers")
            for framing in framings:
                with daemon.peer(framing) as peer:
                    peer.call("ping")
                    times = [milliseconds(lambda: peer.call("ping")) for _ in range(ROUNDS)]
                row(f"ping, {framing}", times)
            for framing in framings:
                times = [
                    milliseconds(partial(connect_and_ping, daemon, framing))
                    for _ in range(ROUNDS // 4)
                ]
                row(f"connect, ping, close, {framing}", times)
            if daemon.process is not None and Path("/proc/self/status").exists():
                print(f"{'resident, idle':<34}{resident_mib(daemon.process.pid):>10.1f} MiB")
        finally:
            daemon.end()


if __name__ == "__main__":
    main()
