"""What a person should look at, and what becomes of it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from memoryd.dreams.due import DueReviews
from memoryd.dreams.evidence import Evidence
from memoryd.memories.catalog import Catalog
from memoryd.memories.instruction_files import InstructionDisk
from memoryd.memories.instruction_reader import Approvals, InstructionReader
from memoryd.recall.outcome_table import OutcomeTable
from tests.support.dream_fixtures import NOW, DreamProject


@pytest.fixture
def project(home: Path) -> Iterator[DreamProject]:
    made = DreamProject(home)
    yield made
    made.database.close()


@pytest.fixture
def due(project: DreamProject) -> DueReviews:
    catalog = Catalog(project.scopes, project.store, lambda: project.now)
    reader = InstructionReader(project.places, Approvals(project.database), InstructionDisk())
    evidence = Evidence(project.database, project.scopes, reader)
    return DueReviews(project.scopes, project.store, catalog, evidence, lambda: project.now)


def reasons(due: DueReviews, project: DreamProject) -> dict[str, str]:
    return {one.file: one.reason for one in due.list(project.root)}


def test_what_ended_aged_or_lost_its_citation_is_due(
    project: DreamProject, due: DueReviews
) -> None:
    project.remember("old.md", "The API is at v2.", type="project", age_days=91)
    project.remember("young.md", "The API is at v3.", type="project", age_days=89)
    project.remember("wish.md", "Short answers.", age_days=900)
    project.remember("past.md", "Freeze.", type="project", valid_until="2026-12-01")
    project.remember("cites.md", "See src/a.py.", type="project", gone="src/a.py")
    assert reasons(due, project) == {"old.md": "old", "past.md": "ended", "cites.md": "gone"}


def test_what_was_used_is_not_due(project: DreamProject, due: DueReviews) -> None:
    path = project.remember("old.md", "The API is at v2.", type="project", age_days=200)
    OutcomeTable(project.database).add(str(path), "used", NOW - 86_400)
    assert reasons(due, project) == {}


def test_what_is_kept_is_due_again_later_and_reads_as_before(
    project: DreamProject, due: DueReviews
) -> None:
    project.remember("past.md", "Freeze.", type="project", valid_until="2026-12-01", age_days=99)
    kept = due.keep(project.root, "past.md")
    assert kept.review_by == "2027-04-15"
    assert "valid_until" not in project.text("past.md")
    assert project.text("past.md").endswith("\nFreeze.\n")
    assert reasons(due, project) == {}


def test_what_is_retired_is_out_of_the_way(project: DreamProject, due: DueReviews) -> None:
    project.remember("old.md", "The API is at v2.", type="project", age_days=91)
    gone = due.retire(project.root, "old.md")
    assert gone.path.endswith("/.retired/old.md")
    assert reasons(due, project) == {}
    assert not (project.memory / "old.md").exists()


async def test_a_dream_retires_what_ended_and_lists_what_to_check(project: DreamProject) -> None:
    project.remember("past.md", "Freeze.", type="project", valid_until="2026-12-01")
    project.remember("old.md", "The API is at v2.", type="project", age_days=91)
    text = "Until 2027-01-10 we deploy by hand."
    project.remember("by_hand.md", text, type="project", age_days=30)
    project.remember("by_train.md", "We deploy by train until 2027-02-01.", type="project")
    async with project.running():
        dream = await project.dream()
    assert dream.state == "done"
    assert {one.file for one in project.store.retired(project.directory)} == {
        ".retired/past.md",
        ".retired/by_hand.md",
    }
    assert "valid_until: 2027-02-01" in project.text("by_train.md").replace('"', "").replace(
        "'", ""
    )
    assert ("old.md", "due for review") in [(one.file, one.concern) for one in dream.summary.flags]


async def test_what_another_memory_retires_before_it_gets_its_end_stops_no_dream(
    project: DreamProject,
) -> None:
    project.remember("old.md", "The freeze is until 2099-03-03.", type="project")
    said = "The talk about caches is until 2099-05-03."
    project.remember("new.md", said, type="project", age_days=5, supersedes="old.md")
    async with project.running():
        dream = await project.dream()
    assert (dream.state, dream.reason) == ("done", "")
    assert 'valid_until: "2099-05-03"' in project.text("new.md")
    assert "superseded_by: new.md" in project.text(".retired/old.md")
