"""Many words and their numbers in a few bytes each; a dict of them takes ten times as much.

The words stay one text. They are found by a hash: `_starts` says where, among the hashes in their
order, those with the same upper half begin, which are one or none. All of it is read-only.
"""

from collections.abc import Iterator
from itertools import pairwise
from typing import Final
from zlib import crc32

import numpy as np

ABSENT: Final = -1
_HALF_BITS: Final = 16
_LOWER_BITS: Final = (1 << _HALF_BITS) - 1


class WordList:
    """The lines of a text, numbered from 0; an empty line is no word.

    ValueError if a word is on two lines.
    """

    def __init__(self, text: str) -> None:
        self._text = text.encode().removesuffix(b"\n")
        words = self._text.split(b"\n") if self._text else []
        self._size = len(words)
        hashes = np.fromiter(map(crc32, words), np.uint32, len(words))
        ends = np.cumsum(np.fromiter(map(len, words), np.uint32, len(words)) + 1, dtype=np.uint32)
        order = np.argsort(hashes).astype(np.uint32)
        for at in np.flatnonzero(np.diff(hashes[order]) == 0).tolist():
            if words[order[at]] == words[order[at + 1]] != b"":
                raise ValueError("a word is on two lines")
        in_each = np.bincount(hashes >> _HALF_BITS, None, 1 << _HALF_BITS)
        number = np.uint16 if len(words) <= _LOWER_BITS else np.uint32
        self._starts = np.concatenate([[0], np.cumsum(in_each)]).astype(number).data
        self._lower = (hashes[order] & _LOWER_BITS).astype(np.uint16).data
        self._numbers = order.astype(number).data
        self._bounds = np.concatenate([np.zeros(1, np.uint32), ends]).data

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[str]:
        return (self._text[start : end - 1].decode() for start, end in pairwise(self._bounds))

    def number_of(self, word: str) -> int:
        """The number of a word, or `ABSENT`."""
        key = word.encode("utf-8", "surrogatepass")
        found = crc32(key)
        upper = found >> _HALF_BITS
        start, end = self._starts[upper], self._starts[upper + 1]
        if start == end or not key:
            return ABSENT
        lower = found & _LOWER_BITS
        for at in range(start, end):
            if self._lower[at] == lower:
                number = self._numbers[at]
                if self._text[self._bounds[number] : self._bounds[number + 1] - 1] == key:
                    return number
        return ABSENT
