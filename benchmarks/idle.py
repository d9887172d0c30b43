"""How often the daemon wakes up when nobody works, and while somebody does.

usage: benchmarks/idle.py [SECONDS]     (how long each rest is watched; 60 by default)

Wake-ups are the kernel's own count: voluntary context switches of all threads of the process.
Beside it a bare watchfiles loop in another process, with the steps that this daemon once used.
"""

import subprocess
import sys
import time
from pathlib import Path
from statistics import median

from results import report
from tail import FOLDERS, home_with, milliseconds, running, told, turn_heard_after

SIZES = (0, 100, 10_000)
SETTLING_SECONDS = 12
RESTING_SECONDS = 60  # nobody works for a minute
WORKING_SECONDS = 60
APPEND_EVERY_SECONDS = 2.0
BARE = """
import sys, threading
from watchfiles._rust_notify import RustNotify
notify = RustNotify([sys.argv[1]], False, False, 0, False, False)
print("watching", flush=True)
notify.watch(50, 10, 0, threading.Event())
"""


def wake_ups(pid: int) -> dict[str, int]:
    """The count of each thread that lives."""
    counts = {}
    for status in Path(f"/proc/{pid}/task").glob("*/status"):
        [line] = [
            line for line in status.read_text().splitlines() if line.startswith("voluntary_ctxt")
        ]
        counts[status.parent.name] = int(line.split()[1])
    return counts


def wake_ups_since(pid: int, before: dict[str, int]) -> int:
    return sum(count - before.get(thread, 0) for thread, count in wake_ups(pid).items())


def wake_ups_a_second(pid: int, seconds: float) -> float:
    before = wake_ups(pid)
    time.sleep(seconds)
    return wake_ups_since(pid, before) / seconds


def measure_bare(folder: Path) -> float:
    command = [sys.executable, "-c", BARE, str(folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as bare:
        assert bare.stdout is not None
        bare.stdout.readline()
        rate = wake_ups_a_second(bare.pid, 5)
        bare.kill()
    return rate


def measure_rest(size: int, seconds: float) -> None:
    with home_with(size) as home, running(home) as daemon:
        assert daemon.process is not None
        time.sleep(RESTING_SECONDS)
        rate = wake_ups_a_second(daemon.process.pid, seconds)
        bare = measure_bare(home)
        beside = f"(goal 3; bare watchfiles 50/10: {bare:.0f})"
        told(f"at rest, {size:,} transcripts", f"{rate:.2f} wake-ups/s", beside)
        report(
            "at rest",
            size,
            rate,
            "wake-ups a second",
            of="transcripts",
            beside=("bare watchfiles 50/10", bare),
            goal=3,
        )


def measure_work() -> None:
    """One session writes a whole turn every two seconds, which is a busy one."""
    with home_with(FOLDERS) as home, running(home) as daemon, daemon.peer() as peer:
        assert daemon.process is not None
        peer.call("events/subscribe", kinds=["transcript/turn"])
        time.sleep(SETTLING_SECONDS)
        before, began = wake_ups(daemon.process.pid), time.perf_counter()
        lags = []
        while time.perf_counter() - began < WORKING_SECONDS:
            lags.append(turn_heard_after(peer, home, 1, has_end_mark=True))
            time.sleep(max(0.0, APPEND_EVERY_SECONDS - lags[-1]))
        seconds = time.perf_counter() - began
        rate = wake_ups_since(daemon.process.pid, before) / seconds
        told("at work, a turn every two seconds", f"{rate:.1f} wake-ups/s", "(goal 25)")
        report("at work", FOLDERS, rate, "wake-ups a second", of="transcripts", goal=25)
        first, lags = lags[0], lags[1:]  # the first one comes out of idleness
        late = sorted(lags)[int(len(lags) * 0.99)] * 1e3
        report("append to event, p50", FOLDERS, median(lags) * 1e3, "ms", of="transcripts", goal=30)
        report("append to event, p99", FOLDERS, late, "ms", of="transcripts", goal=100)
        told("append to event", milliseconds(lags), "(goal p50 30, p99 100 ms)")
        told("first append out of idleness", f"{first * 1000:.0f} ms", "(goal 1,000 ms)")


def main() -> None:
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 60.0
    for size in SIZES:
        measure_rest(size, seconds)
    measure_work()


if __name__ == "__main__":
    main()
