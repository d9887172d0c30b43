"""Weeks of one project, dreamt every night, against what is true; `make year` takes a year."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from memoryd.memories.rules.index import BYTE_LIMIT, LINE_LIMIT
from tests.dreams.test_model_dream import dreaming
from tests.support.dream_fixtures import DreamProject, tree_hash
from tests.support.dream_year import DreamYear, year_of
from tests.support.scripted_model import says

DAYS, MEMORIES, UNDONE = 16, 80, 2


@pytest.fixture
def project(home: Path) -> Iterator[DreamProject]:
    made = DreamProject(home)
    yield made
    made.database.close()


async def test_weeks_of_dreams_lose_nothing_true_and_retire_what_is_not(
    project: DreamProject,
) -> None:
    year = DreamYear(project, year_of(seed=7, days=DAYS, count=MEMORIES))
    async with project.running():
        for day in range(year.nights):
            year.live(day)
            before = tree_hash(project.memory)
            dream = await project.dream()
            assert dream.state == "done"
            if dream.summary.files and day >= year.nights - UNDONE:
                await project.dreamer.undo(project.root)
                assert tree_hash(project.memory) == before
                await project.dream()
            morning = year.report(day)
            assert morning.lost == []
            assert morning.index_lines <= LINE_LIMIT
            assert morning.index_bytes <= BYTE_LIMIT
    assert morning.to_retire >= 10
    assert morning.still_there <= 0.2 * morning.to_retire


async def test_a_model_that_has_nothing_to_add_changes_none_of_that(home: Path) -> None:
    memories = year_of(seed=8, days=5, count=30)
    async with dreaming(home, lambda _request: says("nothing to do")) as (project, server):
        year = DreamYear(project, memories)
        async with project.running():
            for day in range(year.nights):
                year.live(day)
                dream = await project.dream()
                assert (dream.state, dream.summary.how) == ("done", "model")
                assert year.report(day).lost == []
    assert len(server.requests) == year.nights


async def test_the_index_of_a_large_store_fits_after_one_dream(project: DreamProject) -> None:
    year = DreamYear(project, year_of(seed=9, days=1, count=330))
    year.live(0)
    async with project.running():
        dream = await project.dream()
    assert dream.state == "done"
    morning = year.report(0)
    assert (morning.lost, morning.index_lines <= LINE_LIMIT) == ([], True)
    assert morning.index_bytes <= BYTE_LIMIT
    assert "more memories are not listed here since" in project.index()
