"""A table of vectors as bytes, in three files that have a line or a row for each word.

`NAME_words.txt` has the words, `NAME_vectors.npy` their rows, and `NAME_scales.npy` what a row is
multiplied with. The rows are memory-mapped: only those that are used come into memory.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from memoryd.base.errors import Unavailable
from memoryd.recall.rules.byte_rows import Vector
from memoryd.recall.rules.word_list import WordList

DATA: Final = Path(__file__).parent / "data"


class ByteTable(msgspec.Struct, frozen=True):
    words: WordList
    scales: Vector
    rows: NDArray[np.int8]

    @classmethod
    def open(cls, folder: Path, name: str) -> "ByteTable":
        """Maps the rows and reads the words; `Unavailable` if anything is not as expected."""
        try:
            words = WordList((folder / f"{name}_words.txt").read_text("utf-8"))
            scales = np.load(folder / f"{name}_scales.npy", allow_pickle=False)
            rows = np.load(folder / f"{name}_vectors.npy", mmap_mode="r", allow_pickle=False)
            _check(scales, rows, len(words))
        except (OSError, ValueError, EOFError) as fault:
            raise unreadable(folder) from fault
        # Indexing a memmap is slower than an array over the same memory.
        return cls(words, scales, rows.view(np.ndarray))

    def sum_of(self, rows: Sequence[int]) -> Vector:
        """The sum of the vectors in these rows; zeros if there are none."""
        at = np.array(rows, np.intp)
        return self.scales.take(at) @ self.rows.take(at, axis=0).astype(np.float32)


def unreadable(folder: Path) -> Unavailable:
    return Unavailable(
        f"the word vectors in {folder} cannot be read",
        hint="reinstall memoryd; recall works without them until then",
    )


def _check(scales: Vector, rows: NDArray[np.int8], words: int) -> None:
    if scales.dtype != np.float32 or scales.shape != (words,):
        raise ValueError("not a scale for each word")
    if rows.dtype != np.int8 or rows.ndim != 2 or len(rows) != words:
        raise ValueError("not a row of bytes for each word")
