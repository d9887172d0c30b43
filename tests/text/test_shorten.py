"""A shortened text fits and says that it is cut; one that fits is not changed."""

from hypothesis import given
from hypothesis import strategies as st

from memoryd.text.decode import decoded
from memoryd.text.shorten import (
    cut_at_line,
    cut_at_line_bytes,
    cut_at_word,
    cut_middle,
    one_line,
)

LIMITS = st.integers(min_value=4, max_value=50)


@given(st.text(), LIMITS)
def test_a_text_cut_at_a_word_fits_and_ends_in_an_ellipsis(text: str, characters: int) -> None:
    short = cut_at_word(text, characters)
    assert len(short) <= characters
    assert short == text if len(text) <= characters else short.endswith("…")


def test_a_cut_goes_between_words_and_leaves_no_comma() -> None:
    assert cut_at_word("one, two three", 10) == "one, two…"
    assert cut_at_word("one, two three", 9) == "one…"
    assert cut_at_word("incomprehensible", 9) == "incompre…"


@given(st.text(), LIMITS)
def test_a_cut_in_the_middle_is_marked(text: str, characters: int) -> None:
    short = cut_middle(text, characters)
    assert short == text if len(text) <= characters else "characters cut" in short


def test_lines_are_kept_whole_where_they_can_be() -> None:
    assert cut_at_line("one\ntwo\nthree", 9, "(cut)") == "one\ntwo\n(cut)"
    assert cut_at_line("incomprehensible", 9, "(cut)") == "incompreh\n(cut)"
    assert cut_at_line("one\ntwo", 9, "(cut)") == "one\ntwo"


@given(st.text(), LIMITS)
def test_what_is_cut_to_bytes_fits_and_is_the_beginning(text: str, limit_bytes: int) -> None:
    short = cut_at_line_bytes(text, limit_bytes)
    assert len(short.encode("utf-8", "replace")) <= limit_bytes
    assert text.startswith(short)


def test_bytes_are_cut_after_the_last_whole_line() -> None:
    assert cut_at_line_bytes("é\né\né\n", 7) == "é\né\n"
    assert cut_at_line_bytes("ééé", 5) == "éé"


def test_one_line_has_single_spaces() -> None:
    assert one_line(" a\n\tb  c ") == "a b c"


@given(st.binary())
def test_any_bytes_become_text(data: bytes) -> None:
    assert decoded(data).encode().decode() == decoded(data)
