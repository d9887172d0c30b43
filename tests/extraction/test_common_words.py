"""A memory that shares no key with a statement has nothing to do with it, by any rule."""

import json
from itertools import product
from pathlib import Path

import pytest

from memoryd.extraction.rules.common_words import keys_of_memory, keys_of_statement
from memoryd.extraction.rules.contradiction import strongest
from memoryd.extraction.rules.restatement import relation_of
from memoryd.text.prose import matchable

pytestmark = pytest.mark.rules

DATA = Path(__file__).parent.parent / "data"


def sentences() -> list[str]:
    """Everything that the collections of corrections say, old and new."""
    found: list[str] = []
    for name in ("corrections.jsonl", "later_corrections.jsonl"):
        for line in (DATA / name).read_text(encoding="utf-8").splitlines():
            for value in json.loads(line).values():
                found += value if isinstance(value, list) else [value]
    return sorted({one for one in found if isinstance(one, str) and " " in one})


def test_no_rule_relates_texts_without_a_common_key() -> None:
    texts = sentences()
    assert len(texts) > 200
    said = {one: keys_of_statement(frozenset({matchable(one)}), one, one) for one in texts[::3]}
    memories = {one: keys_of_memory(one) for one in texts[1::5]}
    apart = 0
    for new, old in product(said, memories):
        if said[new].isdisjoint(memories[old]):
            apart += 1
            if apart % 7 == 0:  # a part of them, for time
                readings = {matchable(new)}
                assert strongest(readings, old, is_stated=True, around=new) == "none", (new, old)
                assert relation_of(new, old) == "other", (new, old)
    assert apart > len(said) * len(memories) / 2


@pytest.mark.parametrize(
    ("new", "old"),
    [
        ("Actually no, use spaces.", "Always indent with tabs."),
        ("Wir nutzen Jenkins nicht mehr.", "We use Jenkins."),
        ("The owner of it is Ana now.", "Bob owns it."),
        ("Answer in German from now on.", "Bitte antworte auf Deutsch."),
        ("Two retries are enough now.", "There are 2 retries."),
        ("We deploy on Thursdays now.", "We deploy on Tuesdays."),
    ],
)
def test_forms_and_values_of_one_kind_have_a_common_key(new: str, old: str) -> None:
    assert not keys_of_statement(frozenset({matchable(new)}), new, "").isdisjoint(
        keys_of_memory(old)
    )
