"""Static word vectors: what a text means, without a model, in microseconds.

The table ships with memoryd in `data/` and is made by `benchmarks/training/vectors.py`: rows of
small integers with a scale each, and the words they belong to, in English, some other languages and
the scripts that are written without spaces. It is memory-mapped: only the rows that are used come
into memory.

A text's vector is the sum of the vectors of its words, without stop words, scaled to length 1. A
word that is not in the table is cut into words that are, so that a compound means what its parts
mean; if too much of it is left over, it means nothing. Everything is read-only after `open`, so any
thread may call it; two threads that meet the same new word both cut it, with the same result.
"""

from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from memoryd.base.errors import Unavailable
from memoryd.recall.rules.vectors import Vector, unit
from memoryd.recall.rules.word_pieces import pieces_of
from memoryd.text.terms import spoken_words

DATA = Path(__file__).parent / "data"
_TABLE_FILE = "word_vectors.npy"
_SCALES_FILE = "word_scales.npy"
_WORDS_FILE = "word_vocabulary.txt"
_REMEMBERED_WORDS = 50_000


class WordSum(msgspec.Struct, frozen=True):
    """The sum of the vectors of a text's words; it is longer the more they say.

    `whole_words` are those that the table has as they are, so they are not typos.
    """

    total: Vector | None
    whole_words: frozenset[str]


class WordVectors:
    def __init__(self, table: NDArray[np.int8], scales: Vector, words: list[str]) -> None:
        self._table = table
        self._scales = scales
        self._rows = {word: row for row, word in enumerate(words)}
        self._pieces: dict[str, tuple[int, ...]] = {}

    @classmethod
    def open(cls, folder: Path = DATA) -> "WordVectors":
        """Maps the table in `folder`; `Unavailable` if it is not as expected."""
        try:
            table = np.load(folder / _TABLE_FILE, mmap_mode="r")
            scales = np.load(folder / _SCALES_FILE).astype(np.float32)
            words = (folder / _WORDS_FILE).read_text("utf-8").split("\n")
            if table.dtype != np.int8 or table.ndim != 2 or len(table) != len(scales):
                raise ValueError("not a table of small integers with a scale for each row")
            if len(words) != len(table):
                raise ValueError("not a word for each row")
        except (OSError, ValueError, EOFError) as fault:
            raise Unavailable(
                f"the word vectors in {folder} cannot be read",
                hint="reinstall memoryd; recall uses words alone until then",
            ) from fault
        return cls(table.view(np.ndarray), scales, words)  # indexing a memmap is slower

    def vector_of(self, text: str) -> Vector | None:
        """The unit vector of a text; None if it has no words."""
        total = self.sum_of(text).total
        return None if total is None else unit(total)

    def sum_of(self, text: str) -> WordSum:
        words = spoken_words(text)
        rows = [row for word in words for row in self.rows_of(word)]
        total = self._scales[rows] @ self._table[rows].astype(np.float32) if rows else None
        return WordSum(total, frozenset(word for word in words if word in self._rows))

    def rows_of(self, word: str) -> tuple[int, ...]:
        """The rows of the words that a word is made of; one if the table has it."""
        own = self._rows.get(word)
        if own is not None:
            return (own,)
        rows = self._pieces.get(word)
        if rows is None:
            rows = tuple(self._rows[piece] for piece in pieces_of(word, self._rows))
            if len(self._pieces) >= _REMEMBERED_WORDS:
                self._pieces.clear()
            self._pieces[word] = rows
        return rows
