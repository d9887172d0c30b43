"""Small transcripts in the shape of each range of client versions: whose words come out of them.

`expected.json` says what each file shows, every turn with its ending and the person's words in it,
and which of these the rules take for a statement.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from memoryd.extraction.rules.whose_words import as_said
from memoryd.extraction.saver import statements_from
from memoryd.transcripts.rules.assembler import REST_SECONDS, Follower
from memoryd.transcripts.rules.turns import Turn, TurnEvent

FOLDER = Path(__file__).parents[1] / "data" / "client-versions"
EXPECTED: dict[str, Any] = json.loads((FOLDER / "expected.json").read_bytes())
each_version = pytest.mark.parametrize("name", EXPECTED)


def data_of(name: str) -> bytes:
    return (FOLDER / f"{name}.jsonl").read_bytes()


def turns_in(events: list[TurnEvent]) -> list[Turn]:
    return [event for event in events if isinstance(event, Turn)]


def turns_of(name: str) -> list[Turn]:
    follower = Follower()
    events = follower.feed(data_of(name)) + follower.finish()
    assert follower.bad_lines == 0
    return turns_in(events)


def words(turns: list[Turn]) -> list[str]:
    return [part.text for turn in turns for part in turn.prompts]


def test_every_file_is_described() -> None:
    assert {path.stem for path in FOLDER.glob("*.jsonl")} == set(EXPECTED)


@each_version
def test_every_turn_ends_and_holds_the_persons_words(name: str) -> None:
    found = [
        {"ending": turn.ending, "person": [[part.source, part.text] for part in turn.prompts]}
        for turn in turns_of(name)
    ]
    assert found == EXPECTED[name]["turns"]


@each_version
def test_only_the_persons_own_statements_are_statements(name: str) -> None:
    said = [as_said(turn, (), counts_scripts=False) for turn in turns_of(name)]
    found = [[one.statement.certainty, one.statement.text] for one in statements_from(said)]
    assert found == EXPECTED[name]["stated"]


@each_version
def test_after_a_rest_no_turn_is_left_open(name: str) -> None:
    follower = Follower()
    events = follower.feed(data_of(name)) + follower.settle() + follower.rest(REST_SECONDS)
    assert turns_in(events) == turns_of(name)
    assert follower.rest_seconds == 0.0


@each_version
def test_a_restart_after_any_line_changes_nothing(name: str) -> None:
    lines = data_of(name).splitlines(keepends=True)
    for number in range(len(lines)):
        follower = Follower()
        events = follower.feed(b"".join(lines[:number]))
        follower = Follower.restore(follower.snapshot())
        events += follower.feed(b"".join(lines[number:])) + follower.finish()
        assert turns_in(events) == turns_of(name)


@each_version
def test_settling_after_any_line_neither_loses_nor_repeats_a_word(name: str) -> None:
    lines = data_of(name).splitlines(keepends=True)
    for number in range(len(lines)):
        follower = Follower()
        events = follower.feed(b"".join(lines[:number])) + follower.settle()
        events += follower.feed(b"".join(lines[number:])) + follower.finish()
        assert sorted(words(turns_in(events))) == sorted(words(turns_of(name)))
