"""What many memories have alike and what says nothing about any of them.

Lines that earlier versions added to every memory they saved, and the labels of a memory's parts.
"""

from typing import Final

_LINES: Final = frozenset(
    f"**How to apply:** {words}"
    for words in (
        "Follow it without being told again, until the person says otherwise.",
        "Take it into account in plans and suggestions; ask whether it still holds when it is old.",
        "As it stands, until something newer is said about it.",
    )
)


_LABELS: Final = ("**Why:**", "**How to apply:**")


def without_boilerplate(body: str) -> str:
    if not any(label in body for label in _LABELS):
        return body
    left = "\n".join(line for line in body.split("\n") if line.strip() not in _LINES)
    for label in _LABELS:
        left = left.replace(label, "")
    return left
