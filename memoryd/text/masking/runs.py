"""Which long runs of characters a text has, since some secrets need one.

All kinds of runs are told at once. Each character is a byte with a bit for each kind it belongs to,
and the text is one large number: it and itself, shifted by one character, have those places in
common at which two of a kind follow each other; that, and that shifted by two, where four do.
"""

from functools import cache
from string import ascii_letters, ascii_lowercase, digits
from typing import Final

import msgspec

_SMALL, _DIGIT, _VALUE, _BLANK = 1, 2, 4, 8
_KINDS: Final = bytes(
    _SMALL * (chr(at) in f"{ascii_lowercase} ")
    + _DIGIT * (chr(at) in digits)
    + _VALUE * (chr(at) in f"{ascii_letters}{digits}_-")
    + _BLANK * (chr(at) == " ")
    for at in range(256)
)
_MANY_CHARS: Final = 64 * 1024


class Runs(msgspec.Struct, frozen=True):
    """The runs that a text has.

    `words`: 47 small letters and blanks, no two blanks next to each other or around one or two
    letters, as twelve words of a seed phrase have. `digits`: eight of them, with a sign after the
    fourth or without. `value`: 20 letters, digits, hyphens and underscores.
    """

    words: bool
    digits: bool
    value: bool


def runs_in(text: str) -> Runs:
    # A byte for each character, so that none of two bytes looks like a run of two.
    once = int.from_bytes(text.encode("ascii", "replace").translate(_KINDS), "little")
    of_4 = _of_4(once)
    of_8 = of_4 & _later(of_4, 4)
    of_16 = of_8 & _later(of_8, 8)
    characters = len(text)
    return Runs(
        words=_has(_of_47(of_16), _SMALL, characters) and _has_long_words(once, characters),
        digits=_has(of_8 | of_4 & _later(of_4, 5), _DIGIT, characters),
        value=_has(of_16 & _later(of_16, 4), _VALUE, characters),
    )


def _of_4(once: int) -> int:
    of_2 = once & _later(once, 1)
    return of_2 & _later(of_2, 2)


def _of_47(of_16: int) -> int:
    of_32 = of_16 & _later(of_16, 16)
    return of_32 & _later(of_32, 15)


def _has_long_words(once: int, characters: int) -> bool:
    """Whether there is a run of words without a blank that another one follows too soon."""
    blanks = once & _every(_BLANK, characters)
    soon = blanks & (_later(blanks, 1) | _later(blanks, 2) | _later(blanks, 3))
    small = (once & _every(_SMALL, characters)) ^ (soon >> 3)
    of_4 = _of_4(small)
    of_8 = of_4 & _later(of_4, 4)
    return _of_47(of_8 & _later(of_8, 8)) != 0


def _later(places: int, characters: int) -> int:
    return places >> (8 * characters)


def _has(places: int, kind: int, characters: int) -> bool:
    return bool(places) and places & _every(kind, characters) != 0


def _every(kind: int, characters: int) -> int:
    """A number with the bit of this kind in as many bytes, or more."""
    return _many(kind) if characters <= _MANY_CHARS else _number_of(kind, characters)


@cache
def _many(kind: int) -> int:
    return _number_of(kind, _MANY_CHARS)


def _number_of(kind: int, characters: int) -> int:
    return int.from_bytes(bytes([kind]) * characters, "little")
