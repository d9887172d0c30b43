"""What words mean: the table that ships with memoryd.

The files `data/meaning_*` are a `ByteTable`, which `benchmarks/training/meaning.py` made from what
a sentence encoder says. A text's vector is the sum of its words' vectors, without stop words,
scaled to length 1. `meaning_stems.txt` has a line for each word: its stem, or nothing if a word
before it, one that is used more, has the same.

A word that the table lacks is looked up by its stem. A name that nobody has heard of has a vector
of its own, made from its letters: it resembles nothing but itself, so texts that share it are alike
and texts that do not are not.

Everything is read-only after `open`, so any thread may call it; two threads that meet the same new
word both look it up, with the same result.
"""

import hashlib
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import numpy as np

from memoryd.base.remembered import remembered
from memoryd.recall.byte_table import DATA, ByteTable, unreadable
from memoryd.recall.rules.byte_rows import Vector
from memoryd.recall.rules.vectors import unit
from memoryd.recall.rules.word_list import ABSENT, WordList
from memoryd.text.terms import spoken_words, term_of

# About as long as the vector of a rare word of the table.
_UNHEARD_OF_LENGTH: Final = 0.9
_USUAL_NUMBER: Final = math.sqrt((128**2 * 2 + 1) / 6)  # the root of a byte's mean square
_REMEMBERED_WORDS: Final = 8_192


class MeaningTable:
    def __init__(self, table: ByteTable, stems: WordList) -> None:
        self._table = table
        self._stems = stems
        self._found = remembered(_REMEMBERED_WORDS)(self._look_up)

    @classmethod
    def open(cls, folder: Path = DATA) -> "MeaningTable":
        """Maps the table; `Unavailable` if it is not as expected. Takes some ten milliseconds."""
        table = ByteTable.open(folder, "meaning")
        try:
            stems = WordList((folder / "meaning_stems.txt").read_text("utf-8"))
        except (OSError, ValueError) as fault:
            raise unreadable(folder) from fault
        if len(stems) != len(table.words):
            raise unreadable(folder)
        return cls(table, stems)

    def vector_of(self, text: str) -> Vector | None:
        """The unit vector of a text; None if it has no words."""
        words = spoken_words(text)
        return self.vector_of_words(words) if words else None

    def vector_of_words(self, words: Sequence[str]) -> Vector:
        """The unit vector of words; zeros if there are none."""
        found = [self._found(word) for word in words]
        rows = [row for row in found if isinstance(row, int)]
        drawn = [letters for letters in found if isinstance(letters, bytes)]
        if not drawn:
            return unit(self._table.sum_of(rows))
        total = self._sum_of_drawn(drawn)
        return unit(total + self._table.sum_of(rows) if rows else total)

    def _look_up(self, word: str) -> int | bytes:
        """The row of a word or of its stem, or the letters of one that was never heard of."""
        row = self._table.words.number_of(word)
        if row == ABSENT:
            stem = term_of(word)
            row = self._stems.number_of(stem)
            if row == ABSENT:
                drawn = hashlib.shake_128(stem.encode("utf-8", "replace"))
                return drawn.digest(self._table.rows.shape[1])
        return row

    def _sum_of_drawn(self, drawn: Sequence[bytes]) -> Vector:
        """The sum of the vectors of words that the table has never heard of."""
        numbers = np.frombuffer(b"".join(drawn), np.int8).reshape(len(drawn), -1)
        usual_length = _USUAL_NUMBER * math.sqrt(numbers.shape[1])
        total: Vector = numbers.sum(axis=0, dtype=np.float32)
        return total * np.float32(_UNHEARD_OF_LENGTH / usual_length)
