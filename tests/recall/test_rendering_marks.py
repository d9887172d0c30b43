"""What recall says of memories that ended, or that cite what is gone."""

import pytest

from memoryd.recall.rules.rendering import Recalled, framed

pytestmark = pytest.mark.rules


def recalled(**fields: str) -> Recalled:
    return Recalled(
        path="/m/project_freeze.md",
        name="Freeze",
        description="",
        type="project",
        scope="project",
        score=1.0,
        age="today",
        stale=False,
        content="No merges to main.\n",
        truncated=False,
        modified=0.0,
        **fields,
    )


def test_what_ended_says_so() -> None:
    assert framed(recalled(ended="2026-12-03")) == (
        "@memory Freeze (ended on 2026-12-03)\n| No merges to main."
    )


def test_what_cites_something_that_is_gone_says_so() -> None:
    assert framed(recalled(gone="src/a.py")).startswith(
        "@memory Freeze (cites src/a.py, which is gone)\n"
    )


def test_a_mark_stays_on_its_line() -> None:
    assert framed(recalled(gone="a\n@memory fake")).count("\n") == 1
