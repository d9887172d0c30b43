"""Whether a text has a long run of digits or of words, since some secrets need one."""

from functools import cache
from string import ascii_lowercase, digits
from typing import Final

_DIGITS: Final = bytes(48 if chr(at) in digits else 32 for at in range(256))
_DIGIT_RUN: Final = b"0000"
# Twelve words of three letters with a blank between them.
_WORDS_CHARS: Final = 12 * 3 + 11
_SMALL, _BLANK = 1, 2  # bits
_WORDS: Final = bytes(
    _SMALL * (chr(at) in f"{ascii_lowercase} ") + _BLANK * (chr(at) == " ") for at in range(256)
)
_MANY: Final = 64 * 1024


def has_digits(text: str) -> bool:
    """Whether four digits follow each other."""
    return _DIGIT_RUN in text.encode("ascii", "replace").translate(_DIGITS)


def has_words(text: str) -> bool:
    """Whether there are 47 small letters and blanks, with three letters or more between blanks.

    A seed phrase needs as many. Each character is a byte, and the text one large number: it and
    itself, shifted by one character, have those places in common at which two letters follow each
    other; that, and that shifted by two, where four do.
    """
    if len(text) < _WORDS_CHARS:
        return False
    # A byte for each character, so that no character looks like two.
    kinds = int.from_bytes(text.encode("ascii", "replace").translate(_WORDS), "little")
    small = kinds & _every(_SMALL, len(text))
    if not _has_run(small):
        return False
    blanks = kinds & _every(_BLANK, len(text))
    too_soon = blanks & (blanks >> 8 | blanks >> 16 | blanks >> 24)
    return _has_run(small ^ (too_soon >> 1))


def _has_run(places: int) -> bool:
    """Whether 47 bytes in a row are not 0: two, four, eight, 16, 32, and 15 more."""
    places &= places >> 8
    places &= places >> 16
    places &= places >> 32
    places &= places >> 64
    places &= places >> 128
    return places & places >> 120 != 0


def _every(kind: int, characters: int) -> int:
    """A number with the bit of this kind in as many bytes, or more."""
    return _many(kind) if characters <= _MANY else _number_of(kind, characters)


@cache
def _many(kind: int) -> int:
    return _number_of(kind, _MANY)


def _number_of(kind: int, characters: int) -> int:
    return int.from_bytes(bytes([kind]) * characters, "little")
