"""200 explicit statements in ordinary messages: what a person asked to keep is kept, whole."""

import json
import re
from datetime import UTC, datetime
from pathlib import Path

from memoryd.extraction.rules.statements import Statement, statements_in

ROWS = [
    json.loads(line)
    for line in (Path(__file__).parent.parent / "data/explicit_statements.jsonl")
    .read_text(encoding="utf-8")
    .splitlines()
]
SAID_AT = datetime(2026, 11, 17, 10, tzinfo=UTC)


def words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.casefold()))


def sure(message: str) -> list[Statement]:
    return [one for one in statements_in(message, said_at=SAID_AT) if one.certainty == "sure"]


def test_nearly_every_explicit_statement_is_saved_whole_and_nothing_else() -> None:
    saved = right_type = others = 0
    for row in ROWS:
        found = sure(row["message"])
        whole = [one for one in found if words(row["statement"]) <= words(one.text)]
        saved += bool(whole)
        right_type += bool(whole) and whole[0].type == row["type"]
        others += len(found) - len(whole)
    assert len(ROWS) == 200
    assert saved >= 190
    assert right_type >= 180
    assert others <= 2


def test_reminding_of_something_does_not_take_back_what_was_said_before() -> None:
    message = "From now on use tabs. Don't forget that the demo has to work offline."
    assert [one.text for one in sure(message)] == [
        "From now on use tabs.",
        "Don't forget that the demo has to work offline.",
    ]


def test_asking_to_remember_that_keeps_the_sentence_before() -> None:
    message = "The rota is in PagerDuty, team Core. Remember that. Now fix the header."
    assert [(one.type, one.text) for one in sure(message)] == [
        ("reference", "The rota is in PagerDuty, team Core.")
    ]


def test_the_next_order_is_not_a_reason() -> None:
    (one,) = sure("We no longer support Firefox 60. So please remove the shim.")
    assert one.reason == ""
