"""Corrections retire the memory that is meant, and nothing else; `tests/data/corrections.jsonl`."""

from pathlib import Path

import pytest

from memoryd.base.errors import Refused
from memoryd.extraction.inbox import Inbox
from memoryd.extraction.inbox_answers import InboxItem
from tests.extraction.test_embedded import World, said
from tests.support.correction_set import CorrectionCase, cases, is_right, outcome_of

LEAST_RIGHT_PERCENT = 80
DEPLOY = "Remember that we deploy on Tuesdays."
CHECK = "Always run make check before you commit."


@pytest.fixture
def world(home: Path) -> World:
    return World(home, str(home / "app"))


def waiting(world: World) -> list[InboxItem]:
    return world.inbox.waiting(world.project.root).items


def retired(world: World) -> list[str]:
    return [one.file for one in world.store.retired(world.project.memory)]


@pytest.mark.parametrize("half", ["dev", "held"])
def test_most_corrections_are_right(half: str, tmp_path: Path) -> None:
    found = [case for case in cases(half) if case.is_correction]
    assert len(found) == 40
    wrong = [case.id for case in found if not is_right(case, outcome_of(case, tmp_path))]
    assert 100 * (len(found) - len(wrong)) >= LEAST_RIGHT_PERCENT * len(found), wrong


@pytest.mark.parametrize("case", cases(), ids=lambda case: case.id)
def test_no_memory_is_retired_that_was_not_meant(case: CorrectionCase, tmp_path: Path) -> None:
    outcome = outcome_of(case, tmp_path)
    assert outcome in {case.outcome, "keep", "inbox"}


async def test_the_old_memory_points_to_the_new_one_and_back(world: World) -> None:
    (old,) = await world.extract(said(DEPLOY))
    (new,) = await world.extract(said("we deploy on Thursdays now"))
    assert [one.file for one in world.alive()] == [new]
    assert retired(world) == [f".retired/{old}"]
    topic = world.store.read(world.project.memory, f".retired/{old}").topic
    assert (topic.superseded_by, topic.retired) == (new, "2026-11-06")
    assert world.store.read(world.project.memory, new).topic.supersedes == (f".retired/{old}",)


async def test_what_is_only_forgotten_is_retired_without_a_successor(world: World) -> None:
    (old,) = await world.extract(said(CHECK))
    assert await world.extract(said("forget what I said about make check")) == ()
    assert world.alive() == []
    topic = world.store.read(world.project.memory, f".retired/{old}").topic
    assert (topic.superseded_by, topic.retired) == ("", "2026-11-06")
    assert waiting(world) == []


async def test_a_correction_in_the_same_session_wins_however_often_it_is_processed(
    world: World,
) -> None:
    script = said(DEPLOY, "Actually no, we deploy on Thursdays.")
    await world.extract(script)
    before = sorted(one.file for one in world.alive()), retired(world)
    assert "thursdays" in before[0][0]
    await world.extract(script, again=True)
    assert (sorted(one.file for one in world.alive()), retired(world)) == before


async def test_a_person_sees_both_texts_when_it_is_not_clear_which_is_meant(world: World) -> None:
    both = "Always use tabs in Makefiles.", "Always use tabs in Go files."
    files = await world.extract(said(*both))
    await world.extract(said("forget what I said about tabs"))
    assert retired(world) == []
    items = waiting(world)
    assert [item.reason for item in items] == ["contradicts", "contradicts"]
    assert all(item.retires for item in items)
    assert sorted(item.against[0].text for item in items) == sorted(both)
    assert all("forget what I said about tabs" in item.text for item in items)
    chosen = next(item for item in items if "Makefiles" in item.against[0].text)
    (kept,) = world.inbox.accept([chosen.id])
    assert kept.path.endswith(f"/.retired/{chosen.contradicts}")
    assert len(world.alive()) == len(files) - 1


async def test_only_a_person_is_asked_whether_to_retire_a_memory(world: World) -> None:
    world.inbox = Inbox(world.inbox._table, world.inbox._scopes, world.store, reviewer="agent")
    await world.extract(said("Always use tabs in Makefiles.", "Always use tabs in Go files."))
    await world.extract(said("forget what I said about tabs"))
    items = waiting(world)
    assert len(items) == 2
    assert world.inbox.for_agent(world.project) == ""
    assert world.inbox.to_judge(world.project) == ()
    with pytest.raises(Refused, match="only the person"):
        world.inbox.reject([items[0].id], by="agent")
    assert waiting(world) == items


async def test_a_date_is_taken_back_however_it_was_said(world: World) -> None:
    await world.extract(said("Keep in mind that we freeze on Dec 1."))
    assert "2026-12-01" in world.alive()[0].topic.description
    await world.extract(said("We no longer freeze on December 1."))
    assert not [one for one in world.alive() if "no longer" not in one.topic.description]


async def test_an_explicit_statement_is_saved_even_if_it_may_contradict_another(
    world: World,
) -> None:
    (old,) = await world.extract(said("Remember that we support Python 3.11."))
    (new,) = await world.extract(said("Remember that we support Python 3.12."))
    assert sorted(one.file for one in world.alive()) == sorted([old, new])
    (item,) = waiting(world)
    assert (item.contradicts, item.retires) == (old, True)
    world.inbox.accept([item.id])
    assert [one.file for one in world.alive()] == [new]
    assert world.store.read(world.project.memory, f".retired/{old}").topic.superseded_by == new


@pytest.mark.parametrize(
    "text",
    [
        "remember: no Lombok",
        "Remember that for now the staging database is read-only.",
        "Please remember I might be on leave in June.",
        "remember that maybe the vendor renames the product",
        "Remember the table must be called orders_v2 in every environment.",
    ],
)
async def test_every_explicit_remember_is_saved_whatever_its_form(world: World, text: str) -> None:
    assert len(await world.extract(said(text))) == 1


async def test_what_an_agent_is_told_to_do_once_retires_nothing(world: World) -> None:
    await world.extract(said(CHECK, DEPLOY, "Always indent with tabs in this project."))
    once = (
        "actually use spaces in this file",
        "forget the tests for now",
        "actually, use port 8081 for this run",
        "the linter always fails, never passes",
        "do we deploy on Thursdays now?",
    )
    await world.extract(said(*once))
    assert retired(world) == []
