"""What a model wrote in a run, looked at once more before the run counts as done.

Rules
- Each memory is marked with its session and with how far it can be trusted: as the model says, and
  if it says nothing, as a conclusion of its own.
- A user or feedback memory whose new words only tools printed is taken back: what a file or a page
  says is never a wish of the person, however it is worded. The history keeps it.
- What counts is the history, not the run's own list: after a crash, the memories that the broken
  attempt left are looked at too.
"""

from typing import get_args

import structlog

from memoryd import headers, topics
from memoryd.errors import MemorydError, NotFound
from memoryd.extract.messages import Voices, is_printed_matter, voices
from memoryd.extract.task import Task
from memoryd.history import History
from memoryd.store import Store
from memoryd.stored import Stored
from memoryd.topics import Trust

GUARDED_TYPES = frozenset({"user", "feedback"})

log = structlog.get_logger(__name__)


class Reviewer:
    def __init__(self, store: Store, history: History) -> None:
        self._store = store
        self._history = history

    def left_behind(self, task: Task) -> dict[str, int]:
        """The files that this task's attempts wrote so far, each with its first version."""
        return self._history.made_by(
            task.project.memory.path,
            cause="extraction",
            session_id=task.session_id,
            since=task.began,
        )

    def review(self, task: Task) -> tuple[str, ...]:
        """The files that stay."""
        heard = voices(task.turns)
        written = self.left_behind(task).items()
        return tuple(file for file, first in written if self._stays(task, file, first, heard))

    def _stays(self, task: Task, file: str, first: int, heard: Voices) -> bool:
        try:
            stored = self._store.read(task.project.memory, file)
            before = self._before(stored, first)
            if stored.topic.type in GUARDED_TYPES and is_printed_matter(
                _added(stored.text, before or ""), heard
            ):
                self._take_back(task, stored, before)
                return False
            self._mark(task, stored)
        except NotFound:
            return False
        except MemorydError as error:
            # Somebody changed it in this moment: then it is theirs.
            log.warning("memory-not-reviewed", file=file, error=str(error))
        return True

    def _before(self, stored: Stored, first: int) -> str | None:
        """What the file said before the task; None when it was not there."""
        folder = stored.directory.path
        older = [one for one in self._history.versions(folder, stored.file) if one.version < first]
        kept = next((one for one in older if one.cause != "refused"), None)
        if kept is None or not kept.sha256:
            return None
        return self._history.content(folder, stored.file, kept.version).decode("utf-8", "replace")

    def _take_back(self, task: Task, stored: Stored, before: str | None) -> None:
        log.warning("only-tools-said-it", project=task.project.root, file=stored.file)
        if before is None:
            self._store.forget(
                stored.directory,
                stored.file,
                cause="extraction",
                over=stored.version,
                session_id=task.session_id,
            )
        else:
            self._write(task, stored, before)

    def _mark(self, task: Task, stored: Stored) -> None:
        topic = stored.topic
        wanted: dict[str, str | None] = {}
        if topic.trust not in get_args(Trust):
            wanted["trust"] = "agent-concluded"
        if not topic.source:
            wanted["source"] = task.session_id
        if not topic.created:
            wanted["created"] = topics.iso_time(stored.modified)
        if wanted:
            self._write(task, stored, headers.change(stored.text, wanted))

    def _write(self, task: Task, stored: Stored, text: str) -> None:
        self._store.write(
            stored.directory,
            stored.file,
            text,
            over=stored.version,
            cause="extraction",
            session_id=task.session_id,
        )


def _added(new: str, old: str) -> str:
    known = set(old.splitlines())
    return "\n".join(line for line in new.splitlines() if line not in known)
