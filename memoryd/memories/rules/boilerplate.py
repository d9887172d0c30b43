"""Lines that earlier versions added to every memory they saved. They say nothing about it."""

from typing import Final

_LINES: Final = frozenset(
    f"**How to apply:** {words}"
    for words in (
        "Follow it without being told again, until the person says otherwise.",
        "Take it into account in plans and suggestions; ask whether it still holds when it is old.",
        "As it stands, until something newer is said about it.",
    )
)


def without_boilerplate(body: str) -> str:
    if "**How to apply:**" not in body:
        return body
    return "\n".join(line for line in body.split("\n") if line.strip() not in _LINES)
