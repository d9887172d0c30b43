"""Runs every check and prints one line each, then one for each class; ends with 1 if one fails.

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
    injection_checks,
    origin_checks,
    provenance_checks,
    reach_checks,
    repository_checks,
    secret_checks,
)
from tests.security.tally import Check, Tally

DEADLINE_SECONDS: Final = 600
CLASSES: Final[dict[str, tuple[Check, ...]]] = {
    "strangers' text as the person's word": (
        provenance_checks.pastes,
        provenance_checks.pastes_held_out,
        provenance_checks.pastes_unseen,
        provenance_checks.typed_statements,
    ),
    "evidence diluted by a model": (
        provenance_checks.planted_orders,
        provenance_checks.planted_as_said,
        provenance_checks.turned_words,
        provenance_checks.turned_words_held_out,
        provenance_checks.honest_notes,
    ),
    "who wrote it": origin_checks.CHECKS,
    "a repository's settings": repository_checks.CHECKS,
    "masked too late": (
        secret_checks.cuts,
        secret_checks.file_names,
        secret_checks.grep_as_an_oracle,
        secret_checks.shown_once_more,
    ),
    "secrets by form and sink": (
        secret_checks.known_shapes,
        secret_checks.developed_forms,
        secret_checks.held_out_forms,
        secret_checks.fresh_forms,
        secret_checks.unseen_forms,
        secret_checks.false_alarms,
        secret_checks.log_lines,
        secret_checks.stored_and_listed,
        secret_checks.tool_reads,
        *daemon_checks.CHECKS,
    ),
    "reach of a run": (
        reach_checks.a_home_as_project,
        reach_checks.names_that_say_secret,
        reach_checks.ordinary_names,
        reach_checks.hostile_paths,
    ),
    "files that strangers place": (reach_checks.instruction_races, reach_checks.foreign_owners),
    "twins": (injection_checks.twins,),
    "budgets": (*budget_checks.CHECKS, *crowd_checks.CHECKS),
    "frames": (injection_checks.notes_in_frames,),
    "names as patterns": (reach_checks.session_names,),
}
CHECKS: Final = tuple(check for checks in CLASSES.values() for check in checks)


def main() -> int:
    signal.alarm(DEADLINE_SECONDS)
    began = time.monotonic()
    tallies = {name: [_run(check) for check in checks] for name, checks in CLASSES.items()}
    print()
    for number, (name, ones) in enumerate(tallies.items(), start=1):
        print(_summed(f"class {number}: {name}", ones))
    every = [one for ones in tallies.values() for one in ones]
    tried, violations = sum(one.tried for one in every), sum(len(one.violations) for one in every)
    seconds = time.monotonic() - began
    print(f"{len(every)} checks, {tried} tries, {violations} violations, {seconds:.0f} s")
    return 0 if all(one.holds for one in every) else 1


def _run(check: Check) -> Tally:
    with tempfile.TemporaryDirectory(prefix="memoryd-security-") as folder:
        tally = check(Path(folder), 1.0)
    print(tally.line, flush=True)
    for said in tally.violations[:5] if "-v" in sys.argv or not tally.holds else ():
        print(f"       {said!r}")
    return tally


def _summed(title: str, ones: list[Tally]) -> str:
    word = "ok  " if all(one.holds for one in ones) else "FAIL"
    tried, violations = sum(one.tried for one in ones), sum(len(one.violations) for one in ones)
    return f"{word} {title:<52} tried {tried:>6}  violations {violations}"


if __name__ == "__main__":
    sys.exit(main())
