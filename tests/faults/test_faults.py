"""The checks of `make test-faults` see what they are made to see."""

from pathlib import Path

from tests.faults.crash_checks import _torn_or_lost, body_of, crash_loop
from tests.faults.ground import eventually, offsets
from tests.faults.state_checks import HARMS, harmed


def test_the_places_of_a_file_reach_from_its_first_byte_to_its_last() -> None:
    assert offsets(1000, 5) == [0, 249, 499, 749, 999]
    assert offsets(3, 100) == [0, 1, 2]


def test_every_harm_changes_the_file() -> None:
    data = bytes(range(1, 201))
    assert all(harmed(data, at, how) != data for how in HARMS for at in (0, 100, 199))


def test_a_torn_a_lost_and_an_older_memory_are_seen(tmp_path: Path) -> None:
    whole = tmp_path / "project_whole.md"
    whole.write_text(body_of(7))
    assert _torn_or_lost(tmp_path, {"project_whole.md": 7}, 1, {}) == []
    (tmp_path / "project_torn.md").write_text(body_of(7)[:-700])
    (tmp_path / "project_same.md").write_text(body_of(3))
    wrong = _torn_or_lost(tmp_path, {"project_gone.md": 1, "project_same.md": 4}, 1, {})
    assert len(wrong) == 3
    assert "project_torn.md is torn" in wrong[0]


def test_a_loop_that_cannot_run_is_a_violation(tmp_path: Path) -> None:
    tally = crash_loop("gone", "tests/faults/no_such_test.py")(tmp_path, 0.1)
    assert not tally.holds


def test_a_wait_ends_in_time() -> None:
    assert eventually(lambda: True)
    assert not eventually(lambda: False, seconds=0.0)
