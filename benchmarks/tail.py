"""How soon a turn is heard of, what watching costs, and whether a flood is kept up with.

usage: benchmarks/tail.py [--soak]     (--soak: 20,001 files that come while the daemon is frozen)

The daemon is the real one, in a home of its own; extraction waits, so that the tail is alone.
"""

import os
import random
import signal
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from memoryd.transcripts.scan import scan
from tests.support.running import Daemon, Peer, make_home
from tests.support.session_script import SessionScript
from tests.support.tail_fixtures import append, projects, session, write

TRANSCRIPTS = 5000
FOLDERS = 50
APPENDS = 150
SETTLING_APPENDS = 10
WARM_UP_SECONDS = 6  # recall reads its index after the start
IDLE_SECONDS = 10
FLOOD_MEGABYTES = 100
FLOOD_MEGABYTES_PER_SECOND = 10
FROZEN_FILES = 20_001
TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")


@contextmanager
def home_with(transcripts: int) -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="memoryd-bench-") as folder:
        home = make_home(Path(folder))
        (home / ".config/memoryd").mkdir()
        (home / ".config/memoryd/config.toml").write_text("[extraction]\nevery_turns = 1000\n")
        for number in range(transcripts):
            write(home, session(f"s{number}", "an old question"), f"-p-{number % FOLDERS}")
        yield home


@contextmanager
def running(home: Path) -> Iterator[Daemon]:
    daemon = Daemon(home).start()
    try:
        yield daemon
    finally:
        daemon.end()


def told(name: str, value: str, beside: str = "") -> None:
    print(f"  {name:<48}{value:<26}{beside}")


def milliseconds(seconds: list[float]) -> str:
    ordered = sorted(seconds)
    p50, p99 = statistics.median(ordered), ordered[int(len(ordered) * 0.99)]
    return f"p50 {p50 * 1000:.1f}, p99 {p99 * 1000:.1f} ms"


def rss_megabytes(daemon: Daemon) -> float:
    assert daemon.process is not None
    status = Path(f"/proc/{daemon.process.pid}/status").read_text()
    [line] = [line for line in status.splitlines() if line.startswith("VmRSS")]
    return int(line.split()[1]) / 1024


def cpu_seconds(daemon: Daemon) -> float:
    assert daemon.process is not None
    stat = Path(f"/proc/{daemon.process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(stat[11]) + int(stat[12])) / TICKS_PER_SECOND


def turn_heard_after(peer: Peer, home: Path, number: int, *, has_end_mark: bool) -> float:
    """Seconds from an append of one whole turn to the event of it."""
    script = SessionScript(f"t{number}-{time.monotonic_ns()}")
    turn_id = script.turn("a new question", "and its answer")
    if has_end_mark:
        script.system("turn_duration")
    path = projects(home) / f"-p-{number % FOLDERS}" / f"s{number}.jsonl"
    began = time.perf_counter()
    append(path, script.data)
    while peer.next_event()["turn_id"] != turn_id:
        pass
    return time.perf_counter() - began


def measure_latency(daemon: Daemon, home: Path) -> None:
    chance = random.Random(1)
    with daemon.peer() as peer:
        peer.call("events/subscribe", kinds=["transcript/turn"])
        for has_end_mark, times in ((True, APPENDS), (False, SETTLING_APPENDS)):
            seconds = [
                turn_heard_after(
                    peer, home, chance.randrange(TRANSCRIPTS), has_end_mark=has_end_mark
                )
                for _ in range(times)
            ]
            name = "with the client's end mark" if has_end_mark else "confirmed by 0.4 s of silence"
            beside = "(bare watchfiles 50/10: 15, 27 ms)" if has_end_mark else ""
            told(f"append to event, {name}", milliseconds(seconds), beside)


def measure_rest(daemon: Daemon) -> None:
    time.sleep(WARM_UP_SECONDS)
    told(f"RSS with {TRANSCRIPTS} transcripts watched", f"{rss_megabytes(daemon):.0f} MB")
    before = cpu_seconds(daemon)
    time.sleep(IDLE_SECONDS)
    share = (cpu_seconds(daemon) - before) / IDLE_SECONDS
    told(f"idle CPU over {IDLE_SECONDS} s", f"{share:.1%}", "(bare watchfiles 50/10: 0.2 %)")


def measure_sweep() -> None:
    with tempfile.TemporaryDirectory(prefix="memoryd-bench-") as root:
        for number in range(10_000):
            path = Path(root) / f"-p-{number % 100}" / f"{number}.jsonl"
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(b"{}\n")
        known = scan(root).files
        wall, cpu = [], []
        for _ in range(20):
            began, used = time.perf_counter(), time.process_time()
            assert len(scan(root, known).files) == 10_000
            wall.append(time.perf_counter() - began)
            cpu.append(time.process_time() - used)
    value = f"{min(wall) * 1000:.0f} ms, CPU {min(cpu) * 1000:.0f} ms"
    told("sweep of 10,000 files", value, "(at most 100 ms)")


def measure_flood(daemon: Daemon, home: Path) -> None:
    """One transcript grows at a steady rate, mostly by the client's own records, as they do."""
    script = SessionScript("flood")
    script.put("api-request-blob", content="x" * 60_000)
    for number in range(5):
        script.turn(f"question {number}", "an answer of some length " * 60)
    piece, written, began = b"", 0, time.perf_counter()
    path = projects(home) / "-p-0" / "flood.jsonl"
    before, lags = rss_megabytes(daemon), list[int]()
    with daemon.peer() as peer:
        while written < FLOOD_MEGABYTES * 1e6:
            piece = script.data.replace(b"flood-line", f"flood-{written}-line".encode()) * 12
            append(path, piece)
            written += len(piece)
            ahead = written / (FLOOD_MEGABYTES_PER_SECOND * 1e6) - (time.perf_counter() - began)
            time.sleep(max(0.0, ahead))
            lags.append(peer.call("status")["transcripts"]["behind"])
        ended = time.perf_counter()
        while peer.call("status")["transcripts"]["behind"]:
            pass
    rate = written / (ended - began) / 1e6
    told(
        f"{written / 1e6:.0f} MB at {rate:.1f} MB/s",
        f"{time.perf_counter() - ended:.2f} s behind at the end",
        f"(most unread at a look: {max(lags) / 1e6:.1f} MB; RSS {before:.0f} to"
        f" {rss_megabytes(daemon):.0f} MB)",
    )


def soak() -> None:
    """Events of so many files do not fit into the system's queue; only a sweep finds them."""
    with home_with(0) as home, running(home) as daemon, daemon.peer() as peer:
        assert daemon.process is not None
        peer.call("events/subscribe", kinds=["transcript/turn"])
        daemon.process.send_signal(signal.SIGSTOP)
        for number in range(FROZEN_FILES):
            write(home, session(f"s{number}", "hello"), f"-p-{number % FOLDERS}")
        daemon.process.send_signal(signal.SIGCONT)
        began, used = time.perf_counter(), cpu_seconds(daemon)
        found = {peer.next_event()["session_id"] for _ in range(FROZEN_FILES)}
        took, used = time.perf_counter() - began, cpu_seconds(daemon) - used
        told(
            f"{FROZEN_FILES} files made while frozen",
            f"{len(found)} read in {took:.1f} s",
            f"(CPU {used:.1f} s; RSS after that {rss_megabytes(daemon):.0f} MB)",
        )
        assert len(found) == FROZEN_FILES


def main() -> None:
    if "--soak" in sys.argv[1:]:
        soak()
        return
    measure_sweep()
    with home_with(0) as home, running(home) as daemon:
        time.sleep(WARM_UP_SECONDS)
        told("RSS with none", f"{rss_megabytes(daemon):.0f} MB")
    with home_with(TRANSCRIPTS) as home:
        began = time.perf_counter()
        with running(home) as daemon:
            took = time.perf_counter() - began
            told(f"first start with {TRANSCRIPTS} transcripts", f"{took:.2f} s")
            measure_rest(daemon)
            measure_latency(daemon, home)
            measure_flood(daemon, home)


if __name__ == "__main__":
    main()
