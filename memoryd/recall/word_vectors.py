"""Static word vectors, from pieces of words: one of the two tables that ship with memoryd.

The files `data/piece_*` are a `ByteTable`, which `benchmarks/training/pieces.py` made from the
table of the package `wordllama` (MIT licence, `data/NOTICE`), without the pieces that have a
capital letter: words are lower-cased.

A text's vector is the sum of the vectors of its words' pieces, without stop words, scaled to length
1. Words are cut into pieces by byte-pair encoding, using only the vocabulary: of all neighbours,
the pair whose union comes first in it is merged. Everything is read-only after `open`, so any
thread may call it; two threads that meet the same new word both cut it, with the same result.
"""

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Final

import msgspec

from memoryd.base.remembered import remembered
from memoryd.recall.byte_table import DATA, ByteTable
from memoryd.recall.rules.byte_rows import Vector
from memoryd.recall.rules.vectors import unit
from memoryd.recall.rules.word_list import ABSENT
from memoryd.text.terms import spoken_words

_WORD_START: Final = "▁"
_LONGEST_WORD: Final = 48
_REMEMBERED_WORDS: Final = 32_768
_NO_PIECE: Final = 1 << 31


class WordSum(msgspec.Struct, frozen=True):
    """The sum of the vectors of a text's words; it is longer the more they say.

    `whole_words` are those that the vocabulary has in one piece, so they are not typos.
    """

    total: Vector
    whole_words: frozenset[str]


class WordVectors:
    def __init__(self, table: ByteTable) -> None:
        self._table = table
        self._vocabulary = table.words
        self.pieces_of = remembered(_REMEMBERED_WORDS)(self._pieces_of)

    @classmethod
    def open(cls, folder: Path = DATA) -> "WordVectors":
        """Maps the table; `Unavailable` if it is not as expected."""
        return cls(ByteTable.open(folder, "piece"))

    def vector_of(self, text: str) -> Vector | None:
        """The unit vector of a text; None if it has no words."""
        words = spoken_words(text)
        return unit(self.sum_of_words(words).total) if words else None

    def sum_of_words(self, words: Sequence[str]) -> WordSum:
        pieces = {word: self.pieces_of(word) for word in words}
        rows = [row for word in words for row in pieces[word]]
        total = self._table.sum_of(rows)
        return WordSum(total, frozenset(word for word, own in pieces.items() if len(own) == 1))

    def _pieces_of(self, word: str) -> tuple[int, ...]:
        """The table rows of the pieces that a word is made of."""
        return tuple(self._cut(word[:_LONGEST_WORD]))

    def _cut(self, word: str) -> list[int]:
        pieces = [_WORD_START, *word]
        unions = [self._row_of(left + right) for left, right in pairwise(pieces)]
        while unions and (first := min(unions)) != _NO_PIECE:
            at = unions.index(first)
            pieces[at : at + 2] = [pieces[at] + pieces[at + 1]]
            near = pieces[max(at - 1, 0) : at + 2]  # only what is next to it has another union
            unions[max(at - 1, 0) : at + 2] = [self._row_of(a + b) for a, b in pairwise(near)]
        return [row for piece in pieces for row in self._rows_of_piece(piece)]

    def _rows_of_piece(self, piece: str) -> list[int]:
        """A character that the vocabulary lacks is spelled in bytes."""
        row = self._vocabulary.number_of(piece)
        if row != ABSENT:
            return [row]
        spelled = (f"<0x{byte:02X}>" for byte in piece.encode("utf-8", "replace"))
        return [row for row in map(self._vocabulary.number_of, spelled) if row != ABSENT]

    def _row_of(self, piece: str) -> int:
        row = self._vocabulary.number_of(piece)
        return _NO_PIECE if row == ABSENT else row
