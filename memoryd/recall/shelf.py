"""One memory directory as recall searches it.

What is searched and what is served is the same text: masked and without anything invisible, since
people and agents write files too, and a model sees the answer.
"""

import msgspec

from memoryd.files import Mark
from memoryd.invisible import strip_invisible
from memoryd.masking import mask_each
from memoryd.ranking.index import Document, Index
from memoryd.ranking.vectors import Vector
from memoryd.recall.senses import Meaning
from memoryd.stored import MemoryDirectory, Stored
from memoryd.topics import Topic, cut_for_recall, is_retired, title_of


class Row(msgspec.Struct, frozen=True):
    """What recall needs of a memory beside the index, as it will be served: masked and cut."""

    directory: MemoryDirectory
    file: str
    topic: Topic
    modified: float
    mark: Mark | None
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


class Shelf:
    """The searchable memories of one directory."""

    def __init__(self, directory: MemoryDirectory) -> None:
        self.directory = directory
        self.index = Index()
        self.rows: dict[str, Row] = {}
        self.without_vectors: dict[str, int] = {}
        self.is_enriched = False
        self._superseded: frozenset[str] | None = None
        self._dated: list[str] = []

    def put(self, one: Prepared, *, lacks_vectors: bool) -> None:
        """Makes a memory findable; what it lacks of vectors is to be made later."""
        key = one.row.path
        ticket = self.index.put(one.document)
        if one.vector is not None:
            self.index.give_word_vector(key, ticket, one.vector)
        if lacks_vectors:
            self.without_vectors[key] = ticket
        self.rows[key] = one.row
        self._superseded = None

    def remove(self, file: str) -> None:
        key = f"{self.directory.path}/{file}"
        self.index.remove(key)
        self.rows.pop(key, None)
        self._superseded = None

    def retired(self, today: str) -> set[str]:
        """Keys of the memories that were replaced or whose time is over."""
        if self._superseded is None:
            self._superseded = frozenset(
                old for row in self.rows.values() for old in row.topic.supersedes
            )
            self._dated = [key for key, row in self.rows.items() if row.topic.valid_until]
        over = {
            key
            for key in self._dated
            if key in self.rows
            and is_retired(self.rows[key].file, self.rows[key].topic, frozenset(), today)
        }
        return over | {f"{self.directory.path}/{file}" for file in self._superseded}


def prepared(stored: Stored, meaning: Meaning, *, with_vector: bool) -> Prepared:
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
        mark=stored.mark,
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
