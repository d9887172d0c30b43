"""Writes a table of vectors as `memoryd/recall/byte_table.py` reads it."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

OUT = Path(__file__).parents[2] / "memoryd/recall/data"


def save_table(name: str, words: Sequence[str], table: NDArray[np.float32]) -> None:
    """The rows are kept as bytes, each with its scale."""
    scales = (np.abs(table).max(1) / 127).astype(np.float32)
    rows = np.round(table / scales[:, np.newaxis]).astype(np.int8)
    # A daemon may have the old file mapped: it keeps it.
    aside = OUT / f"{name}_vectors.new.npy"
    np.save(aside, rows)
    aside.replace(OUT / f"{name}_vectors.npy")
    np.save(OUT / f"{name}_scales.npy", scales)
    save_lines(f"{name}_words.txt", words)


def save_lines(file: str, lines: Sequence[str]) -> None:
    (OUT / file).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
