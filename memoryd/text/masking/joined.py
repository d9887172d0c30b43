"""Tokens that are written in pieces: string literals that are added, a line broken by a backslash.

The pieces are joined, the token is found in the whole, and its place in the text is everything from
the first piece to the last. What only joining makes is a token by shape, never by name.
"""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator
from typing import Final

from memoryd.text.lazy_regex import late

# The longest piece of a token that is put together with others.
AROUND: Final = 200

_BETWEEN: Final = r"[ \t]*(?:\+|\.\.?|&|\|\|)?[ \t]*\\?\n?[ \t]*\\{0,2}[\"'`]"
# One pattern for each first character: that is searched for at the speed of a plain search.
_JOINTS: Final = (
    late(r"\\\n[ \t]*(?=[\w.-])"),
    *(late(f"{quote}{_BETWEEN}(?=[\\w.-])") for quote in ('"', "'", "`")),
)
# A quote, and what may stand between it and the next.
_QUOTE: Final = bytes(34 if chr(at) in "\"'`" else at for at in range(256))
_BETWEEN_CHARS: Final = b" \t\n\\+.&|"
_BEFORE_A_JOINT = late(r"[\w.-]\\{0,2}\Z")


def joined_in(
    text: str, find: Callable[[str], Iterator[tuple[str, int, int]]]
) -> Iterator[tuple[str, int, int]]:
    """What `find` finds around the joints of the text, once the pieces are joined."""
    if not _may_have_joints(text):
        return
    joints = [
        joint
        for joint in _in_order(text)
        if _BEFORE_A_JOINT.search(text, max(0, joint.start() - 3), joint.start())
    ]
    if not joints:
        return
    parts: list[str] = []
    places: list[tuple[int, int]] = []  # where a part begins in the whole and in the text
    length = done = 0
    for at, joint in enumerate(joints):
        following = joints[at + 1].start() if at + 1 < len(joints) else len(text)
        left = max(done, joint.start() - AROUND)
        right = min(following, joint.end() + AROUND)
        is_next = bool(at) and left == done
        for start, end in ((left, joint.start()), (joint.end(), right)):
            if start == left and not is_next:
                parts.append("\n")
                length += 1
            places.append((length, start))
            parts.append(text[start:end])
            length += end - start
        done = right
    whole = "".join(parts)
    starts = [start for start, _ in places]
    for kind, start, end in find(whole):
        yield kind, _place(places, starts, start), _place(places, starts, end - 1) + 1


def _may_have_joints(text: str) -> bool:
    """Whether a line end is escaped, or nothing but what joins stands between two quotes."""
    if "\\\n" in text:
        return True
    if not ('"' in text or "'" in text or "`" in text):
        return False
    return b'""' in text.encode("ascii", "replace").translate(_QUOTE, _BETWEEN_CHARS)


def _in_order(text: str) -> Iterator[re.Match[str]]:
    """The matches of all patterns, from left to right and without overlaps."""
    following = [pattern.search(text) for pattern in _JOINTS]
    while True:
        found = [match for match in following if match is not None]
        if not found:
            return
        first = min(found, key=re.Match.start)
        yield first
        following = [
            pattern.search(text, first.end())
            if match is not None and match.start() < first.end()
            else match
            for pattern, match in zip(_JOINTS, following, strict=True)
        ]


def _place(places: list[tuple[int, int]], starts: list[int], at: int) -> int:
    start, original = places[bisect_right(starts, at) - 1]
    return original + at - start
