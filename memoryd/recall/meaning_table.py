"""What words mean: the table that ships with memoryd.

`data/meaning_vectors.npy` has a row of bytes for each line of `data/meaning_words.txt`, which has
the word and the scale of its row; `benchmarks/training/meaning.py` made both from what a sentence
encoder says. A text's vector is the sum of its words' vectors, without stop words, scaled to length
1. The table is memory-mapped: only the rows that are used come into memory.

A word that the table lacks is looked up by its stem. A name that nobody has heard of has a vector
of its own, made from its letters: it resembles nothing but itself, so texts that share it are alike
and texts that do not are not.

Everything is read-only after `open`, so any thread may call it; two threads that meet the same new
word both look it up, with the same result.
"""

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from memoryd.base.errors import Unavailable
from memoryd.recall.rules.vectors import Matrix, Vector, unit
from memoryd.text.terms import spoken_words, term_of

DATA: Final = Path(__file__).parent / "data"
_ROWS_FILE: Final = "meaning_vectors.npy"
_WORDS_FILE: Final = "meaning_words.txt"
# About as long as the vector of a rare word of the table.
_UNHEARD_OF_LENGTH: Final = 0.9
_REMEMBERED_WORDS: Final = 50_000


class MeaningTable:
    def __init__(
        self, words: Sequence[str], scales: Vector, rows: NDArray[np.int8] | Matrix
    ) -> None:
        self._scales = scales
        self._rows = rows
        self._row_of = {word: row for row, word in enumerate(words)}
        self._row_of_stem: dict[str, int] = {}
        for row, word in enumerate(words):  # the most used come first
            self._row_of_stem.setdefault(term_of(word), row)
        self._unheard_of: dict[str, Vector] = {}

    @classmethod
    def open(cls, folder: Path = DATA) -> "MeaningTable":
        """Maps the table; `Unavailable` if it is not as expected. Takes some ten milliseconds."""
        try:
            lines = [line.split(" ") for line in (folder / _WORDS_FILE).read_text().splitlines()]
            words, scales = [word for word, _ in lines], [float(scale) for _, scale in lines]
            mapped = np.load(folder / _ROWS_FILE, mmap_mode="r", allow_pickle=False)
            rows = _checked(mapped, len(words))
        except (OSError, ValueError, EOFError) as fault:
            raise Unavailable(
                f"the table of meanings in {folder} cannot be read",
                hint="reinstall memoryd; recall works without it until then",
            ) from fault
        # Indexing a memmap is slower than an array over the same memory.
        return cls(words, np.array(scales, np.float32), rows.view(np.ndarray))

    def vector_of(self, text: str) -> Vector | None:
        """The unit vector of a text; None if it has no words."""
        words = spoken_words(text)
        return self.vector_of_words(words) if words else None

    def vector_of_words(self, words: Sequence[str]) -> Vector:
        """The unit vector of words; zeros if there are none."""
        total = np.zeros(self._rows.shape[1], np.float32)
        rows = []
        for word in words:
            row = self._row_of.get(word)
            if row is None:
                stem = term_of(word)
                row = self._row_of_stem.get(stem)
                if row is None:
                    total += self._vector_unheard_of(stem)
                    continue
            rows.append(row)
        if rows:
            total += self._scales[rows] @ self._rows[rows].astype(np.float32)
        return unit(total)

    def _vector_unheard_of(self, stem: str) -> Vector:
        vector = self._unheard_of.get(stem)
        if vector is None:
            letters = stem.encode("utf-8", "replace")
            drawn = hashlib.shake_128(letters).digest(self._rows.shape[1])
            vector = unit(np.frombuffer(drawn, np.int8).astype(np.float32)) * _UNHEARD_OF_LENGTH
            if len(self._unheard_of) >= _REMEMBERED_WORDS:
                self._unheard_of.clear()
            self._unheard_of[stem] = vector
        return vector


def _checked(mapped: NDArray[np.int8], words: int) -> NDArray[np.int8]:
    if mapped.dtype != np.int8 or mapped.ndim != 2 or len(mapped) != words:
        raise ValueError("not a row of bytes for each word")
    return mapped
