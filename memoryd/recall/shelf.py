"""One memory directory as recall searches it.

What is searched and what is served is the same text: masked and without invisible characters, since
people and agents write files too, and a model reads the answer.
"""

import os
from collections.abc import Mapping
from typing import NamedTuple

import msgspec

from memoryd.base.file_stamp import FileStamp
from memoryd.memories.records import MemoryDirectory, Stored
from memoryd.memories.rules.boilerplate import without_boilerplate
from memoryd.memories.rules.origins import Origin
from memoryd.memories.rules.topics import FOUND, Topic, cut_for_recall, is_retired, title_of
from memoryd.recall.embeddings import Embeddings
from memoryd.recall.rules.byte_rows import Vector
from memoryd.recall.rules.index import Document, Index, weighted_counts
from memoryd.text.invisible import strip_invisible
from memoryd.text.masking.mask import mask_each


class Row(msgspec.Struct, frozen=True, gc=False):
    """A memory as it is served, masked and cut, beside its entry in the index.

    `version` is the hash of its bytes. The text is UTF-8: one wide character would double a `str`.
    """

    directory: MemoryDirectory
    file: str
    topic: Topic
    modified: float
    mark: FileStamp | None
    text: bytes
    truncated: bool
    version: bytes = b""
    origin: Origin = "found"
    read_at: float = 0.0

    @property
    def content(self) -> str:
        return self.text.decode("utf-8", "surrogatepass")

    @property
    def path(self) -> str:
        return f"{self.directory.path}/{self.file}"


def is_as_on_disk(row: Row) -> bool:
    """Whether the file is still the one that was read, by one lstat."""
    try:
        return row.mark is not None and row.mark.is_of(os.lstat(row.path))
    except OSError:
        return False


class Prepared(msgspec.Struct, frozen=True):
    """A memory with everything done that can be done in a thread, ready to put on a shelf."""

    row: Row
    document: Document
    counts: Mapping[str, float]
    vector: Vector | None


class PendingVectors(NamedTuple):
    """A memory whose vectors are not made yet, and the ticket to hand them in with."""

    ticket: int
    document: Document


class Shelf:
    """The searchable memories of one directory."""

    def __init__(
        self,
        directory: MemoryDirectory,
        index: Index | None = None,
        rows: dict[str, Row] | None = None,
    ) -> None:
        self.directory = directory
        self.index = Index() if index is None else index
        self.rows = {} if rows is None else rows
        self.without_vectors: dict[str, PendingVectors] = {}
        self.is_making_vectors = False
        self.is_measuring = False
        self.is_making_sketch = False
        self.changes = 0  # since the bar was measured
        self.logs: set[str] = set()
        self.revision = 0  # one more with every change
        self.kept_revision = 0  # the one that is on disk
        self.is_being_kept = False
        self._superseded: frozenset[str] = frozenset()
        self._retired: frozenset[str] | None = None

    def put(self, one: Prepared, *, lacks_vectors: bool) -> None:
        """Makes a memory findable; missing vectors are made later."""
        key = one.row.path
        self.changes += 1
        self.revision += 1
        ticket = self.index.put(one.document, one.counts)
        if one.vector is not None:
            self.index.give_word_vector(key, ticket, one.vector)
        if lacks_vectors:
            self.without_vectors[key] = PendingVectors(ticket, one.document)
        self._reset_retired(self.rows.get(key))
        self._reset_retired(one.row)
        self.rows[key] = one.row

    def remove(self, file: str) -> None:
        key = f"{self.directory.path}/{file}"
        self.index.remove(key)
        self.changes += 1
        self.revision += 1
        self._reset_retired(self.rows.pop(key, None))

    def retired(self) -> frozenset[str]:
        """Keys of the memories that were superseded or taken back.

        One that has ended is not: it is served, and says so.
        """
        if self._retired is None:
            rows = self.rows.items()
            self._superseded = frozenset(
                old for _, row in rows if row.topic.trust != FOUND for old in row.topic.supersedes
            )
            found = (key for key, row in rows if self._is_retired(row))
            self._retired = frozenset(found)
        return self._retired

    def _is_retired(self, row: Row) -> bool:
        return is_retired(row.file, row.topic, self._superseded, today="")

    def _reset_retired(self, row: Row | None) -> None:
        """Forgets which memories are retired if this one has to do with it; few have."""
        if row is not None and (
            row.topic.supersedes or row.topic.retired or row.file in self._superseded
        ):
            self._retired = None


def prepared(
    stored: Stored, embeddings: Embeddings, *, with_vector: bool, read_at: float = 0.0
) -> Prepared:
    """Takes about a millisecond for a memory of some lines; `read_at` is before it was read."""
    topic = shown_topic(stored)
    document = document_of(stored, topic)
    vector = embeddings.word_vectors_of(document, 0).words if with_vector else None
    return Prepared(row_of(stored, topic, read_at), document, weighted_counts(document), vector)


def shown_topic(stored: Stored) -> Topic:
    """The parts of a file that may be searched and shown, masked."""
    topic = stored.topic
    name, description, body = mask_each(
        [" ".join(topic.name.split()), topic.description, strip_invisible(topic.body)]
    )
    return msgspec.structs.replace(topic, name=name, description=description, body=body)


def row_of(stored: Stored, topic: Topic, read_at: float = 0.0) -> Row:
    content, truncated = cut_for_recall(topic.body, stored.path)
    return Row(
        directory=stored.directory,
        file=stored.file,
        topic=msgspec.structs.replace(topic, body=""),
        modified=stored.modified,
        mark=stored.stamp,
        text=content.encode("utf-8", "surrogatepass"),
        truncated=truncated,
        version=bytes.fromhex(stored.version),
        origin=stored.origin or "found",
        read_at=read_at,
    )


def document_of(stored: Stored, topic: Topic) -> Document:
    return Document(
        key=stored.path,
        name=title_of(topic, stored.file),
        description=topic.description,
        body=without_boilerplate(topic.body),
        type=topic.type or "",
        modified_at=stored.modified,
    )
