"""Runs every check and prints one line each; ends with 1 if something was lost, torn or dead.

usage: python -m tests.faults [--quick] [-v] [NAME ...]     (NAME: a part of a check's name)

The whole run is made for 30 minutes: checks that begin after two thirds of them are thinned as in
the quick run, and their lines say so. A check that this machine cannot run (no mount, no strace)
says that in its line and counts as nothing tried.
"""

import signal
import sys
import tempfile
import time
from pathlib import Path
from typing import Final

from tests.faults import crash_checks, disk_checks, flood_checks, state_checks

WHOLE_SECONDS: Final = 1200
DEADLINE_SECONDS: Final = 3600
QUICK_SHARE: Final = 0.1
CHECKS: Final = (
    *disk_checks.CHECKS,
    *state_checks.CHECKS,
    *flood_checks.CHECKS,
    *crash_checks.CHECKS,
)


def main() -> int:
    if "--help" in sys.argv[1:]:
        print(__doc__)
        return 0
    is_quick = "--quick" in sys.argv[1:]
    wanted = [word for word in sys.argv[1:] if not word.startswith("-")]
    signal.alarm(DEADLINE_SECONDS)  # the last resort, on a very busy machine
    began = time.monotonic()
    failed = tried = violations = ran = 0
    for check in CHECKS:
        if wanted and not any(word in check.__name__ for word in wanted):
            continue
        at = time.monotonic()
        is_thinned = is_quick or at - began > WHOLE_SECONDS
        with tempfile.TemporaryDirectory(prefix="mf-", dir="/tmp") as folder:
            tally = check(Path(folder), QUICK_SHARE if is_thinned else 1.0)
        thinned = ", thinned" if is_thinned else ""
        print(f"{tally.line}  ({time.monotonic() - at:.0f} s{thinned})", flush=True)
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
