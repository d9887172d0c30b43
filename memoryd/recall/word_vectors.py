"""Static word vectors from the files of an installed package.

The package `wordllama` has, under the MIT licence, a table of 32,000 vectors and the vocabulary of
its word pieces. Both are read from its folder; the package itself is never imported (that takes a
second and 114 MB) and nothing is downloaded. The table is memory-mapped: only the rows that are
used come into memory.

A text's vector is the sum of the vectors of its words' pieces, without stop words, scaled to length
1. Words are cut into pieces by byte-pair encoding, using only the vocabulary: of all neighbours,
the pair whose union comes first in it is merged. Everything is read-only after `open`, so any
thread may call it; two threads that meet the same new word both cut it, with the same result.
"""

import importlib.util
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from memoryd.base.errors import Unavailable
from memoryd.recall.rules.vectors import Matrix, Vector, unit
from memoryd.text.terms import spoken_words

_PACKAGE = "wordllama"
_TABLE_FILE = "weights/l2_supercat_256.safetensors"
_VOCABULARY_FILE = "tokenizers/l2_supercat_tokenizer_config.json"
_DTYPES = {"F16": np.float16, "F32": np.float32}
_WORD_START = "▁"
_LONGEST_WORD = 48
_REMEMBERED_WORDS = 50_000
_LARGEST_HEADER_BYTES = 1 << 20
_NO_PIECE = 1 << 31
# The bits of a float16, shifted left by 13, have sign, exponent and fraction where a float32 has
# them. The exponent is then too small by 112.
_BITS_OF_HALF = np.uint32(0x8FFF_E000).astype(np.int32)
_EXPONENT_CORRECTION = np.float32(2.0**112)


class _Tensor(msgspec.Struct):
    dtype: str
    shape: list[int]
    data_offsets: tuple[int, int]


class _Model(msgspec.Struct):
    vocab: dict[str, int]


class _WordTokenizer(msgspec.Struct):
    model: _Model


def installed_folder() -> Path | None:
    """The folder of the package with the vectors, if it is installed."""
    spec = importlib.util.find_spec(_PACKAGE)
    return Path(spec.origin).parent if spec is not None and spec.origin else None


class WordSum(msgspec.Struct, frozen=True):
    """The sum of the vectors of a text's words; it is longer the more they say.

    `whole_words` are those that the vocabulary has in one piece, so they are not typos.
    """

    total: Vector
    whole_words: frozenset[str]


class WordVectors:
    def __init__(self, table: Matrix, vocabulary: dict[str, int]) -> None:
        self._table = table
        self._vocabulary = vocabulary
        self._pieces: dict[str, tuple[int, ...]] = {}

    @classmethod
    def open(cls, folder: Path) -> "WordVectors":
        """Maps the table of the package in `folder`; `Unavailable` if it is not as expected."""
        try:
            table = _mapped_table(folder / _TABLE_FILE)
            text = (folder / _VOCABULARY_FILE).read_bytes()
            vocabulary = msgspec.json.decode(text, type=_WordTokenizer).model.vocab
        except (OSError, ValueError) as fault:
            raise Unavailable(
                f"the word vectors in {folder} cannot be read",
                hint=f"reinstall the package {_PACKAGE}; recall uses words alone until then",
            ) from fault
        return cls(table, {piece: row for piece, row in vocabulary.items() if row < len(table)})

    def vector_of(self, text: str) -> Vector | None:
        """The unit vector of a text; None if it has no words."""
        words = spoken_words(text)
        return unit(self.sum_of_words(words).total) if words else None

    def sum_of_words(self, words: Sequence[str]) -> WordSum:
        pieces = {word: self.pieces_of(word) for word in words}
        rows = [row for word in words for row in pieces[word]]
        total = sum_of_rows(self._table[rows])
        return WordSum(total, frozenset(word for word, own in pieces.items() if len(own) == 1))

    def pieces_of(self, word: str) -> tuple[int, ...]:
        """The table rows of the pieces that a word is made of."""
        rows = self._pieces.get(word)
        if rows is None:
            rows = tuple(self._cut(word[:_LONGEST_WORD]))
            if len(self._pieces) >= _REMEMBERED_WORDS:
                self._pieces.clear()
            self._pieces[word] = rows
        return rows

    def _cut(self, word: str) -> list[int]:
        pieces = [_WORD_START, *word]
        while True:
            unions = [self._row_of(left + right) for left, right in pairwise(pieces)]
            first = min(unions, default=_NO_PIECE)
            if first == _NO_PIECE:
                break
            at = unions.index(first)
            pieces[at : at + 2] = [pieces[at] + pieces[at + 1]]
        return [row for piece in pieces for row in self._rows_of_piece(piece)]

    def _rows_of_piece(self, piece: str) -> list[int]:
        """A character that the vocabulary lacks is spelled in bytes."""
        if piece in self._vocabulary:
            return [self._vocabulary[piece]]
        spelled = (f"<0x{byte:02X}>" for byte in piece.encode("utf-8", "replace"))
        return [self._vocabulary[name] for name in spelled if name in self._vocabulary]

    def _row_of(self, piece: str) -> int:
        return self._vocabulary.get(piece, _NO_PIECE)


def sum_of_rows(rows: NDArray[np.floating]) -> Vector:
    """The sum of finite rows as float32.

    NumPy widens float16 one by one. Shifting the bits and adding takes a quarter of the time, and
    this is most of what a memory's vector costs.
    """
    if rows.dtype != np.float16:
        return np.asarray(rows.sum(axis=0, dtype=np.float32))
    bits = rows.view(np.int16).astype(np.int32)
    bits <<= 13
    bits &= _BITS_OF_HALF
    return np.asarray(bits.view(np.float32).sum(axis=0) * _EXPONENT_CORRECTION)


def _mapped_table(path: Path) -> Matrix:
    """The only tensor of a safetensors file, memory-mapped; ValueError for any other content."""
    with path.open("rb") as file:
        header_bytes = int.from_bytes(file.read(8), "little")
        if header_bytes > _LARGEST_HEADER_BYTES:
            raise ValueError("the header is too large")
        header = msgspec.json.decode(file.read(header_bytes), type=dict[str, msgspec.Raw])
    header.pop("__metadata__", None)
    (raw,) = header.values()
    tensor = msgspec.json.decode(raw, type=_Tensor)
    if tensor.dtype not in _DTYPES or len(tensor.shape) != 2:
        raise ValueError("not a table of floats")
    rows, dimensions = tensor.shape
    offset = 8 + header_bytes + tensor.data_offsets[0]
    mapped = np.memmap(path, _DTYPES[tensor.dtype], "r", offset, (rows, dimensions))
    return mapped.view(np.ndarray)  # indexing a memmap is slower
