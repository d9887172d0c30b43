"""What a snapshot of an agent's memory leads to, and what counts as one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoryd.memories.rules.snapshots import SnapshotMarks, SnapshotStep, next_step, updated_at

MOMENTS = st.none() | st.floats(1, 1e10)


@pytest.mark.parametrize(
    ("made", "newest", "marks", "is_inside", "step"),
    [
        (None, None, SnapshotMarks(), True, "nothing"),
        (5.0, None, SnapshotMarks(), True, "copy"),
        (5.0, None, SnapshotMarks(), False, "tell"),
        (5.0, None, SnapshotMarks(told=5.0), False, "nothing"),
        (5.0, 4.0, SnapshotMarks(), True, "tell"),
        (5.0, 6.0, SnapshotMarks(), True, "nothing"),
        (5.0, 6.0, SnapshotMarks(taken=4.0), True, "tell"),
        (5.0, 6.0, SnapshotMarks(taken=5.0), True, "nothing"),
        (5.0, 4.0, SnapshotMarks(told=5.0), True, "nothing"),
        (7.0, 4.0, SnapshotMarks(told=5.0), True, "tell"),
    ],
)
def test_a_snapshot_is_copied_told_or_left_alone(
    made: float | None,
    newest: float | None,
    marks: SnapshotMarks,
    is_inside: bool,
    step: SnapshotStep,
) -> None:
    assert next_step(made, newest, marks, is_inside=is_inside) == step


@given(MOMENTS, st.floats(1, 1e10), MOMENTS, MOMENTS, st.booleans())
def test_a_memory_that_exists_is_never_copied_over(
    made: float | None, newest: float, taken: float | None, told: float | None, is_inside: bool
) -> None:
    assert next_step(made, newest, SnapshotMarks(taken, told), is_inside=is_inside) != "copy"


@pytest.mark.parametrize(
    "data",
    [b"", b"{}", b"[]", b'{"updatedAt": 5}', b'{"updatedAt": "soon"}', b"\xff", b"[" * 10_000],
)
def test_a_file_without_a_date_is_no_snapshot(data: bytes) -> None:
    assert updated_at(data) is None


def test_a_date_is_read_with_unknown_fields_beside_it() -> None:
    assert updated_at(b'{"updatedAt": "2026-01-01T00:00:00Z", "by": "x"}') == 1_767_225_600.0
