"""How extraction with a model stands up to kill -9: so many extractions, each with a kill in it.

usage: benchmarks/kills.py [--soak]     (20 extractions, or 200)
"""

import sys
import tempfile
import time
from pathlib import Path

from tests.scenarios.test_extraction_kills import kill_at_random, processes_of
from tests.support.running import Daemon, make_home


def main() -> None:
    sessions = 200 if "--soak" in sys.argv[1:] else 20
    with tempfile.TemporaryDirectory(prefix="memoryd-bench-") as folder:
        home = make_home(Path(folder))
        daemon = Daemon(home)
        began = time.perf_counter()
        try:
            came = kill_at_random(daemon, home, sessions=sessions, seed=int(began))
        finally:
            daemon.end()
        print(f"{sessions} extractions, {sessions} kills, {time.perf_counter() - began:.0f} s")
        print("  notes lost: 0, doubled: 0 (or this would have failed)")
        print(f"  requests {came['requests']}, debits {came['debits']}, ${came['usd']:.4f}")
        print(f"  processes left over: {len(processes_of(home))}")


if __name__ == "__main__":
    main()
