"""A dream from the lock to the last word: nothing is lost, everything can be taken back."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.dreamland import DAY, NOW, Dreamland, stamps


@pytest.fixture
def land(home: Path) -> Iterator[Dreamland]:
    made = Dreamland(home)
    yield made
    made.state.close()


def two_of_a_kind(land: Dreamland) -> None:
    land.remember("a.md", "Use pnpm for installs.\n\n**Why:** one lock file.", age_days=9)
    land.remember("b.md", "Always use pnpm for installs!", age_days=3)
    land.remember("c.md", "Never deploy on Fridays.", name="Deploys", age_days=5)
    land.store.repair(land.directory)


async def test_a_dream_by_rules_merges_and_says_what_it_did(land: Dreamland) -> None:
    two_of_a_kind(land)
    async with land.awake():
        dream = await land.dream()
    assert dream.state == "done"
    assert {one.file: one.deed for one in dream.summary.files} == {
        "a.md": "changed",
        "b.md": "retired",
        "MEMORY.md": "index",
    }
    assert "supersedes: b.md" in land.text("a.md")
    assert "b.md" not in land.index()
    assert [one.file for one in land.store.scan(land.directory) if one.retired] == ["b.md"]
    assert stamps(land.memory)["a.md"] == NOW - 3 * DAY
