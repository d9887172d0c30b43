"""Temporary files of killed writers are gone after the next start."""

import time
from pathlib import Path

import pytest

from memoryd.base import paths
from memoryd.memories.leftovers import clear_leftovers
from memoryd.sessions.note_files import write_notes
from tests.memories.test_leftovers import OTHERS, PLACES, put
from tests.support.fault_injection import count_calls, killed_at
from tests.support.running import Daemon, give_way
from tests.support.tail_fixtures import WAIT_SECONDS


def test_after_a_start_nothing_of_a_killed_writer_is_left(home: Path) -> None:
    leftovers, others = put(home, *PLACES), put(home, *OTHERS)
    daemon = Daemon(home).start()
    try:
        deadline = time.monotonic() + WAIT_SECONDS
        while any(path.exists() for path in leftovers) and time.monotonic() < deadline:
            give_way()
        assert [str(path) for path in leftovers if path.exists()] == []
        assert all(path.exists() for path in others)
    finally:
        daemon.end()


def test_a_writer_of_notes_that_is_killed_anywhere_leaves_nothing_after_the_next_start(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    places = paths.places({"HOME": str(home)}, "linux", 0, str(home))
    folder = home / ".claude/projects/-app"
    folder.mkdir(parents=True)
    transcript = str(folder / "session.jsonl")
    notes = Path(paths.session_notes(transcript))

    def write() -> None:
        write_notes(transcript, "new")

    write()
    left = 0
    for number in range(count_calls(monkeypatch, write)):
        killed_at(monkeypatch, number, write, after=True)
        left += len(list(notes.parent.iterdir())) - 1
        clear_leftovers(places, time.time() + 100)
        assert [path.name for path in notes.parent.iterdir()] == [notes.name]
    assert left > 0
