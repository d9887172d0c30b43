"""Turns as a model reads them: who said what told apart, tool output cut, secrets masked."""

from collections.abc import Iterator
from datetime import datetime
from typing import Final

from memoryd.masking import mask
from memoryd.prompts import Speaker, quoted
from memoryd.transcript_turns import Part, Turn

PROSE_CHARACTERS: Final = 6_000
TOOL_CHARACTERS: Final = 600

_SPEAKERS: Final[dict[str, Speaker]] = {
    "prompt": "person",
    "assistant": "assistant",
    "tool_call": "tool",
    "tool_output": "tool",
    "printed": "tool",
    "notice": "notice",
    "interrupt": "notice",
    "api_error": "notice",
    "compaction": "notice",
}


def messages_of(turn: Turn) -> Iterator[str]:
    """One framed quotation for each part of the turn."""
    for part in turn.parts:
        text = _shown(part)
        if text.strip():
            yield quoted(_SPEAKERS.get(part.kind, "tool"), mask(text), moment(part.at))


def moment(text: str) -> datetime | None:
    """The client's time stamp, where it is one."""
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        return None


def _shown(part: Part) -> str:
    match part.kind:
        case "tool_call":
            return f"{part.tool}: {part.gist or _cut(part.text, TOOL_CHARACTERS)}"
        case "tool_output" | "printed":
            mark = "failed: " if part.is_error else ""
            return mark + _cut(part.text, TOOL_CHARACTERS)
        case _:
            return _cut(part.text, PROSE_CHARACTERS)


def _cut(text: str, limit: int) -> str:
    if len(text) <= limit:
        return text
    return (
        f"{text[: limit * 2 // 3]}\n[… {len(text) - limit} characters cut …]\n{text[-limit // 3 :]}"
    )
