"""After a kill and a restart no temporary file is left, except those of running writers."""

import os
import time
from pathlib import Path

from memoryd.base import paths
from memoryd.memories.leftovers import clear_leftovers

TEMPORARY = ".memoryd-0123456789abcdef.tmp"
OF_THE_CLIENT = ".memoryd-ab_12xyz"
PLACES = [
    f".claude/{TEMPORARY}",
    f".claude/projects/{TEMPORARY}",
    f".claude/projects/-app/{TEMPORARY}",
    f".claude/projects/-app/session/session-memory/{TEMPORARY}",
    f".claude/projects/-app/memory/{TEMPORARY}",
    f".claude/projects/-app/memory/sub/{TEMPORARY}",
    f".claude/projects/-app/memory/team/{TEMPORARY}",
    f".claude/memory/{TEMPORARY}",
    f".local/state/memoryd/{TEMPORARY}",
    f".local/state/memoryd/checkpoints/-app/{TEMPORARY}",
    f".local/state/memoryd/vectors/0a/{'0a' * 32}.4711",
]
OTHERS = [
    ".claude/projects/-app/session/session-memory/summary.md",
    ".claude/projects/-app/.memoryd-mine",
    f".local/state/memoryd/vectors/0a/{'0a' * 32}",
    OF_THE_CLIENT,
]


def put(home: Path, *places: str) -> list[Path]:
    made = [home / place for place in places]
    for path in made:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("half")
    return made


def test_only_files_older_than_the_daemon_are_leftovers(home: Path) -> None:
    places = paths.places({"HOME": str(home)}, "linux", 0, str(home))
    ours, client = put(home, PLACES[3], OF_THE_CLIENT)
    os.utime(ours, (1.0, 1.0))
    made_at = ours.stat().st_ctime
    assert clear_leftovers(places, made_at) == 0
    assert clear_leftovers(places, made_at + 1) == 1
    assert clear_leftovers(places, made_at + 50) == 0
    assert clear_leftovers(places, made_at + 70) == 1
    assert not ours.exists()
    assert not client.exists()


def test_links_are_neither_followed_nor_removed(home: Path) -> None:
    places = paths.places({"HOME": str(home)}, "linux", 0, str(home))
    (outside,) = put(home, f"outside/session-memory/{TEMPORARY}")
    (home / ".claude/projects/link").symlink_to(home / "outside")
    link = home / f".claude/{TEMPORARY}"
    link.symlink_to(outside)
    assert clear_leftovers(places, time.time() + 100) == 0
    assert outside.exists()
    assert link.is_symlink()
