"""Words and their numbers in few bytes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoryd.recall.rules.background import rates_in
from memoryd.recall.rules.word_list import ABSENT, WordList

pytestmark = pytest.mark.rules

WORDS = st.text(st.characters(exclude_characters="\n", exclude_categories=["Cs"]), min_size=1)


@given(st.lists(WORDS, unique=True), st.text())
def test_a_list_knows_its_words_as_a_dict_does(words: list[str], other: str) -> None:
    made = WordList("\n".join(words))
    known = {word: number for number, word in enumerate(words)}
    assert list(made) == words
    assert [made.number_of(word) for word in words] == [*range(len(words))]
    assert made.number_of(other) == known.get(other, ABSENT)


def test_two_words_with_one_hash_are_told_apart() -> None:
    words = ("plumless", "buckeroo")  # the CRC-32 of both is 0x4ddb0c25
    assert [WordList(word).number_of(other) for word in words for other in words] == [0, -1, -1, 0]
    assert [WordList("\n".join(words)).number_of(word) for word in words] == [0, 1]


def test_an_empty_line_has_a_number_and_is_not_a_word() -> None:
    made = WordList("a\n\nb\n")
    assert (len(made), made.number_of("b"), made.number_of("")) == (3, 2, ABSENT)
    assert WordList("").number_of("a") == ABSENT


def test_a_word_on_two_lines_is_an_error() -> None:
    with pytest.raises(ValueError, match="two lines"):
        WordList("a\nb\n\n\na\n")


def test_half_a_character_is_in_no_list() -> None:
    assert WordList("a").number_of("\udc80") == ABSENT


def test_rates_are_those_of_the_class_of_a_term() -> None:
    rates = rates_in("0 use\n10 kiln glaze\n")
    assert dict(rates) == {"use": 1.0, "kiln": 1.25**-10, "glaze": 1.25**-10}
    assert rates.get("absent", 0.0) == 0.0
