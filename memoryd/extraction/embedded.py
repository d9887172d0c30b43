"""Extraction without a model: what a person explicitly asked to keep is saved, once.

Rules
- Only a person's own words count, and of these only what is explicit beyond doubt.
- What a memory already says, word for word, is not saved again. So a turn that is processed twice,
  after a crash, changes nothing.
- A statement on the subject of an existing memory of the same type adds what is new to it, and
  nothing if no word is new. If it reverses the memory, it becomes a memory of its own that
  supersedes the old one, unless the memory is newer: an import or a retry may bring back what was
  since withdrawn. What an agent concluded never changes or supersedes what a person said; it is
  saved beside it.
- What the code shows or an instruction file says is neither saved nor offered (`exclusions`).
- What only may be worth keeping waits in the inbox, until it is said again in another session or
  somebody takes it. In review mode everything waits.
- In log mode all sure statements of a task go into today's log, and no memory is touched.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import anyio.to_thread
import msgspec

from memoryd.base.config import ExtractionMode, ProjectMode
from memoryd.base.errors import MemorydError
from memoryd.base.timestamps import iso_time
from memoryd.extraction.inbox import Inbox
from memoryd.extraction.log_mode import add_to_log, without_logged_turns
from memoryd.extraction.rules.messages import SPOKEN_SOURCES, said_at
from memoryd.extraction.rules.restatement import HOW_TO_APPLY, Relation, core_of, relation_of
from memoryd.extraction.rules.written_down import WrittenDown
from memoryd.extraction.task import ExtractionOutcome, ExtractionTask
from memoryd.memories.inbox_table import Candidate, WaitReason
from memoryd.memories.records import MemoryDirectory, Stored
from memoryd.memories.rules import headers
from memoryd.memories.rules.daily_log import LogEntry
from memoryd.memories.rules.topics import Topic, Trust
from memoryd.memories.scopes import Project
from memoryd.memories.store import Store
from memoryd.memories.version_table import Cause
from memoryd.text.masking.mask import presentable
from memoryd.text.shorten import cut_middle
from memoryd.transcripts.rules.turns import Turn

if TYPE_CHECKING:
    from memoryd.extraction.rules.statements import Statement

# A longer memory is about more than one thing, so no statement can restate it.
COMPARED_CHARS = 600
AROUND_CHARACTERS = 600


class SourcedStatement(msgspec.Struct, frozen=True):
    """A statement, and when, in which session, in which message and by whom it was made.

    `core` is what it says without the standing words on how to apply it, on one line.
    """

    statement: "Statement"
    at: datetime
    session_id: str
    trust: Trust = "user-said"
    message: str = ""

    @property
    def is_sure(self) -> bool:
        return self.statement.certainty == "sure"

    @property
    def core(self) -> str:
        return core_of(self.statement.body)

    @property
    def created(self) -> str:
        return iso_time(self.at.timestamp())

    @property
    def stamp(self) -> str:
        return f"Said on {self.at:%Y-%m-%d at %H:%M:%S}:"


class KnownMemory(msgspec.Struct, frozen=True):
    stored: Stored
    topic: Topic
    retired: bool

    @property
    def core(self) -> str:
        return core_of(self.topic.body)


def statements_from(turns: Sequence[Turn]) -> Iterator[SourcedStatement]:
    """What the person stated, or may have stated, in turns of one session."""
    from memoryd.extraction.rules.statements import statements_in  # noqa: PLC0415 - its patterns take a while

    for turn in turns:
        for part in turn.parts:
            if part.kind == "prompt" and part.source in SPOKEN_SOURCES:
                at = said_at(part) or datetime.now(UTC).astimezone()
                for one in statements_in(part.text, said_at=at):
                    yield SourcedStatement(one, at, turn.session_id, message=part.text)


def log_entry_of(sourced: SourcedStatement) -> LogEntry:
    """The statement as a line of the log."""
    text = " ".join(sourced.statement.body.replace("**Why:**", "Why:").split())
    return LogEntry(sourced.at, sourced.statement.type, sourced.trust, text, sourced.session_id)


class StatementSaver:
    """Saves statements into one memory directory; `again` if these turns were begun before."""

    def __init__(
        self,
        store: Store,
        directory: MemoryDirectory,
        *,
        cause: Cause = "extraction",
        again: bool = False,
    ) -> None:
        self._store = store
        self._directory = directory
        self._cause: Cause = cause
        self._again = again
        self._known = list(self._existing())

    def save(self, sourced: SourcedStatement) -> Stored | None:
        """The memory that now says it; None if one already did."""
        if any(self._is_in(memory, sourced) for memory in self._known):
            return None
        relation, old = self._nearest(sourced)
        if old is None or (old.topic.trust == "user-said" and sourced.trust != "user-said"):
            return self._create(sourced)
        if relation == "reverses":
            is_newer = old.topic.created > sourced.created
            return None if is_newer else self._create(sourced, supersedes=old)
        return self._add(sourced, old) if relation == "adds" else None

    def relation_to_known(self, sourced: SourcedStatement) -> tuple[Relation, str]:
        """How it relates to what is saved, and the file that it is about."""
        if any(self._is_in(memory, sourced) for memory in self._known):
            return "same", ""
        relation, old = self._nearest(sourced)
        return relation, old.stored.file if old else ""

    def _is_in(self, memory: KnownMemory, sourced: SourcedStatement) -> bool:
        if sourced.core not in memory.core:
            return False
        # A turn that is processed again finds its own memory, retired by what it said later.
        is_own = memory.topic.created == sourced.created or sourced.stamp in memory.topic.body
        return not memory.retired or (self._again and is_own)

    def _nearest(self, sourced: SourcedStatement) -> tuple[Relation, KnownMemory | None]:
        """The memory that the statement is about; the newest if there are several."""
        statement = sourced.statement
        for memory in reversed(self._known):
            if memory.retired or memory.topic.type != statement.type:
                continue
            old = memory.core[:COMPARED_CHARS]
            relation = relation_of(sourced.core, old, takes_back=statement.corrects)
            if relation != "other":
                return relation, memory
        return "other", None

    def _create(self, sourced: SourcedStatement, supersedes: KnownMemory | None = None) -> Stored:
        statement = sourced.statement
        topic = Topic(
            name=statement.name,
            description=statement.description,
            type=statement.type,
            created=sourced.created,
            source=sourced.session_id,
            trust=sourced.trust,
            supersedes=(supersedes.stored.file,) if supersedes else (),
            body=statement.body,
        )
        stored = self._store.save(
            self._directory, topic, cause=self._cause, session_id=sourced.session_id
        )
        if supersedes:
            self._replace(supersedes, msgspec.structs.replace(supersedes, retired=True))
        self._known.append(KnownMemory(stored, stored.topic, retired=False))
        return stored

    def _add(self, sourced: SourcedStatement, old: KnownMemory) -> Stored:
        stored = self._store.write(
            self._directory,
            old.stored.file,
            with_addition(_with_origin(old, sourced), f"{sourced.stamp} {sourced.core}"),
            over=old.stored.version,
            cause=self._cause,
            session_id=sourced.session_id,
        )
        self._replace(old, KnownMemory(stored, stored.topic, retired=False))
        return stored

    def _replace(self, old: KnownMemory, new: KnownMemory) -> None:
        self._known[self._known.index(old)] = new

    def _existing(self) -> Iterator[KnownMemory]:
        """Oldest first, since new ones are appended."""
        for one in reversed(self._store.scan(self._directory)):
            try:
                stored = self._store.read(self._directory, one.file)
            except MemorydError:  # removed since the scan, or not a regular file
                continue
            yield KnownMemory(stored, stored.topic, one.retired)


def _with_origin(memory: KnownMemory, sourced: SourcedStatement) -> str:
    """The memory's text with missing header fields filled in; who said the old part is unknown."""
    topic = memory.topic
    known = {"created": topic.created, "source": topic.source, "trust": topic.trust}
    assumed = {
        "created": iso_time(memory.stored.modified),
        "source": sourced.session_id,
        "trust": "agent-concluded",
    }
    missing = {key: value for key, value in assumed.items() if not known[key]}
    return headers.change(memory.stored.text, missing) if missing else memory.stored.text


def with_addition(text: str, sentence: str) -> str:
    """The memory with one more paragraph, above how to apply it if that is there."""
    head, how, rest = text.rstrip("\n").partition(f"\n{HOW_TO_APPLY}")
    return f"{head.rstrip()}\n\n{sentence}\n" + (f"\n{HOW_TO_APPLY}{rest}\n" if how else "")


def candidate_of(sourced: SourcedStatement, project: str, reason: WaitReason) -> Candidate:
    """The statement as it waits in the inbox."""
    statement = sourced.statement
    return Candidate(
        project=project,
        type=statement.type,
        name=presentable(statement.name),
        description=presentable(statement.description),
        body=presentable(statement.body),
        created=sourced.created,
        session_id=sourced.session_id,
        trust=sourced.trust,
        around=cut_middle(presentable(sourced.message), AROUND_CHARACTERS),
        reason=reason,
    )


class EmbeddedExtractor:
    """Both modes are asked by the project's root."""

    def __init__(
        self,
        store: Store,
        inbox: Inbox,
        mode_of: Callable[[str], ProjectMode] = lambda _: "topics",
        *,
        extraction_mode_of: Callable[[str], ExtractionMode] = lambda _: "auto",
        written_down: Callable[[Project], WrittenDown] = lambda _: WrittenDown(),
        now: Callable[[], float] = time.time,
    ) -> None:
        self._store = store
        self._inbox = inbox
        self._written_down = written_down
        self._mode_of = mode_of
        self._extraction_mode_of = extraction_mode_of
        self._now = now

    async def extract(self, task: ExtractionTask) -> ExtractionOutcome:
        root = task.project.root
        is_log = self._mode_of(root) == "log" and self._extraction_mode_of(root) == "auto"
        work = self._extract_to_log if is_log else self._extract
        files = await anyio.to_thread.run_sync(work, task)
        return ExtractionOutcome("done", "done", files=files)

    def _extract(self, task: ExtractionTask) -> tuple[str, ...]:
        found = self._worth_keeping(task)
        if not found:
            return ()
        saver = StatementSaver(self._store, task.project.memory, again=task.is_repeated)
        if self._extraction_mode_of(task.project.root) == "review":
            for one in found:
                self._offer(task, saver, one, "review" if one.is_sure else _why_it_waits(one))
            return ()
        saved = [stored for one in found if (stored := self._save_or_offer(task, saver, one))]
        return tuple(dict.fromkeys(stored.file for stored in saved))

    def _save_or_offer(
        self, task: ExtractionTask, saver: StatementSaver, one: SourcedStatement
    ) -> Stored | None:
        project, reason = task.project, _why_it_waits(one)
        candidate = candidate_of(one, project.root, reason)
        if one.is_sure or self._inbox.was_said_before(project, candidate):
            stored = saver.save(one)
            self._inbox.was_saved(project, candidate)
            return stored
        self._offer(task, saver, one, reason)
        return None

    def _offer(
        self, task: ExtractionTask, saver: StatementSaver, one: SourcedStatement, reason: WaitReason
    ) -> None:
        """Puts it into the inbox, unless a memory already says it."""
        candidate = candidate_of(one, task.project.root, reason)
        relation, file = saver.relation_to_known(one)
        if relation == "reverses":
            candidate = msgspec.structs.replace(candidate, reason="contradicts", contradicts=file)
        if relation != "same":
            self._inbox.offer(task.project, candidate)

    def _worth_keeping(self, task: ExtractionTask) -> list[SourcedStatement]:
        """What was stated, without what no door would save."""
        found = list(statements_from(task.turns))
        if not found:
            return []
        from memoryd.extraction.rules.exclusions import exclusion_of  # noqa: PLC0415 - as its statements

        known = self._written_down(task.project)
        return [one for one in found if exclusion_of(one.statement.body, known) is None]

    def _extract_to_log(self, task: ExtractionTask) -> tuple[str, ...]:
        task = without_logged_turns(task)
        entries = [log_entry_of(one) for one in self._worth_keeping(task) if one.is_sure]
        return add_to_log(task, entries, self._now())


def _why_it_waits(one: SourcedStatement) -> WaitReason:
    return "long-message" if one.statement.certainty == "likely" else "may-last"
