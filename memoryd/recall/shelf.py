"""One memory directory as recall searches it.

What is searched and what is served is the same text: masked and without anything invisible, since
people and agents write files too, and a model sees the answer.
"""

from typing import NamedTuple

import msgspec

from memoryd.base.file_stamp import FileStamp
from memoryd.memories.records import MemoryDirectory, Stored
from memoryd.memories.rules.topics import Topic, cut_for_recall, is_retired, title_of
from memoryd.recall.embeddings import Embeddings
from memoryd.recall.rules.index import Document, Index
from memoryd.recall.rules.vectors import Vector
from memoryd.text.invisible import strip_invisible
from memoryd.text.masking.mask import mask_each


class Row(msgspec.Struct, frozen=True):
    """What recall needs of a memory beside the index, as it will be served: masked and cut."""

    directory: MemoryDirectory
    file: str
    topic: Topic
    modified: float
    mark: FileStamp | None
    content: str
    truncated: bool

    @property
    def path(self) -> str:
        return f"{self.directory.path}/{self.file}"


class Prepared(msgspec.Struct, frozen=True):
    """A memory with all done that can be done in a thread; a shelf has only to take it in."""

    row: Row
    document: Document
    vector: Vector | None


class UnreadMemory(NamedTuple):
    """A memory whose vectors are still to be made, with the ticket to hand them in by."""

    ticket: int
    document: Document


class Shelf:
    """The searchable memories of one directory."""

    def __init__(self, directory: MemoryDirectory) -> None:
        self.directory = directory
        self.index = Index()
        self.rows: dict[str, Row] = {}
        self.without_vectors: dict[str, UnreadMemory] = {}
        self.is_enriched = False
        self._superseded: frozenset[str] = frozenset()
        self._retired: tuple[str, frozenset[str]] | None = None

    def put(self, one: Prepared, *, lacks_vectors: bool) -> None:
        """Makes a memory findable; what it lacks of vectors is to be made later."""
        key = one.row.path
        ticket = self.index.put(one.document)
        if one.vector is not None:
            self.index.give_word_vector(key, ticket, one.vector)
        if lacks_vectors:
            self.without_vectors[key] = UnreadMemory(ticket, one.document)
        self._notice(self.rows.get(key))
        self._notice(one.row)
        self.rows[key] = one.row

    def remove(self, file: str) -> None:
        key = f"{self.directory.path}/{file}"
        self.index.remove(key)
        self._notice(self.rows.pop(key, None))

    def retired(self, today: str) -> frozenset[str]:
        """Keys of the memories that were replaced or whose time is over."""
        if self._retired is None or self._retired[0] != today:
            rows = self.rows.items()
            self._superseded = frozenset(old for _, row in rows for old in row.topic.supersedes)
            over = (key for key, row in rows if self._is_over(row, today))
            self._retired = (today, frozenset(over))
        return self._retired[1]

    def _is_over(self, row: Row, today: str) -> bool:
        return is_retired(row.file, row.topic, self._superseded, today)

    def _notice(self, row: Row | None) -> None:
        """Who is retired is asked anew, but only for one of the few that have to do with it."""
        if row is not None and (
            row.topic.supersedes or row.topic.valid_until or row.file in self._superseded
        ):
            self._retired = None


def prepared(stored: Stored, meaning: Embeddings, *, with_vector: bool) -> Prepared:
    """About a millisecond of work for a memory of some lines."""
    topic = shown_topic(stored)
    document = document_of(stored, topic)
    vector = meaning.by_words(document, 0).words if with_vector else None
    return Prepared(row_of(stored, topic), document, vector)


def shown_topic(stored: Stored) -> Topic:
    """What a file says, as far as it may be searched and shown."""
    topic = stored.topic
    name, description, body = mask_each(
        [" ".join(topic.name.split()), topic.description, strip_invisible(topic.body)]
    )
    return msgspec.structs.replace(topic, name=name, description=description, body=body)


def row_of(stored: Stored, topic: Topic) -> Row:
    content, truncated = cut_for_recall(topic.body, stored.path)
    return Row(
        directory=stored.directory,
        file=stored.file,
        topic=msgspec.structs.replace(topic, body=""),
        modified=stored.modified,
        mark=stored.stamp,
        content=content,
        truncated=truncated,
    )


def document_of(stored: Stored, topic: Topic) -> Document:
    return Document(
        key=stored.path,
        name=title_of(topic, stored.file),
        description=topic.description,
        body=topic.body,
        type=topic.type or "",
        modified_at=stored.modified,
    )
