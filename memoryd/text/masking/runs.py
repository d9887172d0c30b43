"""Whether a text has a long run of digits or of words, since some secrets need one."""

from functools import cache
from typing import Final

_DIGITS: Final = bytes(
    48 if chr(at) in "0123456789" else 45 if chr(at) in " -" else 46 for at in range(256)
)
_DIGIT_RUNS: Final = (b"00000000", b"0000-0000")
# Twelve words of three letters with a blank between them.
_WORDS_CHARS: Final = 12 * 3 + 11
_LETTERS: Final = bytes(97 if chr(at) in "abcdefghijklmnopqrstuvwxyz " else 46 for at in range(256))
_LETTERS_IN_A_ROW: Final = b"a" * _WORDS_CHARS
_SMALL, _BLANK, _EDGE = 1, 2, 4  # bits
_WORDS: Final = bytes(
    _SMALL * (chr(at) in "abcdefghijklmnopqrstuvwxyz ")
    + _BLANK * (chr(at) == " ")
    + _EDGE * (chr(at) in "\n\t\"'`:")
    for at in range(256)
)
_MANY: Final = 64 * 1024


def has_digits(text: str) -> bool:
    """Whether eight digits follow each other, perhaps with a blank or a hyphen in the middle."""
    flat = text.encode("ascii", "replace").translate(_DIGITS)
    return b"0000" in flat and any(run in flat for run in _DIGIT_RUNS)


def has_words(text: str) -> bool:
    """Whether words follow each other as in a seed phrase that stands alone.

    These are 47 small letters and blanks with three letters or more between blanks, after the
    beginning of a line, a tab, a quote or a colon. Each character is a byte, and the text one large
    number: it and itself, shifted by one character, have those places in common at which two
    letters follow each other; that, and that shifted by two, where four do.
    """
    # A byte for each character, so that no character looks like two.
    data = text.encode("ascii", "replace")
    if _LETTERS_IN_A_ROW not in data.translate(_LETTERS):
        return False
    kinds = int.from_bytes(data.translate(_WORDS), "little")
    small = kinds & _every(_SMALL, len(text))
    blanks = kinds & _every(_BLANK, len(text))
    too_soon = blanks & (blanks >> 8 | blanks >> 16 | blanks >> 24)
    after_edges = (kinds & _every(_EDGE, len(text))) >> 2 << 8 | 1
    return _runs(small ^ too_soon >> 1) & after_edges != 0


def _runs(places: int) -> int:
    """Where 47 bytes in a row are 1: two, four, eight, 16, 32, and 15 more."""
    places &= places >> 8
    places &= places >> 16
    places &= places >> 32
    places &= places >> 64
    places &= places >> 128
    return places & places >> 120


def _every(kind: int, characters: int) -> int:
    """A number with the bit of this kind in as many bytes, or more."""
    return _many(kind) if characters <= _MANY else _number_of(kind, characters)


@cache
def _many(kind: int) -> int:
    return _number_of(kind, _MANY)


def _number_of(kind: int, characters: int) -> int:
    return int.from_bytes(bytes([kind]) * characters, "little")
