"""The memories of each directory as recall searches them, kept true as files come and go.

A shelf is built in a worker thread and then belongs to the event loop. One changed file touches
what is its own and nothing else.
"""

import hashlib
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Final

import anyio
import anyio.to_thread
import msgspec
import structlog

from memoryd.encoder import SentenceEncoder
from memoryd.errors import MemorydError, Unavailable
from memoryd.files import make_folder
from memoryd.invisible import strip_invisible
from memoryd.meaning import WordVectors, installed_folder
from memoryd.ranking.index import Document, Index, sentence_passages
from memoryd.ranking.search import Question
from memoryd.store import Store
from memoryd.stored import MemoryDirectory, Stored
from memoryd.topics import Topic, cut_for_recall, is_retired, title_of

MOST_SHELVES: Final = 64

log = structlog.get_logger(__name__)


class Row(msgspec.Struct, frozen=True):
    """What recall needs of a memory beside the index; `content` is cut as it will be served."""

    directory: MemoryDirectory
    file: str
    topic: Topic
    modified: float
    content: str
    truncated: bool

    @property
    def path(self) -> str:
        return f"{self.directory.path}/{self.file}"


class FileVectors:
    """Vectors kept on disk by content, a small file each; they can be made again at any time."""

    def __init__(self, folder: str) -> None:
        self._folder = Path(folder)

    def get(self, key: bytes) -> bytes | None:
        try:
            return self._path(key).read_bytes()
        except OSError:
            return None

    def put(self, key: bytes, value: bytes) -> None:
        path = self._path(key)
        try:
            make_folder(str(path.parent))
            aside = path.with_suffix(f".{os.getpid()}")
            aside.write_bytes(value)
            aside.replace(path)
        except (OSError, MemorydError):
            return

    def _path(self, key: bytes) -> Path:
        name = hashlib.sha256(key).hexdigest()
        return self._folder / name[:2] / name


class Meaning:
    """What there is to compare meaning by: word vectors, a sentence encoder, both or neither."""

    def __init__(self, model_dir: str | None, cache_folder: str) -> None:
        self.words: WordVectors | None = None
        self.encoder: SentenceEncoder | None = None
        self.problems: list[str] = []
        self._model_dir = model_dir
        self._cache = FileVectors(cache_folder)

    def load(self) -> None:
        """Some hundred milliseconds of work, for a thread."""
        folder = installed_folder()
        for what, open_it in (
            ("words", lambda: WordVectors.open(folder) if folder else None),
            ("encoder", self._open_encoder),
        ):
            try:
                setattr(self, what, open_it())
            except Unavailable as error:
                self.problems.append(f"{error.message}; {error.hint}")

    def question(self, text: str) -> Question:
        """The query with its vectors; with an encoder some milliseconds of work."""
        encoder = self.encoder
        return Question(
            text=text,
            word_vector=self.words.vector_of(text) if self.words else None,
            sentence_vector=encoder.encode_query(text) if encoder else None,
            unrelated_cosine=encoder.unrelated_cosine if encoder else 0.0,
        )

    def give(self, index: Index, document: Document, ticket: int) -> None:
        """Hands a document's vectors to the index that it was put into."""
        if self.words is not None:
            text = f"{document.name}\n{document.description}\n{document.body}"
            vector = self.words.vector_of(text)
            if vector is not None:
                index.give_word_vector(document.key, ticket, vector)
        if self.encoder is not None:
            rows = self.encoder.encode(sentence_passages(document), self._cache)
            index.give_sentence_vectors(document.key, ticket, rows)

    def _open_encoder(self) -> SentenceEncoder | None:
        return SentenceEncoder.open(Path(self._model_dir)) if self._model_dir else None


class Shelf:
    """The searchable memories of one directory."""

    def __init__(self, directory: MemoryDirectory) -> None:
        self.directory = directory
        self.index = Index()
        self.rows: dict[str, Row] = {}
        self._superseded: frozenset[str] | None = None
        self._dated: list[str] = []

    def put(self, stored: Stored, meaning: Meaning) -> None:
        document = document_of(stored)
        meaning.give(self.index, document, self.index.put(document))
        self.rows[stored.path] = row_of(stored)
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

    def __init__(self, store: Store, meaning: Meaning) -> None:
        self._store = store
        self._meaning = meaning
        self._shelves: dict[str, Shelf] = {}
        self._building: dict[str, anyio.Event] = {}

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
            return
        try:
            shelf.put(self._store.read(directory, file), self._meaning)
        except MemorydError:
            shelf.remove(file)

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
        finally:
            del self._building[directory.path]
            done.set()
        return shelf

    def _build(self, directory: MemoryDirectory) -> Shelf:
        shelf = Shelf(directory)
        stored = self._store.read_all(directory)
        for one in stored:
            shelf.put(one, self._meaning)
        log.debug("shelf-built", folder=directory.path, memories=len(stored))
        return shelf


def row_of(stored: Stored) -> Row:
    topic = stored.topic
    content, truncated = cut_for_recall(strip_invisible(topic.body), stored.path)
    lean = msgspec.structs.replace(topic, body="")
    return Row(stored.directory, stored.file, lean, stored.modified, content, truncated)


def document_of(stored: Stored) -> Document:
    topic = stored.topic
    return Document(
        key=stored.path,
        name=title_of(topic, stored.file),
        description=topic.description,
        body=topic.body,
        type=topic.type or "",
        modified_at=stored.modified,
    )
