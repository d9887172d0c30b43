"""What was pasted into a typed prompt is never surely the person's, whatever its form."""

from datetime import UTC, datetime

import pytest

from memoryd.extraction.rules.foreign_text import may_be_anothers
from memoryd.extraction.rules.statements import statements_in
from tests.support.provenance_corpus import Paste, pastes

NOON = datetime(2026, 11, 17, 12, tzinfo=UTC)


PASTES = pastes()


@pytest.mark.parametrize("paste", PASTES, ids=lambda one: one.form)
def test_no_pasted_statement_is_sure(paste: Paste) -> None:
    found = statements_in(paste.prompt, said_at=NOON)
    assert not [one.text for one in found if one.certainty == "sure"]


def test_there_are_sixty_forms() -> None:
    assert len({one.form for one in PASTES}) >= 60


@pytest.mark.parametrize(
    "typed",
    [
        "From now on answer in English.",
        "remember: the staging box is reset every night",
        "always run the linter first. also rename the module to parser",
        "please remember that I review on Mondays\nand fix the failing import",
        "never push to main without asking me, ok?",
        "npm run build prints a hundred warnings, from now on treat warnings as errors in CI",
    ],
)
def test_what_people_type_shows_no_other_voice(typed: str) -> None:
    assert not may_be_anothers(typed)
