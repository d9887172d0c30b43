"""Tokens that are written in pieces: string literals that are added, a line broken by a backslash.

The pieces are joined, the token is found in the whole, and its place in the text is everything from
the first piece to the last. What only joining makes is a token by shape, never by name.
"""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator

from memoryd.text.lazy_regex import late

_JOINT = late(
    r"""(?<=[\w.-]) (?: \\\n[ \t]* | \\{0,2}["'`][ \t]*(?:\+|\.\.?|&|\|\|)?[ \t]*\\?\n?[ \t]*
        (?<=["'`+.&|\s])\\{0,2}["'`] ) (?=[\w.-])""",
    re.VERBOSE,
)


def joined_in(
    text: str, find: Callable[[str], Iterator[tuple[str, int, int]]]
) -> Iterator[tuple[str, int, int]]:
    """What `find` finds in the text once its pieces are joined."""
    joints = list(_JOINT.finditer(text))
    if not joints:
        return
    parts: list[str] = []
    starts, shifts = [0], [0]
    done = 0
    for joint in joints:
        parts.append(text[done : joint.start()])
        done = joint.end()
        shifts.append(shifts[-1] + done - joint.start())
        starts.append(joint.end() - shifts[-1])
    whole = "".join((*parts, text[done:]))
    for kind, start, end in find(whole):
        first = start + shifts[bisect_right(starts, start) - 1]
        last = end - 1 + shifts[bisect_right(starts, end - 1) - 1] + 1
        yield kind, first, last
