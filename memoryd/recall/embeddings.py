"""Vectors of queries and memories: static ones, a sentence encoder's, and a cache on disk."""

import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import msgspec
import structlog

from memoryd.base.errors import MemorydError, Unavailable
from memoryd.recall.meaning_table import MeaningTable
from memoryd.recall.rules.byte_rows import Matrix, Vector
from memoryd.recall.rules.index import Document, Index, sentence_passages
from memoryd.recall.rules.relevance import LEAST_SUBSTANCE
from memoryd.recall.rules.search import Question
from memoryd.recall.sentence_encoder import SentenceEncoder
from memoryd.recall.static_vectors import StaticVectors
from memoryd.recall.word_vectors import WordVectors
from memoryd.system.folder import make_folder

log = structlog.get_logger(__name__)

_Opened = TypeVar("_Opened", WordVectors, MeaningTable, SentenceEncoder)


class FileVectors:
    """Vectors on disk by content, a small file each; they can be made again at any time."""

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


class MadeVectors(msgspec.Struct, frozen=True):
    """The vectors of one document, and the ticket to hand them in with."""

    key: str
    ticket: int
    words: Vector | None
    sentences: Matrix | None

    def give_to(self, index: Index) -> None:
        if self.words is not None:
            index.give_word_vector(self.key, self.ticket, self.words)
        if self.sentences is not None:
            index.give_sentence_vectors(self.key, self.ticket, self.sentences)


class Embeddings:
    """The tables of static vectors and a sentence encoder, or what there is of them."""

    def __init__(self, model_dir: str | None, cache_folder: str) -> None:
        self.static = StaticVectors(None, None)
        self.encoder: SentenceEncoder | None = None
        self.problems: list[str] = []
        self._model_dir = model_dir
        self._cache = FileVectors(cache_folder)

    def load(self) -> None:
        """Takes some hundred milliseconds; call it in a thread."""
        self.static = StaticVectors(self._opened(WordVectors.open), self._opened(MeaningTable.open))
        self.encoder = self._opened(self._open_encoder)

    def question(self, text: str) -> Question:
        """The query with its vectors; with an encoder this takes some milliseconds."""
        question = self.static.question(text)
        if self.encoder is None:
            return question
        try:
            vector = self.encoder.encode_query(text)
        except Unavailable as error:
            self._report(error)
            return question
        return msgspec.structs.replace(
            question, sentence_vector=vector, unrelated_cosine=self.encoder.unrelated_cosine
        )

    def is_substantial(self, text: str) -> bool:
        """Whether a text says anything at all; without word vectors any word is assumed to."""
        return self.static.question(text).substance >= LEAST_SUBSTANCE

    def word_vectors_of(self, document: Document, ticket: int) -> MadeVectors:
        """Takes a fraction of a millisecond for a memory of some lines."""
        text = f"{document.name}\n{document.description}\n{document.body}"
        return MadeVectors(document.key, ticket, self.static.vector_of(text), None)

    def all_vectors_of(self, document: Document, ticket: int) -> MadeVectors:
        """With an encoder this takes many milliseconds, unless the vectors are in the cache."""
        made = self.word_vectors_of(document, ticket)
        if self.encoder is None:
            return made
        try:
            rows = self.encoder.encode(sentence_passages(document), self._cache)
        except Unavailable as error:
            self._report(error)
            return made
        return msgspec.structs.replace(made, sentences=rows)

    def _opened(self, open_it: Callable[[], _Opened | None]) -> _Opened | None:
        try:
            return open_it()
        except Unavailable as error:
            self._report(error)
            return None

    def _report(self, error: Unavailable) -> None:
        problem = f"{error.message}; {error.hint}"
        if problem not in self.problems:
            log.warning("no-vectors", reason=error.message)
            self.problems.append(problem)

    def _open_encoder(self) -> SentenceEncoder | None:
        return SentenceEncoder.open(Path(self._model_dir)) if self._model_dir else None
