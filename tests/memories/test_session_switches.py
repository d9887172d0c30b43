"""A session's own environment can switch memory off for that session, and nothing on."""

from pathlib import Path

import pytest

from memoryd.memories.rules.session_marks import why_off
from memoryd.memories.session_switches import KEEP_SECONDS, SessionSwitches
from memoryd.system.database import Database

OFF = {"CLAUDE_CODE_DISABLE_AUTO_MEMORY": "1"}


@pytest.mark.parametrize(
    ("marks", "is_off"),
    [
        (OFF, True),
        ({"CLAUDE_CODE_DISABLE_AUTO_MEMORY": "0"}, False),
        ({"CLAUDE_CODE_SIMPLE": "true"}, True),
        ({"CLAUDE_CODE_REMOTE": "true"}, True),
        ({"CLAUDE_CODE_REMOTE": "true", "CLAUDE_CODE_REMOTE_MEMORY_DIR": "/m"}, False),
        ({}, False),
    ],
)
def test_only_off_switches_count(marks: dict[str, str], is_off: bool) -> None:
    assert bool(why_off(marks)) is is_off


def test_a_session_stays_off_over_a_restart_and_is_forgotten_in_time(tmp_path: Path) -> None:
    database = Database.open(str(tmp_path / "state.db"))
    switches = SessionSwitches(database)
    reason = switches.note("s", OFF)
    switches.save("s", reason, 1.0)
    assert SessionSwitches(database).reason("s") == reason
    assert SessionSwitches(database).reason("other") == ""
    switches.save("t", reason, 2.0 + KEEP_SECONDS)
    assert SessionSwitches(database).reason("s") == ""
    database.close()
