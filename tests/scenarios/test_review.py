"""Reviewing what is due, as people do it."""

import json
import os
import time
from pathlib import Path

from tests.support.dream_fixtures import memory_text
from tests.support.running import Daemon

DAY = 86_400


def remember(daemon: Daemon, home: Path, file: str, body: str, age_days: int) -> None:
    here = daemon.run("remember", "The first memory here.", "--project", str(home / "work/app"))
    assert here.returncode == 0
    folder = next((home / ".claude/projects").glob("*/memory"))
    (folder / file).write_text(memory_text(body, name=file, type="project"))
    at = time.time() - age_days * DAY
    os.utime(folder / file, (at, at))


def test_what_is_due_is_listed_kept_and_retired(daemon: Daemon, home: Path) -> None:
    (home / "work/app").mkdir(parents=True, exist_ok=True)
    daemon.start()
    for file in ("one.md", "two.md"):
        remember(daemon, home, file, "The staging cluster is in Ghent.", 120)
    here = ("--project", str(home / "work/app"))
    assert "nobody has used it for long" in daemon.run("review", "list", *here).stdout
    listed = json.loads(daemon.run("review", "--json", *here).stdout)["memories"]
    assert [one["file"] for one in listed] == ["one.md", "two.md"]
    assert daemon.run("review", "keep", "one.md", *here).stdout.startswith("kept one.md; due again")
    assert daemon.run("review", "retire", "two.md", *here).stdout.startswith("retired two.md. Undo")
    assert daemon.run("review", *here).stdout == "Nothing is due for review.\n"
    assert daemon.run("review", "keep", *here).returncode == 2
