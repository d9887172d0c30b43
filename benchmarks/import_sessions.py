"""What an import of old sessions costs without a model, from reading to the last turn extracted.

usage: benchmarks/import_sessions.py [SESSIONS ...]     (125, 500 and 2,000 by default, 31 KB each)

The daemon is the real one: it starts with the sessions in place, which count as read, and is then
asked to import them. Every tenth asks to remember something. Beside it `json.loads` of every line
of the same files.
"""

import json
import sys
import tempfile
import time
from pathlib import Path

from figures import Numbers, cpu_seconds, table
from results import report
from session_mix import Mix

from tests.support.running import Daemon, Peer, make_home

SIZES = (125, 500, 2_000)
SESSION_BYTES = 31_500
LOOK_SECONDS = 2.0
QUIET_LOOKS = 2
FOLDERS = 20
FACT_EVERY = 10  # sessions; a save costs more than all the reading
LONGEST_SECONDS = 1800.0


def write_sessions(home: Path, count: int) -> int:
    """Writes sessions that have rested for a day; returns their bytes."""
    total = 0
    (home / "app").mkdir()
    for number in range(count):
        mix = Mix(f"old-{number}", seed=number, cwd=str(home / "app"))
        if number % FACT_EVERY == 0:
            fact = f"Remember: the {mix.noun} {mix.noun} of part {number} needs {mix.noun}."
            mix.script.prompt(fact)
        data = mix.of_bytes(SESSION_BYTES)
        folder = home / ".claude/projects" / f"-p-{number % FOLDERS}"
        folder.mkdir(exist_ok=True)
        (folder / f"old-{number}.jsonl").write_bytes(data)
        total += len(data)
    return total


def wait_until_extracted(peer: Peer) -> int:
    """Until the import has ended and nothing waits; returns how many turns it found."""
    deadline = time.monotonic() + LONGEST_SECONDS
    turns, quiet = -1, 0
    while quiet < QUIET_LOOKS and time.monotonic() < deadline:
        while peer.events:
            event = peer.events.pop(0)
            if event.get("kind") == "import/finished":
                turns = event["turns"]
        queue = peer.call("status")["queue"]
        is_idle = turns >= 0 and not queue["waiting"] and not queue["running"]
        quiet = quiet + 1 if is_idle else 0
        time.sleep(LOOK_SECONDS)
    return turns


def imported(count: int) -> tuple[float, float, float]:
    """CPU seconds of the daemon, seconds, and CPU seconds of `json.loads`."""
    with tempfile.TemporaryDirectory(prefix="memoryd-bench-") as made:
        home = make_home(Path(made))
        write_sessions(home, count)
        daemon = Daemon(home).start()
        try:
            with daemon.peer() as peer:
                assert daemon.process is not None
                peer.call("events/subscribe", kinds=["import/finished"])
                before, began = cpu_seconds(daemon.process.pid), time.perf_counter()
                peer.call("import/start", since="90d")
                turns = wait_until_extracted(peer)
                used = cpu_seconds(daemon.process.pid) - before
                took = time.perf_counter() - began
        finally:
            daemon.end()
        assert turns >= count
        plain = time.process_time()
        for path in (home / ".claude/projects").rglob("*.jsonl"):
            for line in path.read_bytes().splitlines():
                json.loads(line)
        return used, took, time.process_time() - plain


def figures_at(count: int) -> Numbers:
    used, took, plain = imported(count)
    report(
        "CPU of an import",
        count,
        used,
        "s",
        of="sessions",
        beside=("json.loads of every line", plain),
        goal=30,
    )
    return {
        "CPU of the import, s": used,
        "  CPU a session, ms": used / count * 1e3,
        "  its wall time, s": took,
        "  json.loads, CPU s": plain,
    }


def main() -> None:
    sizes = tuple(int(word) for word in sys.argv[1:]) or SIZES
    table("old sessions", {size: figures_at(size) for size in sizes})


if __name__ == "__main__":
    main()
