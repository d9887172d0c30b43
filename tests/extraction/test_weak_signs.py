"""What waits in the inbox: sentences that may last, and none that plainly do not."""

from datetime import UTC, datetime

import pytest

from memoryd.extraction.rules.statements import MAYBES_MAX, statements_in

pytestmark = pytest.mark.rules
NOW = datetime(2026, 11, 16, 9, 0, tzinfo=UTC)


def maybe(message: str) -> list[str]:
    return [one.text for one in statements_in(message, said_at=NOW) if one.certainty == "maybe"]


@pytest.mark.parametrize(
    "sentence",
    [
        "We use pnpm for everything in the web client.",
        "I prefer small commits with one purpose each.",
        "Make sure the changelog is updated with every change.",
        "Our staging cluster is shared with the data team.",
        "The release notes live in the team drive.",
        "The code freeze starts with the beta.",
        "Please don't touch the vendored code.",
        "Wir verwenden hier nur Tabs zum Einrücken.",
        "Nous utilisons toujours le fuseau horaire de Paris.",
        "我们使用 pnpm 管理依赖。",
    ],
)
def test_a_sentence_with_a_weak_sign_is_offered(sentence: str) -> None:
    assert maybe(sentence) == [sentence]


@pytest.mark.parametrize(
    "sentence",
    [
        "Fix the failing login test.",
        "Do we use pnpm here?",
        "Maybe we should always run the linter.",
        "Don't.",
        "Just for now, don't run the tests.",
        "The button should always be visible.",
        "I never saw that line in src/app.py before.",
        "Always " + "and always " * 60,
        "",
    ],
)
def test_what_plainly_does_not_last_is_not_offered(sentence: str) -> None:
    assert maybe(sentence) == []


def test_an_explicit_statement_is_not_offered_too() -> None:
    found = statements_in("From now on, always use tabs in Makefiles.", said_at=NOW)
    assert [one.certainty for one in found] == ["sure"]


def test_a_message_gives_only_a_few() -> None:
    message = " ".join(f"We use {name} for the {name} jobs." for name in "abcdefgh")
    assert len(maybe(message)) == MAYBES_MAX


def test_a_long_message_gives_only_what_is_explicit() -> None:
    padding = "The log of the last run follows in the attachment. " * 40
    found = statements_in(
        f"{padding}From now on, run make check before every commit. We use pnpm everywhere.",
        said_at=NOW,
    )
    assert [one.certainty for one in found] == ["likely"]


def test_a_secret_never_waits() -> None:
    token = "ghp_" + "aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3zA5"
    assert all(token not in text for text in maybe(f"We use {token} to deploy the staging site."))
