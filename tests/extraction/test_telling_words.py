"""Which words count as forms of one."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from memoryd.extraction.rules.telling_words import has_word, reading_of

words = st.text("aeionrs1", min_size=1, max_size=8)


@given(st.lists(words, max_size=6), words)
@example(["owner"], "own")
@example(["own"], "owner")
@example(["no"], "noes")
def test_a_word_is_in_a_list_if_it_is_a_form_of_one_of_them_or_one_of_them_of_it(
    stems: list[str], one: str
) -> None:
    assert has_word(stems, one) == any(has_word([one], stem) for stem in stems)


@pytest.mark.parametrize(
    ("one", "other"),
    [("own", "owner"), ("explain", "explan"), ("retri", "retries"), ("deploy", "deploy")],
)
def test_forms_of_one_word_are_the_same(one: str, other: str) -> None:
    assert has_word([other], one)


@pytest.mark.parametrize(("one", "other"), [("no", "noes"), ("12", "123"), ("tests", "rests")])
def test_other_words_are_not(one: str, other: str) -> None:
    assert not has_word([other], one)


def test_each_stem_is_told_once() -> None:
    assert reading_of("the linter checks what the linter wrote").stems.count("linter") == 1
