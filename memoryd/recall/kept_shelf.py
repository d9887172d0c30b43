"""A shelf as bytes and back: rows, terms and vectors, so that a restart reads only what changed.

- What is read must have been made by the same code, word frequencies, word vectors and encoder:
  `maker_of` is a hash of them all. It must be of the same directory, and its parts must fit.
- A row counts only while its file has the stamp with which it was read, if that was not too young
  to be trusted, and while the journal names the same writer.
- Only what is served is kept, masked and cut; no other text of a memory.
"""

import hashlib
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from memoryd.base.file_stamp import FileStamp
from memoryd.memories.kept_files import identity_of_code
from memoryd.memories.records import MemoryDirectory
from memoryd.memories.rules.origins import Origin
from memoryd.memories.rules.topics import Topic
from memoryd.recall.embeddings import Embeddings
from memoryd.recall.rules.byte_rows import ByteRows
from memoryd.recall.rules.index import Index
from memoryd.recall.rules.packed_postings import PackedPostings, TextArrays
from memoryd.recall.rules.postings import Postings, TextTerms
from memoryd.recall.rules.vectors import VectorArrays, Vectors
from memoryd.recall.shelf import Row, Shelf

_LENGTH_BYTES: Final = 8
_NO_SCALES: Final = np.zeros(0, np.float32)
_STAMP_NUMBERS: Final = len(FileStamp.__struct_fields__)


class _VectorShape(NamedTuple):
    """How many numbers a vector has and how many its short form, and from how many it was made."""

    numbers: int
    directions: int
    made_from: int


class _KeptHead(msgspec.Struct, frozen=True):
    """What stands before the arrays; `sizes` are their bytes. The lists are row by row."""

    maker: str
    folder: str
    bar: float
    terms: list[str]
    files: list[str]
    versions: list[bytes]
    origins: list[Origin]
    topics: list[Topic]
    truncated: list[bool]
    contents: list[bytes]
    sizes: list[int]
    words: _VectorShape
    sentences: _VectorShape


class ShelfCopy:
    """What is to be kept of a shelf, as it is now; made on the event loop, used in a thread."""

    def __init__(self, shelf: Shelf, without: Collection[str]) -> None:
        index = shelf.index
        self.directory = shelf.directory
        self.bar = index.bar
        self.words, self.sentences = index.word_vectors, index.sentence_vectors
        self.packed, self.texts = index.documents.texts()
        slots = index.slots_of(shelf.rows)
        self.rows = [
            (row, slot)
            for row, slot in zip(shelf.rows.values(), slots, strict=True)
            if row.mark is not None and row.mark.is_settled(row.read_at) and row.file not in without
        ]


def maker_of(embeddings: Embeddings) -> str:
    """A hash of everything that a kept shelf depends on besides the memories."""
    tables = embeddings.static
    about = f"{np.__version__} {tables.words is None} {tables.meanings is None}"
    found = hashlib.sha256(about.encode())
    found.update(identity_of_code("text", "recall", "memories/rules").encode())
    if embeddings.encoder is not None:
        found.update(embeddings.encoder.identity)
    return found.hexdigest()


def to_bytes(copy: ShelfCopy, maker: str) -> bytes:
    """Reads live vectors: if the shelf changed meanwhile, the result must not be used."""
    rows, slots = [row for row, _ in copy.rows], [slot for _, slot in copy.rows]
    texts = texts_in(slots, copy.packed, copy.texts)
    words, sentences = copy.words.arrays_of(slots), copy.sentences.arrays_of(slots)
    marks = [msgspec.structs.astuple(row.mark or FileStamp()) for row in rows]
    facts = [np.array(marks, np.int64), np.array([row.modified for row in rows], np.float64)]
    own = [texts.lengths, texts.ids, texts.counts]
    parts: list[NDArray[Any]] = [*facts, *own, *_parts_of(words), *_parts_of(sentences)]
    arrays = [part.tobytes() for part in parts]
    head = msgspec.msgpack.encode(
        _KeptHead(
            maker=maker,
            folder=copy.directory.path,
            bar=copy.bar,
            terms=list(texts.terms),
            files=[row.file for row in rows],
            versions=[row.version for row in rows],
            origins=[row.origin for row in rows],
            topics=[row.topic for row in rows],
            truncated=[row.truncated for row in rows],
            contents=[row.text for row in rows],
            sizes=[len(array) for array in arrays],
            words=_shape_of(words),
            sentences=_shape_of(sentences),
        )
    )
    return b"".join([len(head).to_bytes(_LENGTH_BYTES, "little"), head, *arrays])


def texts_in(
    slots: Iterable[int], already: PackedPostings, others: Sequence[TextTerms | None]
) -> TextArrays:
    """The texts in some slots, in their order; LookupError for one that is gone meanwhile."""
    packed = already.texts()
    ids = {term: number for number, term in enumerate(packed.terms)}
    ends = np.cumsum(packed.lengths)
    own_ids: list[NDArray[np.int32]] = [np.zeros(0, np.int32)]
    own_counts: list[NDArray[np.float32]] = [np.zeros(0, np.float32)]
    for slot in slots:
        if slot < already.size:
            part = slice(ends[slot] - packed.lengths[slot], ends[slot])
            own_ids.append(packed.ids[part])
            own_counts.append(packed.counts[part])
            continue
        text = others[slot - already.size]
        if text is None:
            raise LookupError(slot)
        own = [ids.setdefault(term, len(ids)) for term in text.terms]
        own_ids.append(np.array(own, np.int32))
        own_counts.append(np.array(text.counts, np.float32))
    lengths = np.array([len(own) for own in own_ids[1:]], np.int32)
    used, numbers = np.unique(np.concatenate(own_ids), return_inverse=True)
    terms = [*ids]
    return TextArrays(
        [terms[number] for number in used.tolist()],
        lengths,
        numbers.astype(np.int32),
        np.concatenate(own_counts),
    )


class KeptShelf:
    """A shelf as it was kept; `shelf_of` makes it one again, with the rows that still hold."""

    def __init__(self, head: _KeptHead, arrays: list[memoryview]) -> None:
        self._head = head
        self._marks = np.frombuffer(arrays[0], np.int64).reshape(-1, _STAMP_NUMBERS)
        self._modified = np.frombuffer(arrays[1], np.float64)
        self._lengths = np.frombuffer(arrays[2], np.int32)
        self._ids = np.frombuffer(arrays[3], np.int32)
        self._counts = np.frombuffer(arrays[4], np.float32)
        self._words = _vector_arrays(arrays[5:10], head.words)
        self._sentences = _vector_arrays(arrays[10:15], head.sentences)
        rows = len(head.files)
        lists = (self._marks, self._modified, head.versions, head.origins, head.topics)
        are_fitting = (
            all(len(one) == rows for one in (*lists, head.truncated, head.contents))
            and len(self._lengths) == len(self._words.counts) == len(self._sentences.counts) == rows
            and int(self._lengths.sum()) == len(self._ids) == len(self._counts)
            and _are_below(self._ids, len(head.terms))
        )
        if not are_fitting:
            raise ValueError("the parts of a kept shelf do not fit")

    @property
    def files(self) -> set[str]:
        return set(self._head.files)

    def shelf_of(
        self,
        directory: MemoryDirectory,
        found: Mapping[str, FileStamp],
        origins: Callable[[list[str]], Mapping[str, Origin]],
    ) -> Shelf:
        """`found` are the files that exist; `origins` gives those who wrote some versions."""
        at = self._places_that_hold(found, origins)
        chosen = np.zeros(len(self._head.files), bool)
        chosen[at] = True
        of_terms = np.repeat(chosen, self._lengths)
        texts = TextArrays(
            self._head.terms, self._lengths[chosen], self._ids[of_terms], self._counts[of_terms]
        )
        now = time.time()
        # The names and stamps are those of the scanner: each is held once.
        names = dict(zip(found, found, strict=True))
        held = (self._row(directory, place, names, found, now) for place in at)
        rows = {row.path: row for row in held}
        index = Index.filled(
            [(key, row.topic.type or "", row.modified) for key, row in rows.items()],
            Postings(PackedPostings(texts)),
            Vectors.filled(self._words.chosen(chosen)),
            Vectors.filled(self._sentences.chosen(chosen)),
        )
        index.bar = self._head.bar
        return Shelf(directory, index, rows)

    def _places_that_hold(
        self,
        found: Mapping[str, FileStamp],
        origins: Callable[[list[str]], Mapping[str, Origin]],
    ) -> list[int]:
        head = self._head
        versions = [version.hex() for version in head.versions]
        writers = origins(versions)
        facts = zip(head.files, self._marks, versions, head.origins, strict=True)
        return [
            place
            for place, (file, mark, version, origin) in enumerate(facts)
            if (stamp := found.get(file)) is not None
            and msgspec.structs.astuple(stamp) == tuple(mark.tolist())
            and writers.get(version, "found") == origin
        ]

    def _row(
        self,
        directory: MemoryDirectory,
        place: int,
        names: Mapping[str, str],
        found: Mapping[str, FileStamp],
        now: float,
    ) -> Row:
        head = self._head
        file = names[head.files[place]]
        return Row(
            directory=directory,
            file=file,
            topic=head.topics[place],
            modified=float(self._modified[place]),
            mark=found[file],
            text=head.contents[place],
            truncated=head.truncated[place],
            version=head.versions[place],
            origin=head.origins[place],
            read_at=now,
        )


def _parts_of(vectors: VectorArrays) -> list[NDArray[Any]]:
    rows = vectors.rows if isinstance(vectors.rows, ByteRows) else (vectors.rows, _NO_SCALES)
    return [vectors.counts, *rows, vectors.directions, vectors.columns]


def _shape_of(vectors: VectorArrays) -> _VectorShape:
    rows = vectors.rows.rows if isinstance(vectors.rows, ByteRows) else vectors.rows
    return _VectorShape(rows.shape[1], len(vectors.directions), vectors.made_from)


def _vector_arrays(parts: list[memoryview], shape: _VectorShape) -> VectorArrays:
    """ValueError if they do not fit together."""
    counts = np.frombuffer(parts[0], np.int32)
    if min(shape) < 0 or (len(counts) and int(counts.min()) < 0):
        raise ValueError("a kept shelf counts less than nothing")
    used = int(counts.sum())
    numbers, directions, made_from = shape
    if not directions:
        return VectorArrays(counts, np.frombuffer(parts[1], np.float32).reshape(used, numbers))
    scales = np.frombuffer(parts[2], np.float32).reshape(used)
    return VectorArrays(
        counts,
        ByteRows(np.frombuffer(parts[1], np.int8).reshape(used, numbers), scales),
        np.frombuffer(parts[3], np.float32).reshape(directions, numbers),
        np.frombuffer(parts[4], np.float32).reshape(directions + 1, used),
        made_from,
    )


def from_bytes(body: memoryview, maker: str, folder: str) -> KeptShelf | None:
    """What `to_bytes` made; None if another maker did, or for another folder, or in any doubt."""
    try:
        start = _LENGTH_BYTES + int.from_bytes(body[:_LENGTH_BYTES], "little")
        head = msgspec.msgpack.decode(body[_LENGTH_BYTES:start], type=_KeptHead)
        if (head.maker, head.folder) != (maker, folder):
            return None
        arrays: list[memoryview] = []
        for size in head.sizes:
            arrays.append(body[start : start + size])
            start += size
        return KeptShelf(head, arrays)
    except (ValueError, IndexError, OverflowError):  # msgspec's own errors are ValueErrors
        return None


def _are_below(ids: NDArray[np.int32], limit: int) -> bool:
    return len(ids) == 0 or bool(int(ids.min()) >= 0 and int(ids.max()) < limit)
