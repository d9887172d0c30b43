"""A new statement takes a memory's place only if it surely means it."""

import pytest

from memoryd.extraction.rules.contradiction import slot_between, verdict_on
from memoryd.extraction.rules.corrections import correction_in
from memoryd.extraction.rules.explicit_forms import form_of
from memoryd.text.prose import matchable


def verdict(new: str, old: str) -> str:
    words = matchable(new)
    return verdict_on(words, old, correction_in(words), is_stated=form_of(words) is not None)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Always indent with tabs.", "actually no, use spaces"),
        ("Never squash commits in this repo.", "From now on always squash commits in this repo."),
        ("Our tickets are in Trello.", "Our tickets are in Asana now."),
        ("Retries stop after 3 attempts.", "Remember that retries stop after 5 attempts."),
        ("The wiki is at wiki.example.org.", "the wiki is at docs.example.org now"),
        ("We host the site on Heroku.", "We've moved from Heroku to Fly to host the site."),
        ("Ask before you rename a column.", "You no longer need to ask before you rename a column"),
        ("Wir nutzen Jenkins.", "Wir nutzen Jenkins nicht mehr."),
    ],
)
def test_a_correction_takes_the_memorys_place(old: str, new: str) -> None:
    assert verdict(new, old) == "sure"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        # An order for the task at hand.
        ("Always run the tests before a commit.", "actually no, run the tests first"),
        ("Always run the tests before a commit.", "stop running the tests"),
        ("Write all comments in German.", "write this comment in English instead of German"),
        ("Use a tuple for coordinates.", "use a list instead of a tuple"),
        # A remark on how things are.
        ("The release branch is called stable.", "The release branch is broken now."),
        ("The build runs on a shared machine.", "The build is green now."),
        # Another subject, or one more of the same kind.
        ("Remember that test 3 is flaky.", "Remember that test 4 is flaky."),
        ("Use single quotes in Python.", "From now on use double quotes in JSON."),
        ("Always write tests for the lexer.", "From now on write tests for the parser."),
        ("Always use tabs in Makefiles.", "From now on use tabs in Go files."),
        ("Always indent with tabs.", "actually no, put two spaces between the paragraphs"),
        # The same in other words.
        ("Never use tabs for indentation.", "From now on use spaces for indentation."),
        ("Never use tabs in Makefiles.", "Never use spaces in Makefiles."),
        ("We never deploy on Fridays.", "We no longer deploy on Fridays."),
        ("We deploy on Tuesdays.", "Remember that we deploy on Tuesdays and never before 9."),
    ],
)
def test_a_look_alike_takes_nobodys_place(old: str, new: str) -> None:
    assert verdict(new, old) == "none"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Always run the linter.", "From now on don't run the linter on generated files."),
        ("We support Python 3.11.", "Remember that we support Python 3.12."),
        ("We test with Firefox.", "We test with Safari now."),
        ("We deploy the shop on Mondays.", "we deploy on Thursdays now"),
    ],
)
def test_what_may_be_an_exception_or_an_addition_is_for_a_person_to_decide(
    old: str, new: str
) -> None:
    assert verdict(new, old) == "unsure"


def test_what_a_thing_no_longer_does_may_be_a_fault_and_is_asked_about() -> None:
    old, new = "The cache is reset every night.", "The cache no longer resets every night."
    assert verdict(new, old) == "unsure"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Remember to file a ticket for each outage.", "no need to file a ticket for outages now"),
        ("Every invoice needs a purchase order.", "Invoices don't need a purchase order any more."),
        (
            "From now on ask Nils before a rollback.",
            "You can stop asking Nils before a rollback now.",
        ),
        (
            "Our queue is RabbitMQ.",
            "I told you our queue is RabbitMQ, that's wrong by now: it is NATS.",
        ),
        ("Merk dir: jede Rechnung braucht eine Nummer.", "Rechnungen brauchen keine Nummer mehr."),
        ("Retiens que la paie est validée par Zoé.", "La paie n'est plus validée par Zoé."),
        ("Recuerda que hay que firmar los commits.", "Ya no hay que firmar los commits."),
        ("Lembre que é preciso avisar o Caio.", "Não é mais preciso avisar o Caio."),
        ("Ricorda che i test vanno lanciati di notte.", "I test non vanno più lanciati di notte."),
        ("The audit is on 2027-03-04.", "The audit slipped to 2027-03-18."),
        ("The portal is called Reef.", "The portal was renamed from Reef to Shoal."),
    ],
)
def test_a_withdrawal_is_believed_whoever_is_released(old: str, new: str) -> None:
    assert verdict(new, old) == "sure"


@pytest.mark.parametrize(
    "sentence",
    [
        "Do we still deploy on Tuesdays?",
        "maybe we should no longer deploy on Tuesdays",
        "forget it",
        "forget the tests for now",
        "The linter no longer passes.",
        "My colleague does not use vim any more.",
        "no need to restart this time",
        "The README says we moved from Travis to Actions.",
    ],
)
def test_what_takes_nothing_back_is_no_correction(sentence: str) -> None:
    assert correction_in(matchable(sentence)) is None


def test_a_slot_is_one_difference_and_no_more() -> None:
    slot = slot_between("we deploy on thursdays", "we deploy on tuesdays")
    assert slot is not None
    assert (slot.new, slot.old, slot.is_whole) == (("thursdays",), ("tuesdays",), True)
    assert slot_between("they deploy on thursdays", "we deploy on tuesdays") is None
    assert slot_between("we deploy on tuesdays", "we deploy on tuesdays") is None
