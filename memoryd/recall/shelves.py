"""The memories of each directory as recall searches them, kept true as files come and go.

A shelf is built in a worker thread and then belongs to the event loop. One changed file touches
what is its own and nothing else. A large shelf is there by its words first; what costs more, the
vectors of its memories, is made in the background while it answers.
"""

import itertools
import os
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from typing import Final

import anyio
import anyio.to_thread
import msgspec
import structlog

from memoryd.errors import MemorydError
from memoryd.invisible import strip_invisible
from memoryd.masking import mask
from memoryd.ranking.index import Document, Index
from memoryd.recall.senses import MadeVectors, Meaning
from memoryd.store import Store
from memoryd.stored import MemoryDirectory, Stored
from memoryd.topics import Topic, cut_for_recall, is_retired, title_of

MOST_SHELVES: Final = 64
VECTORS_AT_ONCE: Final = 2_000
VECTORS_IN_A_GO: Final = 64

Soon = Callable[[str, Callable[[], Awaitable[object]]], None]

log = structlog.get_logger(__name__)


class Row(msgspec.Struct, frozen=True):
    """What recall needs of a memory beside the index, as it will be served: masked and cut."""

    directory: MemoryDirectory
    file: str
    topic: Topic
    modified: float
    content: str
    truncated: bool

    @property
    def path(self) -> str:
        return f"{self.directory.path}/{self.file}"


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

    def put(self, stored: Stored, meaning: Meaning, *, vectors_later: bool) -> None:
        """Makes a memory findable: by words at once, by meaning at once or a little later."""
        topic = stored.topic
        document = document_of(stored, topic)
        ticket = self.index.put(document)
        if not vectors_later:
            meaning.by_words(document, ticket).give_to(self.index)
        if vectors_later or meaning.encoder is not None:
            self.without_vectors[stored.path] = ticket
        self.rows[stored.path] = row_of(stored, topic)
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


class Shelves:
    """All shelves in use. Everything here but the building runs on the event loop."""

    def __init__(self, store: Store, meaning: Meaning, soon: Soon) -> None:
        self._store = store
        self._meaning = meaning
        self._soon = soon
        self._shelves: dict[str, Shelf] = {}
        self._building: dict[str, anyio.Event] = {}
        self._changed_meanwhile: dict[str, set[str]] = {}

    async def get(self, directories: Iterable[MemoryDirectory]) -> list[Shelf]:
        """The shelves of these directories, built where they are not there yet."""
        found = []
        for directory in directories:
            shelf = self._shelves.get(directory.path)
            if shelf is None:
                shelf = await self._built(directory)
            found.append(shelf)
        return found

    def present(self, directories: Iterable[MemoryDirectory]) -> list[Shelf]:
        """Those of the shelves that need no waiting for."""
        return [
            self._shelves[directory.path]
            for directory in directories
            if directory.path in self._shelves
        ]

    def fresh_row(self, shelf: Shelf, key: str) -> Row | None:
        """The row of a memory as its file is now: one look at the file, a read if it changed."""
        row = shelf.rows.get(key)
        if row is None:
            return None
        try:
            is_same = os.lstat(row.path).st_mtime == row.modified
        except OSError:
            is_same = False
        if not is_same:
            self.update(row.directory, row.file)
        return shelf.rows.get(key)

    def update(self, directory: MemoryDirectory, file: str) -> None:
        """One file came, changed or went."""
        shelf = self._shelves.get(directory.path)
        if shelf is None:
            # The shelf may be under way, and may have read this file before it changed.
            if directory.path in self._building:
                self._changed_meanwhile.setdefault(directory.path, set()).add(file)
            return
        try:
            shelf.put(self._store.read(directory, file), self._meaning, vectors_later=False)
        except MemorydError:
            shelf.remove(file)
        self._enrich_soon(shelf)

    async def _built(self, directory: MemoryDirectory) -> Shelf:
        """Builds a shelf once, however many wait for it."""
        waiting = self._building.get(directory.path)
        if waiting is not None:
            await waiting.wait()
            return self._shelves.get(directory.path) or await self._built(directory)
        self._building[directory.path] = done = anyio.Event()
        try:
            shelf = await anyio.to_thread.run_sync(self._build, directory)
            if len(self._shelves) >= MOST_SHELVES:
                self._shelves.pop(next(iter(self._shelves)))
            self._shelves[directory.path] = shelf
            for file in self._changed_meanwhile.pop(directory.path, set()):
                self.update(directory, file)
            self._enrich_soon(shelf)
        finally:
            del self._building[directory.path]
            done.set()
        return shelf

    def _build(self, directory: MemoryDirectory) -> Shelf:
        shelf = Shelf(directory)
        stored = self._store.read_all(directory)
        is_large = len(stored) > VECTORS_AT_ONCE
        for one in stored:
            shelf.put(one, self._meaning, vectors_later=is_large)
        log.debug("shelf-built", folder=directory.path, memories=len(stored))
        return shelf

    def _enrich_soon(self, shelf: Shelf) -> None:
        if shelf.without_vectors and not shelf.is_enriched:
            shelf.is_enriched = True
            self._soon("vectors", lambda: self._enrich(shelf))

    async def _enrich(self, shelf: Shelf) -> None:
        """Makes the vectors that are missing, some at a time, while the shelf goes on answering."""
        try:
            while shelf.without_vectors:
                some = dict(itertools.islice(shelf.without_vectors.items(), VECTORS_IN_A_GO))
                made = await anyio.to_thread.run_sync(self._made, shelf.directory, some)
                for one in made:
                    one.give_to(shelf.index)
                for key, ticket in some.items():
                    if shelf.without_vectors.get(key) == ticket:
                        del shelf.without_vectors[key]
        finally:
            shelf.is_enriched = False

    def _made(self, directory: MemoryDirectory, some: dict[str, int]) -> list[MadeVectors]:
        made = []
        for key, ticket in some.items():
            with suppress(MemorydError):  # gone meanwhile: its ticket is worth nothing anyway
                stored = self._store.read(directory, key.removeprefix(f"{directory.path}/"))
                made.append(self._meaning.by_all(document_of(stored, stored.topic), ticket))
        return made


def row_of(stored: Stored, topic: Topic) -> Row:
    # People and agents write files too. A model sees these, and an answer has no time for masks.
    name, description, body = masked_parts(
        " ".join(topic.name.split()), topic.description, strip_invisible(topic.body)
    )
    content, truncated = cut_for_recall(body, stored.path)
    lean = msgspec.structs.replace(topic, name=name, description=description, body="")
    return Row(stored.directory, stored.file, lean, stored.modified, content, truncated)


def masked_parts(*parts: str) -> list[str]:
    """Each part masked; in one go where that is possible, since a look costs more than a letter."""
    masked = mask("\n".join(parts)).split("\n", len(parts) - 1)
    return masked if len(masked) == len(parts) else [mask(part) for part in parts]


def document_of(stored: Stored, topic: Topic) -> Document:
    return Document(
        key=stored.path,
        name=title_of(topic, stored.file),
        description=topic.description,
        body=topic.body,
        type=topic.type or "",
        modified_at=stored.modified,
    )
