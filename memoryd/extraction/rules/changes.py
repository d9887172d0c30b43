"""What a message says no longer holds, beside a statement that says what does.

People who correct themselves name the old thing: "instead of pnpm", "not in Lisbon any more",
"Priya has left the billing service", "make check is gone". The words they name it with lead to
the memory that it is about. Matched on `prose.matchable` text.
"""

import re
from collections.abc import Iterator
from typing import Final

_END: Final = r"(?=[,;.!?]|$| but | and )"
_IN_PLACE: Final = (
    r"\b(?:instead of|rather than|in place of|anstatt|statt|en lugar de|en vez de|au lieu de"
    rf"|invece di|em vez de) (?P<gone>[^,;!?]+?){_END}"
)
_FROM_ONE: Final = (
    r"\b(?:switched|moved|migrated|gone|changed) (?:over )?(?:from|away from|off)"
    r" (?P<gone>[^,;!?]+?) (?:to|onto)\b"
)
_NOT_THIS: Final = (
    r"(?:, |; | and | but |: )(?:and )?(?:not|no longer|nicht(?: mehr)?|(?:ya )?no|non(?: piu)?"
    rf"|nao(?: mais)?|no more|pas|plus) (?P<gone>[^,;!?]+?)(?: any ?more| any longer)?{_END}"
)
_NO_MORE: Final = rf"\bno more (?P<gone>[^,;!?]+?)(?: please)?{_END}"
_NO_LONGER: Final = (
    r"(?:^|[,;:.!] )(?P<gone>[^,;:.!]*?\b(?:no longer|nicht mehr|ya no|nao [^,;]* mais"
    rf"|non [^,;]* piu|n ?[^,;]* plus)\b[^,;!?]*){_END}"
)
_ANY_MORE: Final = rf"(?:^|[,;:.!] )(?P<gone>[^,;:.!]*? any ?(?:more|longer)){_END}"
_HAS_LEFT: Final = r"(?:^|[,;:.!] )(?P<gone>[^,;:.!]+?) (?:has|have) left\b(?P<rest>[^,;.!]*)"
_WE_LEFT: Final = r"\bwe (?:have )?left (?P<gone>[^,;.!]+)"
_LEFT_US: Final = r"(?:^|[,;:.!] )(?P<gone>\w+) left (?:the|us|our)\b"
_IS_GONE: Final = (
    r"(?:^|[,;:.!] )(?P<gone>[^,;:.!]+?) (?:is|are|was|were|got|has been) (?:gone|dead|retired|over"
    r"|moved|postponed|replaced|deleted|renamed|reversed|raised|lowered|outdated|obsolete)\b"
)
_HAS_MOVED: Final = (
    r"(?:^|[,;:.!] )(?P<gone>[^,;:.!]+?) (?:has |have |went )?(?:moved|changed|up|down) to\b"
)
_GONE: Final = tuple(
    re.compile(pattern)
    for pattern in (
        _IN_PLACE,
        _FROM_ONE,
        _NOT_THIS,
        _NO_MORE,
        _NO_LONGER,
        _ANY_MORE,
        _HAS_LEFT,
        _WE_LEFT,
        _LEFT_US,
        _IS_GONE,
        _HAS_MOVED,
    )
)
_MARKS: Final = re.compile(
    r"\b(?:as (?:i|we) (?:said|told you)(?: before| earlier)?|as before|no longer|any ?more"
    r"|any longer|nicht mehr|ya no|nao|mais|non|piu|plus|arent|isnt|dont"
    r"|doesnt|were|we|they|not|now|so|i|im|you)\b"
)


def gone_in(text: str) -> Iterator[str]:
    """The words with which a text says what no longer holds."""
    for pattern in _GONE:
        for match in pattern.finditer(text):
            named = f"{match['gone']} {match.groupdict().get('rest') or ''}"
            if bare := " ".join(_MARKS.sub(" ", named).split()):
                yield bare
