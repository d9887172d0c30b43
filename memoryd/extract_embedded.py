"""Extraction without a model: what a person stated for keeps is saved, once.

Rules
- Only a person's own words are listened to; what the assistant said before them is context.
- What a memory says already, word for word, is not saved again. So a turn that is done a second
  time, after a crash, changes nothing.
- A statement close to an existing memory of its type adds to that memory what is new in it, and
  nothing when no word of it is new.
- A statement that takes something back, says the opposite or gives another number becomes a memory
  of its own that supersedes the old one.
"""

import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

import anyio.to_thread
import msgspec

from memoryd import topics
from memoryd.errors import MemorydError
from memoryd.extract_messages import SPOKEN_SOURCES, said_at
from memoryd.extraction import Outcome, Task
from memoryd.statements import Statement, likeness, statements_in, topic_words
from memoryd.store import MemoryDirectory, Store, Stored
from memoryd.topics import Topic
from memoryd.transcript_turns import Turn

NEAR_LIKENESS = 0.75
CORRECTED_LIKENESS = 0.5
# A short statement has all its words in a long enough text about something else.
COMPARED_CHARS = 600

_HOW = "**How to apply:**"
_NEGATED = re.compile(
    r"\b(?:not|never|no|don'?t|doesn'?t|stop|avoid|without|nie|nicht|kein\w*|jamais|pas|nunca|não|mai|non"
    r"|niet|nooit|никогда|не)\b",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"\d+(?:[.:-]\d+)*")


class Heard(msgspec.Struct, frozen=True):
    """A statement and the moment it was made."""

    statement: Statement
    at: datetime

    @property
    def lead(self) -> str:
        return lead_of(self.statement.body)

    @property
    def created(self) -> str:
        return topics.iso_time(self.at.timestamp())

    @property
    def stamp(self) -> str:
        return f"Said on {self.at:%Y-%m-%d at %H:%M:%S}:"


class Note(msgspec.Struct, frozen=True):
    stored: Stored
    topic: Topic
    retired: bool

    def likeness_to(self, statement: Statement) -> float:
        topic = self.topic
        return likeness(statement, topic.name, topic.description, topic.body[:COMPARED_CHARS])


def heard_in(turns: Sequence[Turn], earlier: str) -> Iterator[Heard]:
    """The statements in some turns of one session; `earlier` is what the assistant said before."""
    for turn in turns:
        for part in turn.parts:
            if part.kind == "assistant":
                earlier = part.text
            elif part.kind == "prompt" and part.source in SPOKEN_SOURCES:
                at = said_at(part) or datetime.now(UTC).astimezone()
                found = statements_in(part.text, previous_assistant=earlier, said_at=at)
                yield from (Heard(statement, at) for statement in found)


def lead_of(body: str) -> str:
    """What a memory says, without the standing words on how to apply it; on one line."""
    return " ".join(body.partition(_HOW)[0].replace("**Why:**", "").split())


class Keeper:
    """Saves statements into one memory directory; `again` when these turns were begun before."""

    def __init__(
        self, store: Store, directory: MemoryDirectory, session_id: str, *, again: bool = False
    ) -> None:
        self._store = store
        self._directory = directory
        self._session_id = session_id
        self._again = again
        self._notes = list(self._existing())

    def keep(self, heard: Heard) -> Stored | None:
        """The memory that now says it; None when one said it already."""
        if any(self._is_told_by(note, heard) for note in self._notes):
            return None
        old = self._nearest(heard.statement)
        if old is None:
            return self._save(heard)
        if heard.statement.corrects or contradicts(heard.lead, lead_of(old.topic.body)):
            return self._save(heard, supersedes=old)
        if topic_words(heard.lead) <= topic_words(f"{old.topic.description} {old.topic.body}"):
            return None
        return self._add(heard, old)

    def _is_told_by(self, note: Note, heard: Heard) -> bool:
        if heard.lead not in lead_of(note.topic.body):
            return False
        # A turn that is done again meets its own memory, retired by what was said later in it.
        own = note.topic.created == heard.created or heard.stamp in note.topic.body
        return not note.retired or (self._again and own)

    def _nearest(self, statement: Statement) -> Note | None:
        enough = CORRECTED_LIKENESS if statement.corrects else NEAR_LIKENESS
        near = [
            (note.likeness_to(statement), note)
            for note in self._notes
            if not note.retired and note.topic.type == statement.type
        ]
        best = max(near, key=lambda one: one[0], default=None)
        return best[1] if best and best[0] >= enough else None

    def _save(self, heard: Heard, supersedes: Note | None = None) -> Stored:
        statement = heard.statement
        topic = Topic(
            name=statement.name,
            description=statement.description,
            type=statement.type,
            created=heard.created,
            source=self._session_id,
            trust=statement.trust,
            supersedes=(supersedes.stored.file,) if supersedes else (),
            body=statement.body,
        )
        stored = self._store.save(
            self._directory, topic, cause="extraction", session_id=self._session_id
        )
        if supersedes:
            self._replace(supersedes, msgspec.structs.replace(supersedes, retired=True))
        self._notes.append(Note(stored, stored.topic, retired=False))
        return stored

    def _add(self, heard: Heard, old: Note) -> Stored:
        stored = self._store.write(
            self._directory,
            old.stored.file,
            with_addition(old.stored.text, f"{heard.stamp} {heard.lead}"),
            over=old.stored.version,
            cause="extraction",
            session_id=self._session_id,
        )
        self._replace(old, Note(stored, stored.topic, retired=False))
        return stored

    def _replace(self, old: Note, new: Note) -> None:
        self._notes[self._notes.index(old)] = new

    def _existing(self) -> Iterator[Note]:
        for one in self._store.scan(self._directory):
            try:
                stored = self._store.read(self._directory, one.file)
            except MemorydError:  # gone since it was listed, or no plain file
                continue
            yield Note(stored, stored.topic, one.retired)


def with_addition(text: str, sentence: str) -> str:
    """The memory with one more paragraph, above how to apply it where that is said."""
    head, how, rest = text.rstrip("\n").partition(f"\n{_HOW}")
    return f"{head.rstrip()}\n\n{sentence}\n" + (f"\n{_HOW}{rest}\n" if how else "")


def contradicts(new: str, old: str) -> bool:
    """Whether, of two statements on one subject, the new one forbids or counts otherwise."""
    numbers, known = set(_NUMBER.findall(new)), set(_NUMBER.findall(old))
    counts_otherwise = not (known <= numbers or numbers <= known)
    return counts_otherwise or bool(_NEGATED.search(new)) != bool(_NEGATED.search(old))


class EmbeddedExtractor:
    def __init__(self, store: Store) -> None:
        self._store = store

    async def extract(self, task: Task) -> Outcome:
        files = await anyio.to_thread.run_sync(self._extract, task)
        return Outcome("done", "done", files=files)

    def _extract(self, task: Task) -> tuple[str, ...]:
        heard = list(heard_in(task.turns, task.earlier))
        if not heard:
            return ()
        keeper = Keeper(self._store, task.project.memory, task.session_id, again=task.is_repeated)
        kept = [stored for one in heard if (stored := keeper.keep(one))]
        return tuple(dict.fromkeys(stored.file for stored in kept))
