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
    r"(?<![a-z])(?:pass(?:word|wd|wort|code| ?phrase)s?|pwd?"
    r"|credentials?|creds|log ?in|kennwort|contraseña|senha|mot de passe|zugangsdaten)(?![a-z])"
)
# Each mention begins with one of these; to look for them is many times as fast as the pattern.
MENTION_ANCHORS: Final = frozenset(
    {
        *("pass", "pw", "credential", "creds", "login", "log in", "kennwort", "contraseña"),
        *("senha", "mot de passe", "zugangsdaten"),
    }
)
_MASK: Final = "[secret:"
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


def neighbours_in(
    text: str, lowered: str, present: frozenset[str]
) -> Iterator[tuple[str, int, int]]:
    """Kind, start and end of every value that a word on its line gives away."""
    if MENTION_ANCHORS.isdisjoint(present):
        return
    for start, end in sorted(set(_lines_with_mention(lowered, present))):
        for word in _CANDIDATE.finditer(text, start, end):
            value = word[0].rstrip(".,;:*")
            if _is_given_away(value):
                yield "password", word.start(), word.start() + len(value)


def _lines_with_mention(lowered: str, present: frozenset[str]) -> Iterator[tuple[int, int]]:
    """Start and end of every line, not too long, that speaks of a login; masks do not count."""
    for word in MENTION_ANCHORS & present:
        at = lowered.find(word)
        while at >= 0:
            after = at + 1
            if _MENTION.match(lowered, at) and not _is_in_mask(lowered, at):
                start = lowered.rfind("\n", 0, at) + 1
                end = lowered.find("\n", at)
                end = len(lowered) if end < 0 else end
                if end - start <= _LINE_MAX:
                    yield start, end
                after = end
            at = lowered.find(word, after)


def _is_in_mask(lowered: str, at: int) -> bool:
    opened = lowered.rfind(_MASK, max(0, at - _LINE_MAX), at)
    return opened >= 0 and not any(mark in lowered[opened:at] for mark in "]\n")


def _is_given_away(value: str) -> bool:
    digits = sum(letter.isdecimal() for letter in value)
    if not digits or _OTHER_THING.search(value) or value.isdecimal():
        return False
    if values.is_strong_password(value):
        return True
    return digits >= _DIGITS_ENOUGH and values.is_password(value, in_prose=True)
