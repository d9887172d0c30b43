"""Contradictions between memories: the sure ones are settled, the others are asked about."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from memoryd.dreams.rules.conflicts import Conflict, conflicts
from memoryd.dreams.rules.plan import BelievedMemory
from memoryd.memories.inbox_table import InboxTable
from tests.support.dream_fixtures import DAY, NOW, DreamProject, memory_text
from tests.support.dream_year import year_of


@pytest.fixture
def project(home: Path) -> Iterator[DreamProject]:
    made = DreamProject(home)
    yield made
    made.database.close()


def memory(file: str, text: str, age: float, trust: str = "user-said") -> BelievedMemory:
    return BelievedMemory(
        file, memory_text(text, name=text, type="project", trust=trust), NOW - age * DAY
    )


def found(*memories: BelievedMemory) -> list[tuple[str, str, bool]]:
    return [(one.old, one.new, one.is_sure) for one in conflicts(memories)]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("The shop deploys on Tuesdays.", "The shop deploys on Thursdays."),
        ("Always mock the mailer in unit tests.", "Never mock the mailer in unit tests."),
        (
            "We use Jenkins for the nightly builds.",
            "We no longer use Jenkins for the nightly builds.",
        ),
        ("The importer is called Heron.", "The importer is called Plover now."),
    ],
)
def test_the_newer_word_of_the_person_wins(old: str, new: str) -> None:
    assert found(memory("old.md", old, 9), memory("new.md", new, 1)) == [("old.md", "new.md", True)]
    agents = memory("old.md", old, 9, "agent-concluded")
    assert found(agents, memory("new.md", new, 1)) == [("old.md", "new.md", True)]


def test_a_subject_of_two_forms_of_one_word_is_not_the_subject_of_one_of_them() -> None:
    old = memory("old.md", "Always rebase the export queue branch before a review.", 9)
    new = memory("new.md", "Never rebase the export exporter branch before a review.", 1)
    assert (("old.md", "new.md", True) in found(old, new)) is False


def test_an_agents_newer_word_is_only_a_question() -> None:
    old = memory("old.md", "The shop deploys on Tuesdays.", 9)
    new = memory("new.md", "The shop deploys on Thursdays.", 1, "agent-concluded")
    assert found(old, new) == [("old.md", "new.md", False)]


def test_of_several_changes_only_the_last_stays() -> None:
    days = ("Mondays", "Tuesdays", "Fridays")
    memories = [
        memory(f"{day}.md", f"The shop deploys on {day}.", 9 - 3 * n) for n, day in enumerate(days)
    ]
    assert found(*memories) == [
        ("Mondays.md", "Fridays.md", True),
        ("Tuesdays.md", "Fridays.md", True),
    ]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The shop deploys on Tuesdays.", "The mailer deploys on Thursdays."),
        ("Ana owns the billing importer.", "Ana owns the billing exporter."),
        ("Always mock the mailer in unit tests.", "Never mock the parser in unit tests."),
        ("We use Postgres for orders.", "We use Redis for sessions."),
    ],
)
def test_other_subjects_are_no_contradiction(one: str, other: str) -> None:
    assert found(memory("a.md", one, 9), memory("b.md", other, 1)) == []


def test_true_facts_of_a_year_do_not_contradict_each_other() -> None:
    last = 10_000
    true = [one for one in year_of(seed=3) if one.is_true_on(last)]
    memories = [memory(one.file, one.text, 300 - one.day, one.trust) for one in true]
    assert [one for one in conflicts(memories) if one.is_sure] == []


def test_what_was_asked_before_is_not_asked_again() -> None:
    old = memory("old.md", "The shop deploys on Tuesdays.", 9)
    new = memory("new.md", "The shop deploys on Thursdays.", 5, "agent-concluded")
    assert conflicts([old, new], NOW - 6 * DAY) == [Conflict("old.md", "new.md", False)]
    assert conflicts([old, new], NOW - DAY) == []


async def test_an_unsure_pair_waits_in_the_inbox_with_both_texts(project: DreamProject) -> None:
    project.remember("old.md", "The shop deploys on Tuesdays.", type="project", trust="user-said")
    project.remember(
        "new.md",
        "The shop deploys on Thursdays.",
        type="project",
        age_days=1,
        trust="agent-concluded",
    )
    async with project.running():
        await project.dream(dry_run=True)
        assert InboxTable(project.database).waiting() == []
        dream = await project.dream()
    assert (dream.state, dream.summary.counts.questions) == ("done", 1)
    (item,) = InboxTable(project.database).waiting()
    assert (item.candidate.retires, item.candidate.successor) == ("old.md", "new.md")
    assert "on Thursdays" in item.candidate.body
    assert "on Tuesdays" in item.candidate.body
    assert (project.memory / "old.md").exists()


async def test_a_contradicted_memory_is_retired_and_undo_brings_it_back(
    project: DreamProject,
) -> None:
    project.remember("old.md", "The shop deploys on Tuesdays.", type="project", trust="user-said")
    project.remember(
        "new.md", "The shop deploys on Thursdays.", type="project", age_days=1, trust="user-said"
    )
    before = project.tree()
    async with project.running():
        await project.dream()
        assert "superseded_by: new.md" in project.text(".retired/old.md")
        await project.dreamer.undo(project.root)
    assert project.text("old.md").endswith("on Tuesdays.\n")
    assert not (project.memory / ".retired/old.md").exists()
    assert before != ""


async def test_what_is_said_again_wins_over_what_came_between(project: DreamProject) -> None:
    said = (("a.md", "Tuesdays", 9), ("b.md", "Thursdays", 5), ("c.md", "Tuesdays", 1))
    for file, day, age in said:
        text = f"The shop deploys on {day}." + "\n\n**Why:** the audit." * (file == "a.md")
        project.remember(file, text, type="project", age_days=age, trust="user-said")
    async with project.running():
        await project.dream()
    current = [one.file for one in project.store.scan(project.directory)]
    assert len(current) == 1
    assert "on Tuesdays" in project.text(current[0])
