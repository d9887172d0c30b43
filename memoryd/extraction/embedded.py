"""Extraction without a model: what a person stated for keeps is saved, once.

Rules
- Only a person's own words are listened to; what the assistant said before them is context.
- What a memory says already, word for word, is not saved again. So a turn that is done a second
  time, after a crash, changes nothing.
- A statement on the subject of an existing memory of its type adds to it what is new, and nothing
  when no word is new. One that reverses it becomes a memory of its own that supersedes the old one,
  unless the memory is the newer word: an import or a second try may bring what was taken back
  since. What an agent concluded does neither to what a person said, and stays beside it.
- In log mode all statements of a task go into today's log, and no memory is touched.
"""

import re
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import anyio.to_thread
import msgspec

from memoryd.base.config import ProjectMode
from memoryd.base.errors import MemorydError
from memoryd.base.timestamps import iso_time
from memoryd.extraction import log_mode
from memoryd.extraction.rules.messages import SPOKEN_SOURCES, said_at
from memoryd.extraction.rules.restatement import Relation, relation_of
from memoryd.extraction.task import ExtractionOutcome, ExtractionTask
from memoryd.memories.records import MemoryDirectory, Stored
from memoryd.memories.rules import headers
from memoryd.memories.rules.daily_log import LogEntry
from memoryd.memories.rules.topics import Topic, Trust
from memoryd.memories.store import Store
from memoryd.memories.version_table import Cause
from memoryd.transcripts.rules.turns import Turn

if TYPE_CHECKING:
    from memoryd.extraction.rules.statements.find import Statement

# Beyond this a memory is about more than one thing, and no statement restates it.
COMPARED_CHARS = 600

_HOW = "**How to apply:**"
_ABOUT = "It was said about:"
_STAMP = re.compile(r"Said on \d{4}-\d\d-\d\d at \d\d:\d\d:\d\d:")


class HeardStatement(msgspec.Struct, frozen=True):
    """A statement, the moment it was made, and where; by the person, unless it says otherwise."""

    statement: "Statement"
    at: datetime
    session_id: str
    trust: Trust = "user-said"

    @property
    def lead(self) -> str:
        return lead_of(self.statement.body)

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
    def lead(self) -> str:
        return lead_of(self.topic.body)


def heard_in(turns: Sequence[Turn], earlier: str) -> Iterator[HeardStatement]:
    """The statements in some turns of one session; `earlier` is what the assistant said before."""
    from memoryd.extraction.rules.statements.find import statements_in  # noqa: PLC0415 - its patterns take a while

    for turn in turns:
        for part in turn.parts:
            if part.kind == "assistant":
                earlier = part.text
            elif part.kind == "prompt" and part.source in SPOKEN_SOURCES:
                at = said_at(part) or datetime.now(UTC).astimezone()
                found = statements_in(part.text, previous_assistant=earlier, said_at=at)
                yield from (HeardStatement(statement, at, turn.session_id) for statement in found)


def entry_of(heard: HeardStatement) -> LogEntry:
    """The statement as a line of the log; of how to apply it, only what it was said about."""
    said, _, how = heard.statement.body.partition(_HOW)
    _, about, deed = how.partition(_ABOUT)
    text = " ".join(f"{said.replace('**Why:**', 'Why:')} {about}{deed}".split())
    return LogEntry(heard.at, heard.statement.type, heard.trust, text, heard.session_id)


def lead_of(body: str) -> str:
    """What a memory says, without the standing words on how to apply it; on one line."""
    return " ".join(_STAMP.sub("", body.partition(_HOW)[0].replace("**Why:**", "")).split())


class Keeper:
    """Saves statements into one memory directory; `again` when these turns were begun before."""

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
        self._notes = list(self._existing())

    def keep(self, heard: HeardStatement) -> Stored | None:
        """The memory that now says it; None when one said it already."""
        if any(self._is_told_by(note, heard) for note in self._notes):
            return None
        relation, old = self._nearest(heard)
        if old is None or (old.topic.trust == "user-said" and heard.trust != "user-said"):
            return self._save(heard)
        if relation == "reverses":
            is_newer = old.topic.created > heard.created
            return None if is_newer else self._save(heard, supersedes=old)
        return self._add(heard, old) if relation == "adds" else None

    def _is_told_by(self, note: KnownMemory, heard: HeardStatement) -> bool:
        if heard.lead not in note.lead:
            return False
        # A turn that is done again meets its own memory, retired by what was said later in it.
        own = note.topic.created == heard.created or heard.stamp in note.topic.body
        return not note.retired or (self._again and own)

    def _nearest(self, heard: HeardStatement) -> tuple[Relation, KnownMemory | None]:
        """The memory that the statement is about, the newest if there are several."""
        statement = heard.statement
        for note in reversed(self._notes):
            if note.retired or note.topic.type != statement.type:
                continue
            old = note.lead[:COMPARED_CHARS]
            relation = relation_of(heard.lead, old, takes_back=statement.corrects)
            if relation != "other":
                return relation, note
        return "other", None

    def _save(self, heard: HeardStatement, supersedes: KnownMemory | None = None) -> Stored:
        statement = heard.statement
        topic = Topic(
            name=statement.name,
            description=statement.description,
            type=statement.type,
            created=heard.created,
            source=heard.session_id,
            trust=heard.trust,
            supersedes=(supersedes.stored.file,) if supersedes else (),
            body=statement.body,
        )
        stored = self._store.save(
            self._directory, topic, cause=self._cause, session_id=heard.session_id
        )
        if supersedes:
            self._replace(supersedes, msgspec.structs.replace(supersedes, retired=True))
        self._notes.append(KnownMemory(stored, stored.topic, retired=False))
        return stored

    def _add(self, heard: HeardStatement, old: KnownMemory) -> Stored:
        stored = self._store.write(
            self._directory,
            old.stored.file,
            with_addition(_with_origin(old, heard), f"{heard.stamp} {heard.lead}"),
            over=old.stored.version,
            cause=self._cause,
            session_id=heard.session_id,
        )
        self._replace(old, KnownMemory(stored, stored.topic, retired=False))
        return stored

    def _replace(self, old: KnownMemory, new: KnownMemory) -> None:
        self._notes[self._notes.index(old)] = new

    def _existing(self) -> Iterator[KnownMemory]:
        """The oldest first, as those that are saved now go to the end."""
        for one in reversed(self._store.scan(self._directory)):
            try:
                stored = self._store.read(self._directory, one.file)
            except MemorydError:  # gone since it was listed, or no plain file
                continue
            yield KnownMemory(stored, stored.topic, one.retired)


def _with_origin(note: KnownMemory, heard: HeardStatement) -> str:
    """The memory with what its header leaves open: nobody knows who said the rest of it."""
    topic = note.topic
    known = {"created": topic.created, "source": topic.source, "trust": topic.trust}
    assumed = {
        "created": iso_time(note.stored.modified),
        "source": heard.session_id,
        "trust": "agent-concluded",
    }
    missing = {key: value for key, value in assumed.items() if not known[key]}
    return headers.change(note.stored.text, missing) if missing else note.stored.text


def with_addition(text: str, sentence: str) -> str:
    """The memory with one more paragraph, above how to apply it where that is said."""
    head, how, rest = text.rstrip("\n").partition(f"\n{_HOW}")
    return f"{head.rstrip()}\n\n{sentence}\n" + (f"\n{_HOW}{rest}\n" if how else "")


class EmbeddedExtractor:
    """`mode_of` says by its root whether a project keeps topics or a log."""

    def __init__(
        self,
        store: Store,
        mode_of: Callable[[str], ProjectMode] = lambda _: "topics",
        now: Callable[[], float] = time.time,
    ) -> None:
        self._store = store
        self._mode_of = mode_of
        self._now = now

    async def extract(self, task: ExtractionTask) -> ExtractionOutcome:
        is_log = self._mode_of(task.project.root) == "log"
        work = self._extract_to_log if is_log else self._extract
        files = await anyio.to_thread.run_sync(work, task)
        return ExtractionOutcome("done", "done", files=files)

    def _extract(self, task: ExtractionTask) -> tuple[str, ...]:
        heard = list(heard_in(task.turns, task.earlier))
        if not heard:
            return ()
        keeper = Keeper(self._store, task.project.memory, again=task.is_repeated)
        kept = [stored for one in heard if (stored := keeper.keep(one))]
        return tuple(dict.fromkeys(stored.file for stored in kept))

    def _extract_to_log(self, task: ExtractionTask) -> tuple[str, ...]:
        left = log_mode.unlogged(task)
        entries = [entry_of(one) for one in heard_in(left.turns, left.earlier)]
        return log_mode.add(left, entries, self._now())
