"""Turns entries of daily logs into memories, by rules: those with a type, each once.

- Only entries added since the last dream are used, so that what was forgotten or corrected since
  does not come back.
- A memory gets the time, session and trust of its entry. What is known already is not saved again;
  what adds to a memory, or reverses one, is handled as if it had been said just now.
- Lines without a type are left for a model to read.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from memoryd.dreams.working_copy import WorkingCopy
from memoryd.extraction.saver import SourcedStatement, StatementSaver
from memoryd.memories.rules.daily_log import LogEntry, rule_of
from memoryd.text.shorten import cut_at_word

if TYPE_CHECKING:
    from memoryd.extraction.rules.statements import Statement

NAME_CHARACTERS = 60
NAME_WORDS = 8
DESCRIPTION_CHARACTERS = 150


def distil(copy: WorkingCopy, entries: Sequence[LogEntry]) -> None:
    """Saves the entries as memories of the working copy; blocking."""
    if not entries:
        return
    seen_at = {one.file: one.modified for one in copy.store.scan(copy.directory)}
    saver = StatementSaver(copy.store, copy.directory, cause="dream")
    for entry in entries:
        sourced = SourcedStatement(statement_of(entry), entry.at, entry.session_id, entry.trust)
        if stored := saver.save(sourced):
            newest = max(seen_at.get(stored.file, 0.0), entry.at.timestamp())
            seen_at[stored.file] = min(newest, stored.modified)
            copy.backdate(stored.file, seen_at[stored.file])


def statement_of(entry: LogEntry) -> "Statement":
    from memoryd.extraction.rules.statements import Statement  # noqa: PLC0415 - its patterns take a while

    rule, has_reason = rule_of(entry.text), entry.type in {"feedback", "project"}
    return Statement(
        type=entry.type,
        name=_name(rule),
        description=cut_at_word(entry.text, DESCRIPTION_CHARACTERS),
        text=rule if has_reason else entry.text,
        reason=entry.why if has_reason else "",
    )


def _name(rule: str) -> str:
    words = [word.strip(".,;:!?()\"'") for word in rule.split()[:NAME_WORDS]]
    return cut_at_word(" ".join(filter(None, words)), NAME_CHARACTERS) or "From the log"
