"""Turns as extraction sees them: why some are skipped, and who said what in the others.

Rules
- A turn is skipped if neither a person nor the assistant says anything in it, or if only a script
  speaks to the assistant and scripts do not count.
- A person's answer or refusal is shown with what it answers.
- The person, the assistant and printed text are three speakers. A tool's call and its output are
  one quotation, both printed. Hooks, summaries and our own injected text are never in a turn.
- Invisible characters are stripped and secrets masked before a text is cut: half a secret would not
  be recognised.
- Tools print the most and say the least: each output is cut short, and after `TOOLS_CHARS_MAX` in a
  turn only the calls are named. The oldest outputs are kept, since they show what the work was
  about.
"""

from collections.abc import Iterator
from datetime import datetime
from typing import Literal

from memoryd.base.timestamps import local_time
from memoryd.extraction.rules.whose_words import is_scripted
from memoryd.llm.rules.prompts import quoted
from memoryd.text.masking.mask import presentable
from memoryd.text.private import public_part
from memoryd.text.shorten import cut_middle, one_line
from memoryd.transcripts.rules.blocks import GIST_CHARS_MAX
from memoryd.transcripts.rules.turns import Turn, TurnPart

SkipReason = Literal["", "no-prose", "private", "scripted"]

PRINTED_KINDS = frozenset({"tool_output", "printed", "notice"})
PERSON_CHARS_MAX = 8000
ASSISTANT_CHARS_MAX = 3000
OUTPUT_CHARS_MAX = 500
NOTICE_CHARS_MAX = 1000
TOOLS_CHARS_MAX = 6000
HEAD_CHARS = 40
SHORT_GIST_CHARS = GIST_CHARS_MAX // 2


def skip_reason(turn: Turn, *, counts_scripts: bool) -> SkipReason:
    """Why a turn is not extracted; empty when it is."""
    said = [part.text for part in (*spoken(turn), *turn.prose) if part.text.strip()]
    if not said:
        return "no-prose"
    if not any(public_part(text).strip() for text in said):
        return "private"
    return "scripted" if is_scripted(turn) and not counts_scripts else ""


def spoken(turn: Turn) -> tuple[TurnPart, ...]:
    """What a person said in prose, as opposed to commands and shell lines."""
    return turn.spoken


def printed_in(turn: Turn) -> tuple[str, ...]:
    """What tools, local commands and notices printed."""
    return tuple(part.text for part in turn.parts if part.kind in PRINTED_KINDS)


def messages(turn: Turn) -> list[str]:
    """The turn as framed quotations, in order, each masked and cut."""
    return list(_quotations(turn))


def size_of(turn: Turn) -> int:
    """An upper bound on the characters of its messages, without rendering them."""
    limits = {"prompt": PERSON_CHARS_MAX, "assistant": ASSISTANT_CHARS_MAX}
    return sum(
        min(len(part.text), limits.get(part.kind, OUTPUT_CHARS_MAX)) + HEAD_CHARS
        for part in turn.parts
    )


def said_at(part: TurnPart) -> datetime | None:
    """When it was said, by the person's own clock."""
    return local_time(part.at)


def _quotations(turn: Turn) -> Iterator[str]:
    outputs = {part.tool_use_id: part for part in turn.tool_outputs}
    room_chars = TOOLS_CHARS_MAX
    for part in turn.parts:
        match part.kind:
            case "prompt":
                yield quoted("person", _clean(_in_context(part), PERSON_CHARS_MAX), said_at(part))
            case "assistant":
                yield quoted("assistant", _clean(part.text, ASSISTANT_CHARS_MAX), said_at(part))
            case "tool_call":
                text = _tool_text(part, outputs.get(part.tool_use_id), room_chars)
                room_chars -= len(text)
                yield quoted("tool", text)
            case "notice":
                yield quoted("notice", _clean(part.text, NOTICE_CHARS_MAX))
            case "printed":
                yield quoted("tool", _clean(part.text, NOTICE_CHARS_MAX))
            case "interrupt":
                yield quoted("notice", "The person interrupted the assistant here.")


def _in_context(part: TurnPart) -> str:
    match part.source:
        case "answer":
            return f"(asked: {one_line(part.gist)})\n{part.text}"
        case "refusal":
            return f"(refused the tool call above)\n{part.text}"
    return part.text


def _tool_text(call: TurnPart, output: TurnPart | None, room_chars: int) -> str:
    # The reader cut a long gist, perhaps in the middle of a secret.
    gist = call.gist if len(call.gist) < SHORT_GIST_CHARS else call.gist.rpartition(" ")[0]
    head = _clean(f"{call.tool} {gist}".strip(), OUTPUT_CHARS_MAX)
    if output is None or room_chars <= 0:
        return head
    failed = "(failed) " if output.is_error else ""
    return f"{head}\n{failed}{_clean(output.text, min(OUTPUT_CHARS_MAX, room_chars))}".rstrip()


def _clean(text: str, limit_chars: int) -> str:
    return cut_middle(presentable(text), limit_chars)
