"""The signs of a date only save time: without them the same dates are found."""

from datetime import datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memoryd.text import date_signs, dates
from memoryd.text import date_words as forms

NOW = datetime(2026, 3, 4)  # noqa: DTZ001 - any day does
ALL = frozenset(sign for sign, *_ in dates._RULES)
NUMBERS = ("1", "3rd", "12.", "the 14th", "2026", "in 3", "am 3.4.", "q3", "q3's")
JOINING = (
    *("in", "on", "by", "the", "this", "next", "last", "since", "of", "de", "ago", "before", "now"),
    *("after", "end", "ende", "fin", "eoq", "month-end", "monatsende", "year's-end", "quarter"),
    *("anfang", "le", "el", "la", "que viene", "prochaine", "d'", "tonight", "every", "from", "an"),
    *("vor", "hace", "il y a", "через", "назад"),
)
TABLES = (
    forms.WEEKDAYS,
    forms.SHORT_WEEKDAYS,
    forms.MONTHS,
    forms.SHORT_MONTHS,
    forms.DAY_WORDS,
    forms.NUMBERS,
    forms.UNITS,
    forms.SPANS,
)
WORDS = st.sampled_from([*NUMBERS, *JOINING, *(word for table in TABLES for word in table)])
PHRASES = st.lists(
    st.tuples(WORDS, st.sampled_from([" ", " ", " ", "", "s ", "'s ", ", ", ". ", "\n", "-"])),
    max_size=8,
).map(lambda parts: "".join(word + joint for word, joint in parts))


@settings(max_examples=300)
@given(PHRASES)
def test_the_same_dates_are_found_without_signs(text: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dates, "signs_in", lambda _: ALL)
        every = dates.dates_in(text, NOW)
    assert dates.dates_in(text, NOW) == every
    assert dates.has_dates(text, NOW) == bool(every)


@pytest.mark.parametrize("word", [word for table in TABLES[:5] for word in table])
def test_each_word_of_a_date_is_a_sign(word: str) -> None:
    assert date_signs.signs_in(f"until {word} 3")


def test_a_text_without_dates_has_no_signs() -> None:
    assert not date_signs.signs_in("the store keeps a line for each file and reads it once")
