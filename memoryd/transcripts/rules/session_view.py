"""A session as people see it: who said what, and one row that sums it up."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

import msgspec

from memoryd.transcripts.rules.turns import TOOL_KINDS, Compacted, Turn, TurnPart


def conversation(history: Sequence[Turn | Compacted]) -> list[TurnPart]:
    """Who said what, as a person reads it: runs of tool calls folded, compactions marked."""
    parts: list[TurnPart] = []
    for event in history:
        if isinstance(event, Turn):
            parts += _folded(event.parts)
        elif not event.inside_turn:
            parts.append(TurnPart("compaction", event.trigger, event.at))
    return parts


def _folded(parts: Iterable[TurnPart]) -> Iterator[TurnPart]:
    for is_tool, run in groupby(parts, lambda part: part.kind in TOOL_KINDS):
        if is_tool:
            yield _fold(list(run))
        else:
            yield from run


def _fold(run: Sequence[TurnPart]) -> TurnPart:
    failed = {part.tool_use_id for part in run if part.is_error}
    calls = [
        f"{part.tool} {part.gist}".strip() + (" (failed)" if part.tool_use_id in failed else "")
        for part in run
        if part.kind == "tool_call"
    ]
    return TurnPart("tools", "\n".join(calls), run[0].at)


class SessionSummary(msgspec.Struct, frozen=True):
    """A session as one row; `turns` counts a person's, tokens are what the turns recorded."""

    session_id: str
    cwd: str
    git_branch: str
    turns: int
    compactions: int
    context_tokens: int
    output_tokens: int
    started: str
    last_activity: str


def summarize(history: Sequence[Turn | Compacted]) -> SessionSummary | None:
    """None for an empty session."""
    turns = [event for event in history if isinstance(event, Turn)]
    if not turns:
        return None
    asked = [turn for turn in turns if turn.is_from_person and not turn.continues]
    last = turns[-1]
    return SessionSummary(
        session_id=last.session_id,
        cwd=last.cwd,
        git_branch=last.git_branch,
        turns=len(asked),
        compactions=len(history) - len(turns),
        context_tokens=next((t.context_tokens for t in reversed(turns) if t.context_tokens), 0),
        output_tokens=sum(turn.output_tokens for turn in turns),
        started=next((turn.started for turn in turns if turn.started), ""),
        last_activity=next((turn.ended for turn in reversed(turns) if turn.ended), ""),
    )
