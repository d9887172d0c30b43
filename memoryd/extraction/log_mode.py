"""Extraction in log mode, with a model and without: entries go into today's log, once.

- Topics and index are not touched; the nightly dream turns the log into topics.
- A turn that an interrupted attempt already logged is known by its mark there and is not taken
  again, even after midnight.
- A model can write one file: the log, named by its pattern or by any day. It is always today's, and
  nothing in it is changed or overwritten.
- A line names its type and is checked as a memory would be. We add when it was said, how far it can
  be trusted and which session it is from.
- Nothing is on disk before the run is over, so an interrupted run leaves nothing to save twice.
"""

from collections.abc import Sequence
from datetime import datetime

import msgspec

from memoryd.agent.rules import access
from memoryd.agent.rules.access import Denied
from memoryd.agent.rules.tool_schemas import EditInput, WriteInput
from memoryd.agent.view import Page, View
from memoryd.agent.writer import WrittenMemory
from memoryd.extraction.provenance import Provenance
from memoryd.extraction.task import ExtractionTask
from memoryd.memories import daily_logs
from memoryd.memories.records import Stored
from memoryd.memories.rules import daily_log, topics
from memoryd.memories.rules.daily_log import LogEntry, LogSection
from memoryd.text.invisible import strip_invisible
from memoryd.transcripts.turn_table import LastWords


def without_logged_turns(task: ExtractionTask) -> ExtractionTask:
    """The task without the turns that are in a log already."""
    if not task.is_repeated:
        return task
    marks = daily_logs.turn_marks_since(task.project.memory, task.began)
    left = [turn for turn in task.turns if daily_log.turn_mark(turn.id) not in marks]
    logged = [turn for turn in task.turns if turn not in left and turn.prose]
    before = task.before
    if logged:
        last = logged[-1]
        said = last.spoken[-1].text if last.spoken else before.person
        before = LastWords(said, last.prose[-1].text)
    return msgspec.structs.replace(task, turns=tuple(left), before=before)


def add_to_log(task: ExtractionTask, entries: Sequence[LogEntry], now: float) -> tuple[str, ...]:
    """Adds the entries of all turns of the task at once; the log's name if there were any."""
    if not entries:
        return ()
    turn_ids = tuple(turn.id for turn in task.turns)
    section = LogSection(task.session_id, turn_ids, tuple(entries))
    return (daily_logs.add(task.project.memory, section, now),)


class LogWriter:
    """What Write and Edit do in log mode; holds the entries until the run is over."""

    def __init__(self, view: View, provenance: Provenance, said_at: datetime) -> None:
        self._view = view
        self._provenance = provenance
        self._said_at = said_at
        self._drafts: list[LogEntry] = []
        self.entries: list[LogEntry] = []

    def saw(self, page: Page) -> None:
        if not access.is_beneath(page.path, self._view.memory_root):
            self.was_shown(page.text)

    def was_shown(self, text: str) -> None:
        self._provenance.was_shown(text)

    def whole(self, write: WriteInput) -> WrittenMemory:
        self._check_path(write.file_path)
        drafts = daily_log.drafts_in(strip_invisible(write.content))
        if drafts is None:
            raise Denied(
                "no-header",
                "each entry is one line `- type: what is worth keeping`, and the type is one of"
                f" {', '.join(topics.TYPES)}",
            )
        self._drafts = [
            LogEntry(self._said_at, type_, self._provenance.trust_in(type_, text), text)
            for type_, text in drafts
        ]
        return WrittenMemory(access.LOG_PATTERN, write.content, None)

    def edited(self, edit: EditInput) -> WrittenMemory:
        self._check_path(edit.file_path)
        raise Denied("log-mode", "a log is only added to: Write the new entries alone")

    def put(self, change: WrittenMemory) -> Stored:
        self.entries += [entry for entry in self._drafts if entry not in self.entries]
        self._drafts = []
        return Stored(self._view.memory, change.file, change.text, "", 0.0)

    def _check_path(self, path: str) -> None:
        access.check_log_path(path, (self._view.memory.path, self._view.memory_root))
