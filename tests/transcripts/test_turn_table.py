"""The table of turns: each once, old ones only when asked for."""

import msgspec
import pytest

from memoryd.base.errors import InvalidInput
from memoryd.system.database import Database
from memoryd.transcripts.rules.assembler import Follower
from memoryd.transcripts.rules.turns import Turn
from memoryd.transcripts.turn_table import QueuedTurn, TurnTable, root_named
from tests.support.tail_fixtures import rows, session, turns


@pytest.fixture
def queue(state: Database) -> TurnTable:
    return TurnTable(state)


def some(*texts: str, name: str = "s") -> list[QueuedTurn]:
    follower = Follower()
    found = follower.feed(session(name, *texts).data) + follower.finish()
    return [
        QueuedTurn(one, "/work/app", f"p/{name}.jsonl") for one in found if isinstance(one, Turn)
    ]


def counts(state: Database) -> dict[str, int]:
    rows = state.run("select state, count(*) from turns group by state")
    return dict(msgspec.convert(rows, list[tuple[str, int]]))


def test_the_first_sight_of_a_turn_counts(state: Database, queue: TurnTable) -> None:
    first = some("one", "two")
    assert queue.add(first, at=1.0) == first
    assert queue.add(some("one", "two", "three"), at=2.0) == some("one", "two", "three")[2:]
    assert [text for text, _ in rows(state)] == ["one", "two", "three"]


def test_a_turn_comes_out_as_it_went_in(state: Database, queue: TurnTable) -> None:
    [filed] = queue.add(some("ü 🙂 \x00"), at=1.0)
    assert turns(state) == {filed.turn.id: filed.turn}


def test_old_turns_are_known_and_do_not_wait(state: Database, queue: TurnTable) -> None:
    old = some("one", "two")
    queue.add_old([one.turn for one in old], "p/s.jsonl", at=1.0)
    assert queue.add(old, at=2.0) == []
    assert counts(state) == {"old": 2}
    assert queue.states([old[0].turn.id, "other"]) == {old[0].turn.id: "old"}


def test_only_an_import_makes_old_turns_wait(state: Database, queue: TurnTable) -> None:
    old = some("one", "two")
    queue.add_old([one.turn for one in old], "p/s.jsonl", at=1.0)
    assert queue.add_imported(old[:1], at=2.0) == old[:1]
    assert queue.add_imported(old[:1], at=2.0) == []
    assert rows(state) == [("one", "pending")]
    assert counts(state) == {"pending": 1, "old": 1}


def test_an_import_repeats_nothing_that_was_seen(state: Database, queue: TurnTable) -> None:
    seen = some("one", "two")
    queue.add(seen, at=1.0)
    state.run("update turns set state = 'done', packed = null where id = ?", seen[0].turn.id)
    assert (
        queue.add_imported(some("one", "two", "three"), at=2.0) == some("one", "two", "three")[2:]
    )
    assert counts(state) == {"done": 1, "pending": 2}


def test_a_rewind_abandons_what_waits_and_nothing_else(state: Database, queue: TurnTable) -> None:
    one, two = queue.add(some("one", "two"), at=1.0)
    state.run("update turns set state = 'done' where id = ?", one.turn.id)
    queue.abandon(one.turn.id, "p/s.jsonl")
    queue.abandon(two.turn.id, "p/a-fork.jsonl")
    assert counts(state) == {"done": 1, "pending": 1}
    queue.abandon(two.turn.id, "elsewhere/s.jsonl")  # the transcript has moved
    assert counts(state) == {"done": 1, "abandoned": 1}
    assert turns(state).keys() == {one.turn.id}


def test_the_project_of_a_session_is_that_of_its_last_turn(queue: TurnTable) -> None:
    one, two = some("one", "two")
    queue.add([one, QueuedTurn(two.turn, "/elsewhere", two.path)], at=1.0)
    assert queue.last_project("s") == "/elsewhere"
    assert queue.last_project("nobody") == ""


def test_a_line_without_a_usable_directory_names_no_project() -> None:
    def root_of(cwd: str) -> str:
        if not cwd:
            raise InvalidInput("no")
        return cwd

    assert (root_named("/a", root_of), root_named("", root_of)) == ("/a", "")
