"""Saves what a person stated into one memory directory: once, in place of what it corrects.

Rules
- What a memory already says, word for word, is not saved again. So a turn that is processed twice,
  after a crash, changes nothing.
- A statement on the subject of an existing memory of the same type adds what is new to it, and
  nothing if no word is new.
- A statement that surely takes the place of one memory (`contradiction`) supersedes it, unless the
  memory is newer: an import or a retry may bring back what was since withdrawn. If it fits several,
  or only perhaps, nothing is retired.
- What nobody is known to have written neither counts as saved nor gets an addition.
- A statement that says when it ends ("until 2026-12-03") is valid until then.
- What an agent concluded never changes or supersedes what a person said; it is saved beside it.
"""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import msgspec

from memoryd.base.timestamps import iso_time
from memoryd.extraction.known_memories import (
    COMPARED_CHARS,
    KnownMemories,
    KnownMemory,
    known_memory,
)
from memoryd.extraction.rules.messages import said_at
from memoryd.extraction.rules.restatement import HOW_TO_APPLY, Relation, core_of, relation_of
from memoryd.memories.records import MemoryDirectory, Stored
from memoryd.memories.rules import headers
from memoryd.memories.rules.expiry import end_of
from memoryd.memories.rules.topics import FOUND, Topic, Trust
from memoryd.memories.store import Store
from memoryd.memories.version_table import Cause
from memoryd.transcripts.rules.turns import TYPED_SOURCES, Turn

if TYPE_CHECKING:
    from memoryd.extraction.rules.statements import Statement


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
    def is_persons(self) -> bool:
        return self.trust == "user-said"

    @property
    def core(self) -> str:
        return core_of(self.statement.body)

    @property
    def readings(self) -> frozenset[str]:
        """The sentence with and without dates, as it is compared with memories."""
        return frozenset({self.statement.said or self.statement.text, self.statement.dated} - {""})

    @property
    def keys(self) -> frozenset[str]:
        """What a memory must have in common with it to be about the same."""
        from memoryd.extraction.rules.common_words import keys_of_statement  # noqa: PLC0415 - its tables take a while

        return keys_of_statement(self.readings, self.core, self.statement.around)

    @property
    def created(self) -> str:
        return iso_time(self.at.timestamp())

    @property
    def stamp(self) -> str:
        return f"Said on {self.at:%Y-%m-%d at %H:%M:%S}:"


class Contradicted(msgspec.Struct, frozen=True):
    """The memories whose place a statement takes: surely, and perhaps."""

    sure: tuple[KnownMemory, ...] = ()
    unsure: tuple[KnownMemory, ...] = ()

    @property
    def one(self) -> KnownMemory | None:
        """The memory that is meant, if that is clear."""
        return self.sure[0] if len(self.sure) == 1 else None

    @property
    def in_doubt(self) -> tuple[KnownMemory, ...]:
        """Those that somebody must decide about."""
        return self.unsure if self.one else self.sure + self.unsure


def statements_from(turns: Sequence[Turn]) -> Iterator[SourcedStatement]:
    """What the person stated, or may have stated, in turns of one session."""
    from memoryd.extraction.rules.statements import statements_in  # noqa: PLC0415 - its patterns take a while

    for turn in turns:
        for part in turn.parts:
            if part.kind == "prompt" and part.source in TYPED_SOURCES:
                at = said_at(part) or datetime.now(UTC).astimezone()
                for one in statements_in(part.text, said_at=at):
                    yield SourcedStatement(one, at, turn.session_id, message=part.text)


class StatementSaver:
    """Saves statements into one memory directory; `again` if these turns were begun before.

    `memories` are what is known of it from before.
    """

    def __init__(
        self,
        store: Store,
        directory: MemoryDirectory,
        *,
        cause: Cause = "extraction",
        again: bool = False,
        memories: KnownMemories | None = None,
    ) -> None:
        self._store = store
        self._directory = directory
        self._cause: Cause = cause
        self._again = again
        self._known = (memories or KnownMemories(store)).of(directory)
        self._judged: tuple[SourcedStatement, Contradicted] | None = None

    def save(self, sourced: SourcedStatement) -> Stored | None:
        """The memory that now says it; None if one already did."""
        if self.is_known(sourced):
            return None
        contradicted = self.contradicted(sourced)
        old = contradicted.one
        if old is not None:
            is_newer = old.topic.created > sourced.created
            return None if is_newer else self._create(sourced, supersedes=old)
        relation, near = self._nearest(sourced)
        may_change = near is None or near.topic.trust != "user-said" or sourced.is_persons
        if near is None or contradicted.in_doubt or not may_change:
            return self._create(sourced)
        return self._add(sourced, near) if relation == "adds" else None

    def retire(self, sourced: SourcedStatement, old: KnownMemory) -> None:
        """Takes a memory back without putting one in its place."""
        if old.topic.created > sourced.created:
            return
        self._store.retire(
            self._directory, old.stored.file, cause=self._cause, session_id=sourced.session_id
        )
        self._replace(old, msgspec.structs.replace(old, retired=True))

    def is_known(self, sourced: SourcedStatement) -> bool:
        """Whether a memory already says it."""
        core = sourced.core
        return any(
            self._is_in(memory, sourced)
            for memory in self._known
            if core in memory.core and memory.topic.trust != FOUND
        )

    def contradicted(self, sourced: SourcedStatement) -> Contradicted:
        """The memories that this statement takes back or replaces."""
        if self._judged is None or self._judged[0] is not sourced:
            self._judged = (sourced, self._contradicted(sourced))
        return self._judged[1]

    def _contradicted(self, sourced: SourcedStatement) -> Contradicted:
        from memoryd.extraction.rules.contradiction import strongest  # noqa: PLC0415 - its tables take a while

        readings, around = sourced.readings, sourced.statement.around
        found: dict[str, list[KnownMemory]] = {"none": [], "unsure": [], "sure": []}
        for memory in self._related_to(sourced):
            is_guarded = memory.topic.trust == "user-said" and not sourced.is_persons
            if memory.retired or is_guarded:
                continue
            core = memory.core[:COMPARED_CHARS]
            verdict = strongest(readings, core, is_stated=sourced.is_sure, around=around)
            found[verdict].append(memory)
        return Contradicted(tuple(found["sure"]), tuple(found["unsure"]))

    def _related_to(self, sourced: SourcedStatement) -> list[KnownMemory]:
        """The memories that it can be about, oldest first."""
        keys = sourced.keys
        return [memory for memory in self._known if not keys.isdisjoint(memory.keys)]

    def relation_to_known(self, sourced: SourcedStatement) -> tuple[Relation, str]:
        """How it relates to what is saved, and the file that it is about."""
        if self.is_known(sourced):
            return "same", ""
        relation, old = self._nearest(sourced)
        return relation, old.stored.file if old else ""

    def _is_in(self, memory: KnownMemory, sourced: SourcedStatement) -> bool:
        # A turn that is processed again finds its own memory, retired by what it said later.
        is_own = memory.topic.created == sourced.created or sourced.stamp in memory.topic.body
        return not memory.retired or (self._again and is_own)

    def _nearest(self, sourced: SourcedStatement) -> tuple[Relation, KnownMemory | None]:
        """The memory that the statement is about; the newest if there are several."""
        statement = sourced.statement
        for memory in reversed(self._related_to(sourced)):
            if memory.retired or memory.topic.type != statement.type:
                continue
            if memory.topic.trust == FOUND:  # the person's words do not go into a stranger's file
                continue
            old = memory.core[:COMPARED_CHARS]
            relation = relation_of(sourced.core, old)
            if relation != "other":
                return relation, memory
        return "other", None

    def _create(self, sourced: SourcedStatement, supersedes: KnownMemory | None = None) -> Stored:
        statement = sourced.statement
        type_ = statement.type
        if supersedes is not None and statement.certainty == "correction":
            type_ = supersedes.topic.type or type_
        topic = Topic(
            name=statement.name,
            description=statement.description,
            type=type_,
            created=sourced.created,
            source=sourced.session_id,
            trust=sourced.trust,
            supersedes=(supersedes.stored.file,) if supersedes else (),
            valid_until=end_of(statement.text, sourced.at.date()),
            body=statement.body,
        )
        stored = self._store.save(
            self._directory, topic, cause=self._cause, session_id=sourced.session_id
        )
        if supersedes:
            self._replace(supersedes, msgspec.structs.replace(supersedes, retired=True))
        self._known.append(known_memory(stored))
        self._judged = None
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
        self._replace(old, known_memory(stored))
        return stored

    def _replace(self, old: KnownMemory, new: KnownMemory) -> None:
        self._judged = None
        self._known[self._known.index(old)] = new


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
