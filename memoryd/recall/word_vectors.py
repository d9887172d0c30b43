"""Static word vectors, from pieces of words: one of the two tables that ship with memoryd.

The files `data/piece_*` are a `ByteTable`, which `benchmarks/training/pieces.py` made from the
table of the package `wordllama` (MIT licence, `data/NOTICE`), without the pieces that have a
capital letter: words are lower-cased.

A text's vector is the sum of the vectors of its words' pieces, without stop words, scaled to length
1. Words are cut into pieces by byte-pair encoding, using only the vocabulary: of all neighbours,
the pair whose union comes first in it is merged. A word that is itself in the vocabulary is one
piece: the merges lead there for each of them (a test tries all). Any thread may call it: two that
meet the same new word both cut it, with the same result.
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
from memoryd.recall.rules.word_list import ABSENT, WordList
from memoryd.text.terms import spoken_words

_WORD_START: Final = "▁"
_LONGEST_WORD: Final = 48
_REMEMBERED_WORDS: Final = 32_768
_NO_PIECE: Final = 1 << 31
# Most unions that are looked up are this short, and the same ones again and again.
_SHORT: Final = 3
_MOST_SHORT: Final = 4_096


class WordSum(msgspec.Struct, frozen=True):
    """The sum of the vectors of a text's words; it is longer the more they say.

    `whole_words` are those that the vocabulary has in one piece, so they are not typos.
    """

    total: Vector
    whole_words: frozenset[str]


class _RowsOfPieces(dict[str, int]):
    """The table row of a piece, or `_NO_PIECE`; those that are asked for most are remembered."""

    def __init__(self, vocabulary: WordList) -> None:
        self._vocabulary = vocabulary

    def __missing__(self, piece: str) -> int:
        found = self._vocabulary.number_of(piece)
        row = _NO_PIECE if found == ABSENT else found
        if len(piece) <= _SHORT and len(self) < _MOST_SHORT:
            self[piece] = row
        return row


class WordVectors:
    def __init__(self, table: ByteTable) -> None:
        self._table = table
        self._vocabulary = table.words
        self._row_of = _RowsOfPieces(table.words)
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
        word = word[:_LONGEST_WORD]
        whole = self._vocabulary.number_of(_WORD_START + word)
        return tuple(self._cut(word)) if whole == ABSENT or not word else (whole,)

    def _cut(self, word: str) -> list[int]:
        row_of, pieces = self._row_of, [_WORD_START, *word]
        rows = [_NO_PIECE] * len(pieces)  # known of those that were merged
        unions = [row_of[left + right] for left, right in pairwise(pieces)]
        while unions and (first := min(unions)) != _NO_PIECE:
            at = unions.index(first)
            union = pieces[at] + pieces[at + 1]
            pieces[at : at + 2], rows[at : at + 2] = [union], [first]
            del unions[at]
            if at:  # only what is next to it has another union
                unions[at - 1] = row_of[pieces[at - 1] + union]
            if at < len(unions):
                unions[at] = row_of[union + pieces[at + 1]]
        found: list[int] = []
        for piece, row in zip(pieces, rows, strict=True):
            found += self._rows_of_piece(piece) if row == _NO_PIECE else [row]
        return found

    def _rows_of_piece(self, piece: str) -> list[int]:
        """A character that the vocabulary lacks is spelled in bytes."""
        row = self._row_of[piece]
        if row != _NO_PIECE:
            return [row]
        spelled = (f"<0x{byte:02X}>" for byte in piece.encode("utf-8", "replace"))
        return [row for row in map(self._vocabulary.number_of, spelled) if row != ABSENT]
