"""How a model writes in log mode: lines for today's log, which are held until its run is done.

- The only file is the log, by its pattern or by any day: it is always today's. Nothing is changed
  or overwritten in it.
- A line names its type, and is judged as a memory would be. When it was said, how far it can be
  trusted and which session it is from are added by us.
- Nothing is on disk before the run is over. So one that is cut off leaves nothing to save twice.
"""

from datetime import datetime

from memoryd.agent.rules import access
from memoryd.agent.rules.access import Denied
from memoryd.agent.rules.tool_schemas import EditInput, WriteInput
from memoryd.agent.view import Page, View
from memoryd.agent.writer import WrittenMemory
from memoryd.extraction.provenance import Provenance
from memoryd.memories.records import Stored
from memoryd.memories.rules import daily_log, topics
from memoryd.memories.rules.daily_log import LogEntry
from memoryd.text.invisible import strip_invisible


class LogWriter:
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
