"""An order is lasting if enough signs speak for it, otherwise it is the next step."""

import pytest

from memoryd.extraction.rules.statements.orders import (
    OrderContext,
    is_lasting_order,
    leads_with_lasting_order,
)

AMONG_PEOPLE = OrderContext(reason="the reviewers complain about it")
IN_A_DISPUTE = OrderContext(is_dispute=True)


@pytest.mark.parametrize(
    "said",
    [
        "always rebase before you ask for a review",
        "never touch prod by hand",
        "dont abbreviate names, the next reader has to guess",
        "no screenshots in tickets, people cant search them",
        "stop apologizing for typos",
        "skip the pleasantries",
        "keep it short, i read this between meetings",
        "when something takes longer than an hour tell me first",
        "if a dependency is outdated mention it, we bundle upgrades",
        "i hate magic numbers in tests, nobody knows where they come from",
        "nothing gets released without my ok",
        "every migration needs a way back",
        "fixes go into branches of their own, otherwise nobody reviews them",
        "clear the outputs before you commit, there is patient data in them",
        "i prefer guard clauses over nested ifs",
        "wider margins please, i print these and write on them",
    ],
)
def test_an_order_with_enough_signs_is_lasting(said: str) -> None:
    assert is_lasting_order(said)


@pytest.mark.parametrize(
    "said",
    [
        "always redirect http to https",
        "never retry more than twice",
        "never seen that before",
        "dont rename the class, only the file",
        "dont use recursion, the stack overflows",
        "use a queue instead of polling",
        "use port 9090, 8080 is taken",
        "add a test that makes sure it never blocks",
        "no need for a migration, the table is empty",
        "i prefer the second version",
        "shorter please",
        "each time the job runs it leaves a file behind, clean those up",
        "users can only see their own orders",
        "no user may see the data of another tenant",
        "change requests are welcome",
        "could you rename every occurrence",
        "i want a dropdown instead of radio buttons",
        "management summary: five lines, no jargon",
    ],
)
def test_an_order_about_the_thing_at_hand_is_not_lasting(said: str) -> None:
    assert not is_lasting_order(said)


def test_a_reason_in_the_next_sentence_counts() -> None:
    order = "snake case in json keys please"
    assert not is_lasting_order(order)
    assert is_lasting_order("use snake case in json keys", AMONG_PEOPLE)


def test_a_dispute_counts() -> None:
    order = "only touch lines that the change needs"
    assert not is_lasting_order(order)
    assert is_lasting_order(f"{order}, blame is useless now", IN_A_DISPUTE)


def test_a_dispute_about_the_thing_at_hand_is_not_a_rule() -> None:
    assert not is_lasting_order("rebase it first", IN_A_DISPUTE)


def test_a_reason_that_only_a_program_gives_does_not_count() -> None:
    assert is_lasting_order("dont use globals, nobody finds them")
    assert not is_lasting_order("dont use globals, the buffer is empty then")


def test_a_sentence_that_draws_an_order_from_a_fact_does_not_lead_with_it() -> None:
    said = "the demo box has no network, so dont add dependencies, they cant be installed"
    assert is_lasting_order(said)
    assert not leads_with_lasting_order(said)
