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
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import numpy as np

from memoryd.base.remembered import remembered
from memoryd.recall.byte_table import DATA, ByteTable, unreadable
from memoryd.recall.rules.byte_rows import Vector
from memoryd.recall.rules.vectors import length_of, unit
from memoryd.recall.rules.word_list import ABSENT, WordList
from memoryd.text.terms import spoken_words, term_of

# About as long as the vector of a rare word of the table.
_UNHEARD_OF_LENGTH: Final = 0.9
_REMEMBERED_WORDS: Final = 8_192  # of a kilobyte each


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
        total, rows = np.zeros(self._table.rows.shape[1], np.float32), []
        for word in words:
            row, drawn = self._found(word)
            if drawn is None:
                rows.append(row)
            else:
                total += drawn
        return unit(total + self._table.sum_of(rows))

    def _look_up(self, word: str) -> tuple[int, Vector | None]:
        """The row of a word or of its stem, or the vector of one that was never heard of."""
        row = self._table.words.number_of(word)
        if row == ABSENT:
            stem = term_of(word)
            row = self._stems.number_of(stem)
            if row == ABSENT:
                return row, self._drawn_for(stem)
        return row, None

    def _drawn_for(self, stem: str) -> Vector:
        """The vector of a word that the table has never heard of."""
        drawn = hashlib.shake_128(stem.encode("utf-8", "replace"))
        letters = np.frombuffer(drawn.digest(self._table.rows.shape[1]), np.int8)
        vector = letters.astype(np.float32)
        return vector * np.float32(_UNHEARD_OF_LENGTH / length_of(vector))
