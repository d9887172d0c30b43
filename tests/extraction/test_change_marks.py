"""Looking for words first finds the same marks of change as the patterns alone."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoryd.extraction.rules import change_marks

MARKS = {
    "now": (change_marks._NOW, change_marks._now_words()),
    "no more": (change_marks._NO_MORE, change_marks._no_more_words()),
}


def _found_by(pattern: re.Pattern[str]) -> st.SearchStrategy[str]:
    return st.from_regex(re.compile(pattern.pattern)).filter(
        lambda text: pattern.search(text) is not None
    )


@pytest.mark.parametrize("name", MARKS)
@given(data=st.data())
def test_a_text_with_a_mark_holds_one_of_its_words(name: str, data: st.DataObject) -> None:
    pattern, words = MARKS[name]
    assert words.present_in(data.draw(_found_by(pattern)))


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("we deploy on fridays now", "now"),
        ("the port has changed", "now"),
        ("voortaan gebruiken we bun", "now"),
        ("теперь мы используем bun", "now"),
        ("we no longer use yarn", "ended"),
        ("stop using yarn", "ended"),
        ("on ne lance plus les tests", "ended"),
        ("you dont need to run it", "ended"),
    ],
)
def test_a_mark_of_change_is_seen(text: str, kind: str) -> None:
    assert kind in {change.kind for change in change_marks.changes_in(text)}
