"""Runs every check and prints one line each; ends with 1 if one does not hold.

The whole run has ten minutes, then an alarm ends it.
"""

import signal
import sys
import tempfile
import time
from pathlib import Path
from typing import Final

from tests.security import (
    budget_checks,
    crowd_checks,
    daemon_checks,
    provenance_checks,
    reach_checks,
    secret_checks,
)

DEADLINE_SECONDS: Final = 600
CHECKS: Final = (
    *secret_checks.CHECKS,
    *daemon_checks.CHECKS,
    *provenance_checks.CHECKS,
    *reach_checks.CHECKS,
    *budget_checks.CHECKS,
    *crowd_checks.CHECKS,
)


def main() -> int:
    signal.alarm(DEADLINE_SECONDS)
    began = time.monotonic()
    failed = tried = violations = 0
    for check in CHECKS:
        with tempfile.TemporaryDirectory(prefix="memoryd-security-") as folder:
            tally = check(Path(folder), 1.0)
        print(tally.line, flush=True)
        for said in tally.violations[:5] if "-v" in sys.argv or not tally.holds else ():
            print(f"       {said!r}")
        failed += not tally.holds
        tried += tally.tried
        violations += len(tally.violations)
    seconds = time.monotonic() - began
    print(f"{len(CHECKS)} checks, {tried} tries, {violations} violations, {seconds:.0f} s")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
