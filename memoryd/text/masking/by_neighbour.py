"""Secrets given away by a word for a login on the same line, in no form that anybody listed.

1. The line speaks of a password, a login or credentials, in words or in the name of a command.
2. The value is one that people choose or machines generate and nobody writes for another reason:
   letters with three digits or with a sign among them. Names in code, ids, hashes, dates, versions,
   paths and addresses are not.
3. Plain words are never taken here: they need a slot.
"""

import re
from collections.abc import Iterator
from typing import Final

from memoryd.text.lazy_regex import late
from memoryd.text.masking import values

_MENTION = late(
    r"\[secret:[^\]\n]*\]|(?<![a-z])(?P<word>pass(?:word|wd|wort|code| ?phrase)s?|pwd?"
    r"|credentials?|creds|log ?in|kennwort|contraseña|senha|mot de passe|zugangsdaten)(?![a-z])"
)
_CANDIDATE = late(r"[^\s\"'`,;()<>\[\]{}|=\u2192]{7,64}")
_OTHER_THING = late(
    r"""[/:\\.] | [$].*[$] | ^[-+#@$%*&] | ^[0-9a-f]{7,}$ | ^[0-9A-F-]{8,}$ | ^[A-Z_0-9]+$
      | ^_*[A-Za-z]+(?:_[A-Za-z0-9]+)+$ | ^(?:[a-z]+-)+[a-z0-9]+$ | ^[a-z]{1,6}\d{0,3}-\d+$
      | ^[\d.,x:-]+\w{0,3}$ | ^[A-Za-z]+(?:19|20)\d\d$
      | ^[A-Za-z]*(?:64|32|16|256|512)[A-Za-z]*\d?$""",
    re.VERBOSE,
)
_DIGITS_ENOUGH: Final = 3
_LINE_MAX: Final = 400


def neighbours_in(text: str, lowered: str) -> Iterator[tuple[str, int, int]]:
    """Kind, start and end of every value that a word on its line gives away."""
    mention = _MENTION.search(lowered)
    while mention:
        if mention["word"] is None:  # a mask
            mention = _MENTION.search(lowered, mention.end())
            continue
        start = lowered.rfind("\n", 0, mention.start()) + 1
        end = lowered.find("\n", mention.end())
        end = len(text) if end < 0 else end
        if end - start <= _LINE_MAX:
            for word in _CANDIDATE.finditer(text, start, end):
                value = word[0].rstrip(".,;:*")
                if _is_given_away(value):
                    yield "password", word.start(), word.start() + len(value)
        mention = _MENTION.search(lowered, end)


def _is_given_away(value: str) -> bool:
    digits = sum(letter.isdecimal() for letter in value)
    if not digits or _OTHER_THING.search(value) or value.isdecimal():
        return False
    if values.is_strong_password(value):
        return True
    return digits >= _DIGITS_ENOUGH and values.is_password(value, in_prose=True)
