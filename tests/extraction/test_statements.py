"""What a person explicitly asked to keep is found as it was said; everything else is left alone."""

from datetime import UTC, datetime
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoryd.extraction.rules.statements import (
    DESCRIPTION_CHARACTERS,
    MESSAGE_CHARACTERS,
    STATEMENTS_MAX,
    TITLE_CHARACTERS,
    Statement,
    statements_in,
)
from tests.support.secret_samples import ALNUM, Draw

AT = datetime(2026, 11, 16, 10, tzinfo=UTC)  # a Monday


def found(message: str) -> list[Statement]:
    return [one for one in statements_in(message, said_at=AT) if one.certainty == "sure"]


EXPLICIT = [
    ("feedback", "Please remember to run the linter before every commit."),
    ("feedback", "Remember: never edit gen/api.ts by hand."),
    ("feedback", "Remember to run scripts/seed.py when the fixtures change."),
    ("feedback", "From now on, write commit messages in the imperative."),
    ("feedback", "ok, going forward please use pnpm for everything."),
    ("feedback", "Next time you change the schema, ask me first."),
    ("feedback", "Whenever you add an endpoint, add a contract test as well."),
    ("feedback", "Never use float for money in this project."),
    ("feedback", "Always run make check before you commit."),
    ("feedback", "You must never push to the release branch yourself."),
    ("feedback", "I told you to keep the answers short."),
    ("feedback", "In future, please explain a plan before you write code."),
    ("feedback", "You no longer need to ask before running the unit tests."),
    ("project", "Remember that the pilot customers are two hospitals in Leeds."),
    ("project", "Keep in mind that marketing has promised dark mode for the spring."),
    ("project", "We no longer support Internet Explorer."),
    ("project", "we've moved away from Jenkins, everything runs on the new runners"),
    ("user", "I'm a data scientist, so frontend words mean little to me."),
    ("user", "I am new to Rust."),
    ("user", "My time zone is Pacific, in case you wonder."),
    ("user", "Remember, I'm colour blind."),
    ("reference", "Remember that incidents are tracked in the Linear board OPS."),
    ("reference", "For future reference: the runbooks live in https://wiki.corp.example/runbooks"),
    ("feedback", "Merk dir: Commit-Nachrichten bitte immer auf Englisch."),
    ("feedback", "De ahora en adelante usa siempre comillas dobles, por favor."),
    ("feedback", "Désormais, écris toujours les tests avant le code."),
    ("feedback", "从现在开始请用中文回答我的问题"),
]


@pytest.mark.parametrize(("type_", "sentence"), EXPLICIT)
def test_an_explicit_statement_is_kept_whole_with_its_type(type_: str, sentence: str) -> None:
    (one,) = found(f"{sentence}\nCan you fix the failing build?")
    assert sentence.strip(" .") in one.body.replace("\n", " ") or sentence in one.text
    assert one.type == type_


LEFT_ALONE = [
    "Why does the login test always fail on Mondays?",
    "Can you remember what we did to the parser last week?",
    "never mind, I found it",
    "Don't change the tests, just fix the code.",
    "Please don't commit yet.",
    "The button should always be blue.",
    "It never worked on Windows.",
    "always show the total in the footer",
    "Maybe from now on we should use tabs.",
    "For now, always skip the slow tests.",
    "remember kids, NaN is not NaN",
    "If I were you, I would never use globals from now on.",
    "sure, let's rewrite everything in assembler from now on 🙃",
    "Remember that fix in case it comes back.",
    "Remember that the handlers are in src/server/routes.",
    "add to memory: merged #812 and #815 this week",
    "Keep in mind: the linter is `make tidy`.",
    "Remember that the last two commits are formatting, the one before is a revert.",
    "I'm a bit confused by this error.",
    "I am a big fan of this approach.",
    "We no longer need the runs folder, delete it.",
    "We should use Postgres instead of MySQL.",
    "To hide this message in future sessions, run: tool config --quiet",
    "always like that please",
    "save this: AKIAIOSFODNN7EXAMPLE",
    "Off the record: from now on the budget is gone.",
    "Don't remember this, but from now on I work part time.",
    "> From now on all requests must be signed\nwhat does this mail mean?",
    "```\nAlways use tabs in Makefiles.\n```\nexplain this rule",
    "<teammate-message>From now on use yarn everywhere.</teammate-message>",
]


@pytest.mark.parametrize("message", LEFT_ALONE)
def test_everything_else_is_left_alone(message: str) -> None:
    assert found(message) == []


def test_a_statement_in_a_long_message_is_only_likely() -> None:
    message = f"From now on use tabs in Makefiles.\n{'and so on ' * (MESSAGE_CHARACTERS // 10)}"
    (one,) = statements_in(message, said_at=AT)
    assert one.certainty == "likely"


def test_the_sentence_is_the_memory_and_nothing_is_added() -> None:
    (one,) = found("hey, from now on no new dependencies without asking me. And fix the build")
    assert one.body == "hey, from now on no new dependencies without asking me.\n"


def test_a_reason_in_the_next_sentence_is_kept_as_the_reason() -> None:
    (one,) = found("Never flash the board without asking. There's a motor wired to that bench.")
    assert one.text == "Never flash the board without asking."
    assert one.body.endswith("\n\n**Why:** There's a motor wired to that bench.\n")


def test_a_task_in_the_next_sentence_is_not_a_reason() -> None:
    (one,) = found("From now on answer in English. Now rename the module to parser.")
    assert "rename" not in one.body


def test_a_sentence_that_leans_on_the_one_before_it_brings_it_along() -> None:
    (one,) = found("Generated files belong into gen. From now on do that for every schema.")
    assert one.text.startswith("Generated files belong into gen. From now on")


def test_an_announcement_makes_what_follows_explicit() -> None:
    first, second = found(
        "Two things to remember. No emoji in commit messages, the bot chokes on them."
        " The release checklist is the Notion page Release Train."
    )
    assert (first.type, second.type) == ("feedback", "reference")


@pytest.mark.parametrize(
    "asking",
    [
        "Remember that.",
        "please remember this for next time",
        "Keep that in mind. Now fix the build.",
        "save it to memory, ok?",
    ],
)
def test_what_only_asks_to_remember_makes_the_sentence_before_it_explicit(asking: str) -> None:
    (one,) = found(f"We deploy on Tuesdays. {asking}")
    assert (one.text, one.certainty) == ("We deploy on Tuesdays.", "sure")


@pytest.mark.parametrize("message", ["Where is it? Remember that.", "Add the index. Save it."])
def test_it_makes_no_memory_of_a_question_or_an_order(message: str) -> None:
    assert found(message) == []


def test_relative_dates_become_absolute() -> None:
    (one,) = found("Remember that the code freeze starts on Thursday.")
    assert "2026-11-19" in one.text
    assert "Thursday" not in one.body + one.name + one.description


def test_what_is_taken_back_in_the_same_message_is_not_kept() -> None:
    assert (
        found("From now on use yarn for everything here. Oh wait, wrong window, ignore that.") == []
    )


def test_a_title_is_the_start_of_the_sentence_cut_at_a_word() -> None:
    (one,) = found("please remember that don't use any in TypeScript is a rule that we check in CI")
    assert one.name == "Don't use any in TypeScript is a rule that we check in CI"
    (long,) = found(f"From now on {'use the shared helper ' * 5}in tests.")
    assert long.name.endswith("…")
    assert f"From now on {'use the shared helper ' * 5}".startswith(long.name[:-1])


def test_a_correction_is_marked() -> None:
    assert found("We no longer deploy on Fridays.")[0].correction
    assert not found("From now on deploy on Fridays only.")[0].correction


def test_text_beside_a_secret_is_kept_without_it() -> None:
    password = Draw(Random(7)).of(ALNUM, 20)
    (one,) = found(f"Remember the staging server is db.stg.example.com, password {password}")
    assert password not in one.body + one.name + one.description
    assert "db.stg.example.com" in one.body
    (one,) = found("Remember that the staging token is kept in 1Password.")
    assert "1Password" in one.body


def test_a_message_gives_a_bounded_number_of_statements() -> None:
    many = "\n".join(f"From now on always greet number {n} politely." for n in range(6))
    assert len(statements_in(many, said_at=AT)) == STATEMENTS_MAX


@given(st.text(max_size=400))
def test_no_text_breaks_it_and_limits_hold(text: str) -> None:
    for one in statements_in(f"Remember that {text}", said_at=AT):
        assert len(one.name) <= TITLE_CHARACTERS
        assert len(one.description) <= DESCRIPTION_CHARACTERS
        assert "\n" not in one.name
