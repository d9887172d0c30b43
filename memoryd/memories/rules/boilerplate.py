"""What memoryd itself adds or once added to memories. It says nothing about their matter.

- Lines that earlier versions added to every memory they saved, and the labels of a memory's parts.
- The time in front of a sentence that was added to a memory later.
"""

import re
from typing import Final

from memoryd.text.lazy_regex import late

_LINES: Final = frozenset(
    f"**How to apply:** {words}"
    for words in (
        "Follow it without being told again, until the person says otherwise.",
        "Take it into account in plans and suggestions; ask whether it still holds when it is old.",
        "As it stands, until something newer is said about it.",
    )
)


_LABELS: Final = ("**Why:**", "**How to apply:**")
_STAMP: Final = late(r"^Said on \d{4}-\d\d-\d\d at \d\d:\d\d:\d\d: ", re.MULTILINE)


def without_boilerplate(body: str) -> str:
    body = _STAMP.sub("", body)
    if not any(label in body for label in _LABELS):
        return body
    left = "\n".join(line for line in body.split("\n") if line.strip() not in _LINES)
    for label in _LABELS:
        left = left.replace(label, "")
    return left
