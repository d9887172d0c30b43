"""A dream in plain words, and the line that the next session hears."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from memoryd.dreams.rules.story import DreamCounts, in_words
from tests.support.dream_fixtures import DAY, DreamProject, data_of, two_of_a_kind


@pytest.fixture
def project(home: Path) -> Iterator[DreamProject]:
    made = DreamProject(home)
    yield made
    made.database.close()


def test_a_summary_says_what_was_done_and_what_waits() -> None:
    counts = DreamCounts(read=71, merged=2, retired=3, changed=1, left=66, due=1, questions=2)
    assert in_words(counts) == (
        "Read 71 memories: merged 2, retired 3, changed 1; 66 are left."
        " 1 is due for review: memoryd review. 2 questions wait in the inbox: memoryd inbox."
    )
    assert in_words(DreamCounts(read=1, left=1)) == ("Read 1 memory: changed nothing; 1 are left.")


async def test_events_and_the_record_count_what_became_of_the_memories(
    project: DreamProject,
) -> None:
    two_of_a_kind(project)
    project.remember("past.md", "Freeze.", type="project", valid_until="2026-12-01")
    async with project.running():
        dream = await project.dream()
    words = "Read 4 memories: merged 1, retired 1, changed 1; 2 are left."
    assert dream.summary.words == words
    (finished,) = data_of(project.events, "dream/finished")
    assert (finished["words"], finished["merged"], finished["left"]) == (words, 1, 2)
    *_, last = data_of(project.events, "dream/phase")
    assert (last["read"], last["merged"], last["phase"]) == (4, 1, "prune and index")


async def test_the_news_of_a_dream_is_told_once_and_only_while_it_is_new(
    project: DreamProject,
) -> None:
    two_of_a_kind(project)
    assert project.dreamer.news(project.root) == ""
    async with project.running():
        await project.dream()
    told = project.dreamer.news(project.root)
    assert told.endswith("Read 3 memories: merged 1, changed 1; 2 are left.")
    assert project.dreamer.news(project.root) == ""
    project.dreamer._told.clear()
    project.pass_time(2 * DAY)
    assert project.dreamer.news(project.root) == ""
