"""Numbers and word lists that open something: payment cards, social security numbers, seed phrases.

1. A card number has a known brand's length and prefix, its check digit is right, and it is written
   in one piece or in groups of four. Few different digits make it an example.
2. A social security number needs its name before it: three groups of digits are common.
3. A seed phrase is 12, 15, 18, 21 or 24 short lower-case words, after its name or alone on a line
   or in quotes; a sentence has small words in between, a list is in order, and the words of a seed
   phrase differ in their first four letters.
"""

import re
from collections.abc import Collection, Iterator
from itertools import pairwise
from typing import Final

from memoryd.text.lazy_regex import late
from memoryd.text.masking.anchors import matches_at
from memoryd.text.masking.runs import has_digits, has_words
from memoryd.text.masking.words import set_of_words

_CARD = late(
    r"(?<![\w.+/-])(?P<secret>(?:4\d{3}|5[1-5]\d\d|2[2-7]\d\d|6011|65\d\d)(?P<gap>[ -]?)"
    r"\d{4}(?P=gap)\d{4}(?P=gap)\d{4}|3[47]\d\d(?P<amex>[ -]?)\d{6}(?P=amex)\d{5})(?![\w-]|\.\d)"
)
_SOCIAL = late(
    r"""(?:ssn|social[ ]security(?:[ ](?:number|no\.?|\#))?)\\{0,2}["'`]?(?:[ ](?:is|was))?[ ]?
        [:=]?[ ]?\\{0,2}["'`]?(?P<secret>(?!000|666|9)\d{3}[- ](?!00)\d\d[- ](?!0000)\d{4})
        (?!\w)""",
    re.VERBOSE,
)
_WORDS = r"[a-z]{3,8}(?:[ ,]{1,2}[a-z]{3,8}){11,23}"
_SEED_NAME = late(
    rf"""(?:seed(?:[ _-]?(?:phrase|words))?|mnemonic|(?:recovery|secret|backup)[ _-]phrase)
         \\{{0,2}}["'`]?(?:[ ](?:is|was))?[ ]?[:=]?\s?\\{{0,2}}["'`]?
         (?P<secret>{_WORDS})(?![a-z])""",
    re.VERBOSE,
)
_LONE_SEED = late(
    r"(?:^|[\"'`:\t])[ ]?(?P<secret>[a-z]{3,8}(?: [a-z]{3,8}){11,23})[ ]?(?:$|[\"'`\\])",
    re.MULTILINE,
)
_DIGIT_RUN = late(r"[0-9]{4}[ -]?[0-9]{4}")
_SMALL_WORDS: Final = set_of_words(
    """
    the and for not are was has had its with from this that then than but they them there were been
    will would can could may might must should have does did when what which who whom whose why how
    where into onto over under because while after before also very just only such each both some
    any one two three four five six seven eight nine ten eleven twelve our your their his her
    """
)
# Small letters and blanks as one character; the rest as it is.
_FLAT: Final = bytes(97 if chr(at) in "abcdefghijklmnopqrstuvwxyz " else at for at in range(256))
_SEED_RUN: Final = b"a" * (12 * 3 + 11)
_SEED_WORDS: Final = frozenset({"seed", "mnemonic", "phrase"})
# What the name of a seed phrase begins with.
_SEED_NAMES: Final = ("seed", "mnemonic", "recovery", "secret", "backup")
_SOCIAL_NAMES: Final = ("ssn", "social security")
NUMBER_ANCHORS: Final = _SEED_WORDS | {*_SOCIAL_NAMES}
_SEED_LENGTHS: Final = frozenset({12, 15, 18, 21, 24})


def numbered_in(
    text: str, lowered: str, present: Collection[str]
) -> Iterator[tuple[str, int, int]]:
    """Kind, start and end of every card, social security number and seed phrase."""
    if has_digits(text):
        for digits in _DIGIT_RUN.finditer(text):
            match = _CARD.match(text, digits.start())
            if match and is_card(match["secret"]):
                yield "card-number", *match.span("secret")
    if "ssn" in present or "social security" in present:
        for match in matches_at(_SOCIAL_NAMES, _SOCIAL, lowered):
            yield "social-security-number", *match.span("secret")
    if not _SEED_WORDS.isdisjoint(present):
        for match in matches_at(_SEED_NAMES, _SEED_NAME, lowered):
            if _SMALL_WORDS.isdisjoint(match["secret"].replace(",", " ").split()):
                yield "seed-phrase", *match.span("secret")
    if has_words(text):
        yield from _lone_seeds(text)


def _lone_seeds(text: str) -> Iterator[tuple[str, int, int]]:
    # One byte for each character, so that a place in it is a place in the text.
    for start, end in _wordy_lines(text.encode("ascii", "replace").translate(_FLAT)):
        for match in _LONE_SEED.finditer(text[start:end]):
            if _is_seed(match["secret"].split(" ")):
                found = match.span("secret")
                yield "seed-phrase", start + found[0], start + found[1]


def _wordy_lines(flat: bytes) -> Iterator[tuple[int, int]]:
    """The lines in which so many small letters and blanks follow each other as a seed has."""
    at = flat.find(_SEED_RUN)
    while at >= 0:
        end = flat.find(b"\n", at)
        end = len(flat) if end < 0 else end
        yield flat.rfind(b"\n", 0, at) + 1, end
        at = flat.find(_SEED_RUN, end)


def is_card(number: str) -> bool:
    digits = [int(digit) for digit in number if digit.isdecimal()]
    doubled = (digit * (1 + at % 2) for at, digit in enumerate(reversed(digits)))
    return len(set(digits)) > 3 and sum(each - 9 * (each > 9) for each in doubled) % 10 == 0


def _is_seed(words: list[str]) -> bool:
    return (
        len(words) in _SEED_LENGTHS
        and _SMALL_WORDS.isdisjoint(words)
        and not all(one <= other for one, other in pairwise(words))
        and len({word[:4] for word in words}) == len(words)
    )
