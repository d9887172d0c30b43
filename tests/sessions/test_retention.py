"""Session notes are removed when the settings say that they are too old."""

import os
from pathlib import Path

from memoryd.sessions.retention import NotesRetention

DAY = 86_400.0


def test_only_old_notes_go_and_nothing_else(tmp_path: Path) -> None:
    for name, age_days in (("old", 40), ("new", 3)):
        notes = tmp_path / "projects/-app" / name / "session-memory/summary.md"
        notes.parent.mkdir(parents=True)
        notes.write_text("# notes")
        os.utime(notes, (100 * DAY - age_days * DAY,) * 2)
    transcript = tmp_path / "projects/-app/old.jsonl"
    transcript.write_text("{}\n")
    os.utime(transcript, (0, 0))
    retention = NotesRetention(str(tmp_path), 30, now=lambda: 100 * DAY)
    assert retention.sweep(30) == 1
    assert sorted(path.name for path in (tmp_path / "projects/-app").iterdir()) == [
        "new",
        "old.jsonl",
    ]
