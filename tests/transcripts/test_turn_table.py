"""The table of turns: each once, old ones only when asked for."""

import msgspec
import pytest

from memoryd.base.errors import InvalidInput
from memoryd.system.database import Database
from memoryd.transcripts.cursor_table import CursorTable
from memoryd.transcripts.rules.assembler import Follower
from memoryd.transcripts.rules.cursor import Cursor
from memoryd.transcripts.rules.turns import Turn
from memoryd.transcripts.turn_table import LastWords, QueuedTurn, TurnTable, root_named
from tests.support.tail_fixtures import rows, session, turns


@pytest.fixture
def table(database: Database) -> TurnTable:
    return TurnTable(database)


def some(*texts: str, name: str = "s") -> list[QueuedTurn]:
    follower = Follower()
    found = follower.feed(session(name, *texts).data) + follower.finish()
    return [
        QueuedTurn(one, "/work/app", f"p/{name}.jsonl") for one in found if isinstance(one, Turn)
    ]


def counts(database: Database) -> dict[str, int]:
    rows = database.run("select state, count(*) from turns group by state")
    return dict(msgspec.convert(rows, list[tuple[str, int]]))


def test_only_the_first_copy_of_a_turn_counts(database: Database, table: TurnTable) -> None:
    first = some("one", "two")
    assert table.add(first, at=1.0) == first
    assert table.add(some("one", "two", "three"), at=2.0) == some("one", "two", "three")[2:]
    assert [text for text, _ in rows(database)] == ["one", "two", "three"]


def test_a_turn_comes_out_as_it_went_in(database: Database, table: TurnTable) -> None:
    [queued] = table.add(some("ü 🙂 \x00"), at=1.0)
    assert turns(database) == {queued.turn.id: queued.turn}


def test_old_turns_are_known_and_do_not_wait(database: Database, table: TurnTable) -> None:
    old = some("one", "two")
    table.add_old([one.turn for one in old], "p/s.jsonl", at=1.0)
    assert table.add(old, at=2.0) == []
    assert counts(database) == {"old": 2}
    assert table.states([old[0].turn.id, "other"]) == {old[0].turn.id: "old"}


def test_only_an_import_makes_old_turns_wait(database: Database, table: TurnTable) -> None:
    old = some("one", "two")
    table.add_old([one.turn for one in old], "p/s.jsonl", at=1.0)
    assert table.add_imported(old[:1], at=2.0) == old[:1]
    assert table.add_imported(old[:1], at=2.0) == []
    assert rows(database) == [("one", "pending")]
    assert counts(database) == {"pending": 1, "old": 1}


def test_an_import_repeats_nothing_that_was_seen(database: Database, table: TurnTable) -> None:
    seen = some("one", "two")
    table.add(seen, at=1.0)
    database.run("update turns set state = 'done', packed = null where id = ?", seen[0].turn.id)
    assert (
        table.add_imported(some("one", "two", "three"), at=2.0) == some("one", "two", "three")[2:]
    )
    assert counts(database) == {"done": 1, "pending": 2}


def test_a_rewind_abandons_pending_turns_and_nothing_else(
    database: Database, table: TurnTable
) -> None:
    one, two = table.add(some("one", "two"), at=1.0)
    database.run("update turns set state = 'done' where id = ?", one.turn.id)
    table.abandon(one.turn.id, "p/s.jsonl")
    table.abandon(two.turn.id, "p/a-fork.jsonl")
    assert counts(database) == {"done": 1, "pending": 1}
    table.abandon(two.turn.id, "elsewhere/s.jsonl")  # the transcript has moved
    assert counts(database) == {"done": 1, "abandoned": 1}
    assert turns(database).keys() == {one.turn.id}


def test_the_project_of_a_session_is_that_of_its_last_turn(table: TurnTable) -> None:
    one, two = some("one", "two")
    table.add([one, QueuedTurn(two.turn, "/elsewhere", two.path)], at=1.0)
    assert table.last_project("s") == "/elsewhere"
    assert table.last_project("nobody") == ""


def test_a_line_without_a_usable_directory_names_no_project() -> None:
    def root_of(cwd: str) -> str:
        if not cwd:
            raise InvalidInput("no")
        return cwd

    assert (root_named("/a", root_of), root_named("", root_of)) == ("/a", "")


def test_the_last_words_of_both_are_kept_and_a_silent_turn_replaces_only_what_it_has(
    table: TurnTable,
) -> None:
    assert table.last_words("s") == LastWords()
    first, second = (one.turn for one in some("one", "two"))
    table.finish([first], "done", 1.0)
    assert table.last_words("s") == LastWords("one", "one: done")
    unanswered = tuple(part for part in second.parts if part.kind == "prompt")
    table.skip(msgspec.structs.replace(second, parts=unanswered), "no-prose", 2.0)
    assert table.last_words("s") == LastWords("two", "one: done")


def test_a_turn_left_unfinished_waits_with_its_count_and_an_imported_one_has_no_time(
    table: TurnTable,
) -> None:
    (one,) = table.add(some("one"), at=5.0)
    table.add_imported(some("old", name="t"), at=6.0)
    turn_id = one.turn.id
    table.begin([turn_id], 7.0)
    table.leave_unfinished({turn_id: 2}, [], "ended at its tool-limit")
    first, imported = table.waiting()
    assert (first.turn_id, first.unfinished, first.deaths, first.heard_at) == (turn_id, 2, 0, 5.0)
    assert imported.heard_at == 0.0
    table.leave_unfinished({turn_id: 3}, [turn_id], "ended at its tool-limit")
    assert [(parked.turn_id, parked.reason) for parked in table.parked()] == [
        (turn_id, "ended at its tool-limit")
    ]
    table.retry_parked()
    assert [turn.unfinished for turn in table.waiting()] == [0, 0]
    assert table.begin([turn_id], 9.0) == 7.0, "it is still known that it was begun"


def test_a_damaged_row_does_not_hold_up_the_other_turns(
    database: Database, table: TurnTable
) -> None:
    first, second = some("one", "two")
    table.add([first, second], at=1.0)
    database.run("update turns set session_id = x'00ff' where id = ?", first.turn.id)
    assert [one.turn_id for one in table.waiting()] == [second.turn.id]


def test_a_damaged_cursor_is_dropped_and_the_others_load(database: Database) -> None:
    cursors = CursorTable(database)
    kept, lost = (cursors.save(Cursor(path), b"") for path in ("p/a.jsonl", "p/b.jsonl"))
    database.run("update transcripts set size = 'much' where number = ?", lost.number)
    assert cursors.load() == ([kept], [])
    assert database.run("select number from transcripts") == [(kept.number,)]


def test_the_last_words_of_a_batch_are_those_of_its_last_turns(table: TurnTable) -> None:
    queued = table.add(some("one", "two", "three"), at=1.0)
    silent = msgspec.structs.replace(queued[2].turn, parts=queued[2].turn.parts[:1])
    table.finish([queued[0].turn, queued[1].turn, silent], "done", 2.0)
    assert table.last_words("s") == LastWords("three", "two: done")
