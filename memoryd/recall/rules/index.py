"""The memories of one directory, held in memory for the ranking.

One document is added, changed or removed at a time, and only its own terms and vectors are touched.
Vectors are made by worker threads and may come late: `put` returns a ticket, and vectors handed in
with the ticket of an older content are ignored.

The daemon calls everything here on its event loop; nothing is locked.
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import msgspec
import numpy as np

from memoryd.recall.rules.byte_rows import Matrix, Vector
from memoryd.recall.rules.postings import Postings
from memoryd.recall.rules.vectors import Vectors
from memoryd.text.terms import passages_of, terms_of

NAME_WEIGHT = 2.0
PASSAGE_CHARS = 500


class Document(msgspec.Struct, frozen=True):
    key: str
    name: str
    description: str
    body: str
    type: str = ""
    modified_at: float = 0.0


class IndexEntry(msgspec.Struct, frozen=True, gc=False):
    """What the index keeps of a document besides its terms."""

    key: str
    ticket: int
    slot: int
    type: str
    modified_at: float


class Index:
    def __init__(self) -> None:
        self.documents = Postings()
        self.word_vectors = Vectors()
        self.sentence_vectors = Vectors()
        self.bar = math.inf  # until it is measured, nothing is shown unasked
        self._entries: dict[str, IndexEntry] = {}
        self._by_slot: list[IndexEntry | None] = []
        self._tickets = 0

    @classmethod
    def filled(
        cls,
        documents: Sequence[tuple[str, str, float]],
        postings: Postings,
        words: Vectors,
        sentences: Vectors,
    ) -> "Index":
        """All documents at once, by key, type and time; slot after slot as in the other parts."""
        made = cls()
        made.documents, made.word_vectors, made.sentence_vectors = postings, words, sentences
        for slot, (key, type_, modified_at) in enumerate(documents):
            entry = IndexEntry(key, slot + 1, slot, type_, modified_at)
            made._entries[key] = entry
            made._by_slot.append(entry)
        made._tickets = len(documents)
        return made

    def __len__(self) -> int:
        return len(self._entries)

    def put(self, document: Document, counts: Mapping[str, float] | None = None) -> int:
        """Adds or replaces a document; returns the ticket to hand its vectors in with.

        Counting the terms of a long document takes a while: pass `counts` made in a thread.
        """
        self.remove(document.key)
        self._tickets += 1
        slot = self.documents.add(weighted_counts(document) if counts is None else counts)
        entry = IndexEntry(
            key=document.key,
            ticket=self._tickets,
            slot=slot,
            type=document.type,
            modified_at=document.modified_at,
        )
        self._entries[document.key] = entry
        self._by_slot += [None] * (slot + 1 - len(self._by_slot))
        self._by_slot[slot] = entry
        return entry.ticket

    def remove(self, key: str) -> None:
        """Removes a document, if it is there."""
        entry = self._entries.pop(key, None)
        if entry is None:
            return
        self._by_slot[entry.slot] = None
        self.documents.drop(entry.slot)
        self.word_vectors.drop(entry.slot)
        self.sentence_vectors.drop(entry.slot)

    def give_word_vector(self, key: str, ticket: int, vector: Vector) -> None:
        entry = self._entries.get(key)
        if entry is not None and entry.ticket == ticket:
            self.word_vectors.put(entry.slot, vector[np.newaxis])

    def give_sentence_vectors(self, key: str, ticket: int, rows: Matrix) -> None:
        """One row for each of the document's passages, in any order."""
        entry = self._entries.get(key)
        if entry is not None and entry.ticket == ticket:
            self.sentence_vectors.put(entry.slot, rows)

    def entry_in(self, slot: int) -> IndexEntry | None:
        return self._by_slot[slot]

    def slots_of(self, keys: Iterable[str]) -> list[int]:
        return [self._entries[key].slot for key in keys if key in self._entries]


def sentence_passages(document: Document) -> list[str]:
    """The texts whose sentence vectors represent the document: each passage under its heading."""
    heading = f"{document.name}\n{document.description}\n"
    return [heading + text for text in passages_of(document.body, PASSAGE_CHARS) or [""]]


def weighted_counts(document: Document) -> Mapping[str, float]:
    """How often the document has each term; those of its name count more."""
    counts: dict[str, float] = dict(Counter(terms_of(f"{document.description}\n{document.body}")))
    for term in terms_of(document.name):
        counts[term] = counts.get(term, 0.0) + NAME_WEIGHT
    return counts
