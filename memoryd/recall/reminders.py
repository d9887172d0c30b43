"""At the moment of action: the rules that concern a tool call, given as it is made.

- Each rule is given once per session, at most `REMINDER_BYTES` at a call, and never later than the
  hook's deadline: only memories that are already indexed are looked at.
- Only `feedback` that no agent concluded, and whose writer is known, is a rule. The text is
  quoted like every other memory.
- When the turn ends, its calls show whether the rule was kept.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

import msgspec

from memoryd.base.file_stamp import FileStamp
from memoryd.memories.rules.topics import FOUND, TEAM
from memoryd.recall.rules.rendering import kept_in
from memoryd.recall.rules.tool_rules import (
    EDITING_TOOLS,
    SHELL_TOOLS,
    Compliance,
    ToolCall,
    ToolRule,
    compliance,
    concerns,
    rule_in,
)
from memoryd.text.shorten import cut_at_word, one_line
from memoryd.transcripts.rules.turns import Turn

if TYPE_CHECKING:
    from memoryd.recall.shelf import Row  # numpy loads slowly

REMINDER_BYTES: Final = 500
MOST_SESSIONS: Final = 1000
_NOT_RULES: Final = frozenset({"agent-concluded", "imported", FOUND, TEAM})
HEAD: Final = "Said about this kind of call in earlier sessions (memoryd):"


class _Given(msgspec.Struct):
    """The rules that a session was given, and those whose turn has not ended yet."""

    all: set[str]
    open: dict[str, ToolRule]


class Reminder(msgspec.Struct, frozen=True):
    text: str = ""
    paths: tuple[str, ...] = ()


class Reminders:
    """To be used on the event loop."""

    def __init__(self) -> None:
        self._sessions: dict[str, _Given] = {}
        self._rules: dict[str, tuple[FileStamp | None, str, ToolRule | None]] = {}

    def for_call(self, session_id: str, call: ToolCall, rows: "Iterable[Row]") -> Reminder:
        """What to say beside this call; empty if no rule concerns it."""
        given = self._of(session_id)
        lines, paths = [HEAD], []
        for row in rows:
            rule = self._rule_of(row)
            if rule is None or row.path in given.all or not concerns(rule, call):
                continue
            line = f"| {cut_at_word(one_line(row.content), 300)}"
            if len("\n".join([*lines, line]).encode("utf-8", "replace")) > REMINDER_BYTES:
                continue
            lines.append(line)
            paths.append(row.path)
            given.all.add(row.path)
            given.open[row.path] = rule
        return Reminder(kept_in("\n".join(lines)), tuple(paths)) if paths else Reminder()

    def turn_ended(self, turn: Turn, root: str) -> list[tuple[str, Compliance]]:
        """Which rules that were given in this turn were kept in it, as far as its calls show."""
        given = self._sessions.get(turn.session_id)
        if given is None or not given.open:
            return []
        calls = calls_of(turn, root)
        verdicts = []
        for path, rule in given.open.items():
            at = next((n for n, call in enumerate(calls) if concerns(rule, call)), None)
            if at is not None and (verdict := compliance(rule, calls, at)) is not None:
                verdicts.append((path, verdict))
        given.open.clear()
        return verdicts

    def forget(self, session_id: str) -> None:
        self._sessions.pop(session_id, None)

    def _of(self, session_id: str) -> _Given:
        if session_id not in self._sessions:
            if len(self._sessions) >= MOST_SESSIONS:
                del self._sessions[next(iter(self._sessions))]
            self._sessions[session_id] = _Given(set(), {})
        return self._sessions[session_id]

    def _rule_of(self, row: "Row") -> ToolRule | None:
        """Read once per version of the file, and again when its writer becomes known."""
        known, trust = self._rules.get(row.path), row.topic.trust
        if known is None or known[:2] != (row.mark, trust):
            is_rule = row.topic.type == "feedback" and trust not in _NOT_RULES
            known = (row.mark, trust, rule_in(row.content) if is_rule else None)
            self._rules[row.path] = known
        return known[2]


def calls_of(turn: Turn, root: str) -> list[ToolCall]:
    return [
        call_of(part.tool, {"command": part.gist, "file_path": part.gist}, root)
        for part in turn.tool_calls
    ]


def call_of(tool: str, given: object, root: str) -> ToolCall:
    """A call from its name and input as the client tells them; tolerant of any input."""
    values = given if isinstance(given, dict) else {}
    command, path = values.get("command"), values.get("file_path") or values.get("notebook_path")
    path = path if tool in EDITING_TOOLS and isinstance(path, str) else ""
    return ToolCall(
        tool,
        command if tool in SHELL_TOOLS and isinstance(command, str) else "",
        path.removeprefix(f"{root}/"),
    )
