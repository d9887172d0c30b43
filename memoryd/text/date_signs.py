"""What a text must have before a form of a date can match: few texts have any.

A sign is a word, a digit or a part of a word that every match of the form has. It only saves time:
with and without it `dates` finds the same. A word or a form that is added to `date_words` needs a
sign here, unless the word is in one of the tables.
"""

from collections.abc import Iterable
from typing import Final, Literal

from memoryd.text import date_words as forms
from memoryd.text.lazy_regex import late

Sign = Literal[
    "day",
    "night",
    "weekday",
    "unit",
    "span",
    "end of span",
    "month",
    "day of month",
    "numbered",
    "ordinal",
    "q1",
]

_WORD = late(r"\w+")
_DIGIT = late(r"\d")
_NUMBERED = late(r"\d\.\d{1,2}\.")
_ORDINAL = late(r"\bthe [1-3]?\d(?:st|nd|rd|th)")
_SPAN_STEMS: Final = ("onth", "uarter", "ear", "onats", "uartals", "ahres")


def _parts(words: Iterable[str]) -> frozenset[str]:
    """The last part of each: a match has all of them, as words of their own."""
    return frozenset(_WORD.findall(word)[-1] for word in words)


_DAYS: Final = _parts(forms.DAY_WORDS)
# The plural has no apostrophe, so it is another word.
_SIGN_OF_WORD: Final[tuple[tuple[frozenset[str], Sign], ...]] = (
    (_DAYS | {f"{day}s" for day in _DAYS}, "day"),
    (frozenset(("tonight",)), "night"),
    (_parts(forms.WEEKDAYS | forms.SHORT_WEEKDAYS), "weekday"),
    (_parts(forms.UNITS), "unit"),
    (_parts(forms.SPANS), "span"),
    (frozenset(("eow", "eom", "eoq", "eoy")), "end of span"),
    (_parts(forms.MONTHS), "month"),
    (frozenset(("q1", "q2", "q3", "q4")), "q1"),
)
_ANY_MONTH: Final = _parts(forms.MONTHS | forms.SHORT_MONTHS)
_ALL_WORDS: Final = _ANY_MONTH.union(*(words for words, _ in _SIGN_OF_WORD))
_UNITS: Final = _parts(forms.UNITS)
# "two weeks", and "in a week" where the word for "in" stands alone.
_BEFORE_A_UNIT: Final = _parts(forms.NUMBERS) | {"через", "za"}


def signs_in(text: str) -> frozenset[Sign]:
    """The signs of a plain text."""
    listed = _WORD.findall(text)
    words = _ALL_WORDS.intersection(listed)
    found: set[Sign] = {sign for those, sign in _SIGN_OF_WORD if not those.isdisjoint(words)}
    if "unit" in found and not any(map(_is_counted, listed, listed[1:])):
        found.remove("unit")
    if "end" in text and any(stem in text for stem in _SPAN_STEMS):
        found.add("end of span")
    if _DIGIT.search(text):
        if _NUMBERED.search(text):
            found.add("numbered")
        if _ORDINAL.search(text):
            found.add("ordinal")
        if not _ANY_MONTH.isdisjoint(words):
            found.add("day of month")
    return frozenset(found)


def _is_counted(word: str, unit: str) -> bool:
    return unit in _UNITS and (word in _BEFORE_A_UNIT or word.isdecimal())
