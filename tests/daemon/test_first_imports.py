"""What the daemon loads before it answers: everything else waits, and is loaded in a thread."""

import json
import subprocess
import sys

from tests.support.running import ROOT, WAIT_SECONDS

SHOWN = """
import json, sys
before = set(sys.modules)
import memoryd_client.serve, memoryd.daemon.main
print(json.dumps(sorted(set(sys.modules) - before)))
"""
LATE = {
    "anthropic",
    "argparse",
    "difflib",
    "logging.handlers",
    "memoryd.daemon.build",
    "memoryd.text.masking.mask",
    "numpy",
    "pathlib",
    "secrets",
    "sqlite3",
    "structlog",
    "tomllib",
    "urllib.parse",
    "watchfiles",
}


def test_a_ping_waits_for_nothing_that_it_does_not_need() -> None:
    done = subprocess.run(
        [sys.executable, "-c", SHOWN],
        env={"PYTHONPATH": f"{ROOT}:{ROOT / 'client'}"},
        capture_output=True,
        timeout=WAIT_SECONDS,
        check=True,
    )
    loaded = set(json.loads(done.stdout))
    assert "memoryd.api.server" in loaded
    assert not loaded & LATE
