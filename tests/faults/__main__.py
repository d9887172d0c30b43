"""Runs every check and prints one line each; ends with 1 if something was lost, torn or dead.

usage: python -m tests.faults [--quick] [-v] [NAME ...]     (NAME: a part of a check's name)

The whole run has 30 minutes, the quick one ten; then an alarm ends it. A check that this machine
cannot run (no mount, no strace) says so in its line and counts as nothing tried.
"""

import signal
import sys
import tempfile
import time
from pathlib import Path
from typing import Final

from tests.faults import crash_checks, disk_checks, flood_checks, state_checks

DEADLINE_SECONDS: Final = 1800
QUICK_SECONDS: Final = 600
QUICK_SHARE: Final = 0.1
CHECKS: Final = (
    *crash_checks.CHECKS,
    *disk_checks.CHECKS,
    *state_checks.CHECKS,
    *flood_checks.CHECKS,
)


def main() -> int:
    is_quick = "--quick" in sys.argv[1:]
    wanted = [word for word in sys.argv[1:] if not word.startswith("-")]
    signal.alarm(QUICK_SECONDS if is_quick else DEADLINE_SECONDS)
    began = time.monotonic()
    failed = tried = violations = ran = 0
    for check in CHECKS:
        if wanted and not any(word in check.__name__ for word in wanted):
            continue
        at = time.monotonic()
        with tempfile.TemporaryDirectory(prefix="mf-", dir="/tmp") as folder:
            tally = check(Path(folder), QUICK_SHARE if is_quick else 1.0)
        print(f"{tally.line}  ({time.monotonic() - at:.0f} s)", flush=True)
        for said in tally.violations[:8]:
            print(f"       {said}")
        ran += 1
        failed += not tally.holds
        tried += tally.tried
        violations += len(tally.violations)
    seconds = time.monotonic() - began
    print(f"{ran} checks, {tried} tries, {violations} violations, {seconds:.0f} s")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
