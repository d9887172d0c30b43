"""The short code that brings a new machine to a person's others.

Rules
- Twenty characters in groups of five: nineteen are random (95 bits, which nobody guesses), the last
  one is a check, so that a slip of the finger is told from a code that has expired.
- The alphabet has no I, L, O or U. What is typed may have small letters, spaces and dashes, and
  I, L and O for what they look like.
"""

import hashlib
from collections.abc import Sequence
from typing import Final

from memoryd.base.errors import InvalidInput

ALPHABET: Final = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
RANDOM_CHARACTERS: Final = 19
LIFETIME_SECONDS: Final = 600
_LOOKS_LIKE: Final = str.maketrans({"I": "1", "L": "1", "O": "0"})


def code_of(numbers: Sequence[int]) -> str:
    """The code that these random numbers, one for each character, make."""
    body = "".join(ALPHABET[number % 32] for number in numbers[:RANDOM_CHARACTERS])
    return shown_code(body + _check(body))


def shown_code(code: str) -> str:
    return "-".join(code[at : at + 5] for at in range(0, len(code), 5))


def read_code(typed: str) -> str:
    """The code without its dashes; InvalidInput for one that cannot be right."""
    code = "".join(typed.upper().split()).replace("-", "").translate(_LOOKS_LIKE)
    if len(code) != RANDOM_CHARACTERS + 1 or any(one not in ALPHABET for one in code):
        raise InvalidInput(
            "that is not a code: it has twenty letters and digits, such as 7KQ2M-...",
            "memoryd device add, on a machine that you have already, prints one",
        )
    if _check(code[:-1]) != code[-1]:
        raise InvalidInput(
            "a character of the code is wrong", "look at it again, and type it again"
        )
    return code


def _check(body: str) -> str:
    return ALPHABET[hashlib.sha256(body.encode()).digest()[0] % 32]
