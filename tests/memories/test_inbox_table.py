"""What waits in the inbox waits once, and what was decided does not come back."""

import msgspec
import pytest

from memoryd.base.errors import NotFound
from memoryd.memories.inbox_table import (
    KEEP_DAYS,
    MOST_WAITING,
    SECONDS_A_DAY,
    Candidate,
    InboxTable,
)
from memoryd.system.database import Database
from tests.support.times import NOW

HERE, THERE = "/home/x/memory", "/home/y/memory"
TABS = Candidate(
    project="/home/x",
    type="feedback",
    name="Tabs",
    description="Tabs",
    body="Use tabs, please.\n",
    created="2026-11-01T10:00:00Z",
    session_id="one",
    around="Use tabs, please. And fix the test.",
)


@pytest.fixture
def inbox(database: Database) -> InboxTable:
    return InboxTable(database)


def test_a_statement_waits_once_however_it_is_spelled(inbox: InboxTable) -> None:
    assert inbox.add(HERE, TABS, at=NOW)
    again = msgspec.structs.replace(TABS, body="use tabs please", session_id="two")
    assert not inbox.add(HERE, again, at=NOW + 1)
    (one,) = inbox.waiting([HERE])
    assert (one.folder, one.since, one.candidate) == (HERE, NOW, TABS)


def test_directories_have_inboxes_of_their_own(inbox: InboxTable) -> None:
    assert inbox.add(HERE, TABS, at=NOW)
    assert inbox.add(THERE, TABS, at=NOW)
    assert (inbox.count([HERE]), inbox.count([THERE]), inbox.count()) == (1, 1, 2)
    assert [one.folder for one in inbox.waiting([THERE])] == [THERE]


@pytest.mark.parametrize("state", ["accepted", "rejected"])
def test_what_was_decided_is_not_offered_again(inbox: InboxTable, state: str) -> None:
    inbox.add(HERE, TABS, at=NOW)
    (one,) = inbox.waiting()
    inbox.decide(one.id, "accepted" if state == "accepted" else "rejected", at=NOW)
    assert inbox.waiting() == []
    assert inbox.state_of(HERE, TABS) == state
    assert not inbox.add(HERE, TABS, at=NOW + 1)
    with pytest.raises(NotFound, match="is not in the inbox"):
        inbox.get(one.id)


def test_nobody_takes_it_in_time(inbox: InboxTable) -> None:
    inbox.add(HERE, TABS, at=NOW)
    late = NOW + KEEP_DAYS * SECONDS_A_DAY
    assert inbox.expire(now=late) == 0
    assert inbox.expire(now=late + 1) == 1
    assert inbox.count() == 0
    assert inbox.add(HERE, TABS, at=late + 2), "said again, it may wait again"


def test_a_decided_candidate_keeps_no_text(inbox: InboxTable, database: Database) -> None:
    inbox.add(HERE, TABS, at=NOW)
    inbox.decide(inbox.waiting()[0].id, "rejected", at=NOW)
    assert database.run("select packed from candidates") == [(None,)]


def test_the_oldest_give_way_in_an_inbox_that_nobody_looks_at(inbox: InboxTable) -> None:
    inbox.add(THERE, TABS, at=NOW)
    for number in range(MOST_WAITING + 3):
        inbox.add(HERE, msgspec.structs.replace(TABS, body=f"Rule {number}."), at=NOW)
    bodies = [one.candidate.body for one in inbox.waiting([HERE])]
    assert len(bodies) == MOST_WAITING
    assert bodies[0] == "Rule 3."
    assert inbox.count([THERE]) == 1


def test_an_agent_is_asked_about_each_in_turn(inbox: InboxTable) -> None:
    for number in range(3):
        inbox.add(HERE, msgspec.structs.replace(TABS, body=f"Rule {number}."), at=NOW)
    rounds = [[one.candidate.body for one in inbox.to_hand_out(HERE, 2)] for _ in range(2)]
    assert rounds == [["Rule 0.", "Rule 1."], ["Rule 0.", "Rule 2."]]


def test_questions_whether_to_retire_a_memory_take_no_place(inbox: InboxTable) -> None:
    for number in range(2):
        asks = msgspec.structs.replace(TABS, body=f"Forget it? {number}", retires=f"{number}.md")
        inbox.add(HERE, asks, at=NOW)
    inbox.add(HERE, TABS, at=NOW)
    assert [one.candidate for one in inbox.to_hand_out(HERE, 2)] == [TABS]
