"""Makes the table of word pieces that ships with memoryd, from the one of the package wordllama.

usage: pip install wordllama==0.2.2.post0 && benchmarks/training/pieces.py

Its table has 32,000 rows of 256 float16. Words are lower-cased before they are cut, so the pieces
with a capital letter are never used and are left out; the order of the others stays, since it
decides what is merged first. The rows are kept as bytes, each with its scale. Recall finds the same
with them: a vector is off by less than one in a hundred.
"""

import importlib.util
import json
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from tables import save_table

TABLE = "weights/l2_supercat_256.safetensors"
VOCABULARY = "tokenizers/l2_supercat_tokenizer_config.json"
SHAPE = (32_000, 256)


def package_folder() -> Path:
    spec = importlib.util.find_spec("wordllama")
    if spec is None or spec.origin is None:
        raise SystemExit("wordllama is not installed: pip install wordllama==0.2.2.post0")
    return Path(spec.origin).parent


def is_used(piece: str) -> bool:
    """Whether a lower-cased word can have the piece; `<0xE7>` stands for a byte of any character.

    No word has a space or line break, and the file could not have them either.
    """
    is_word = not any(map(str.isspace, piece))
    return is_word and (piece == piece.lower() or piece.startswith("<0x"))


def table_of(folder: Path) -> NDArray[np.float32]:
    data = (folder / TABLE).read_bytes()
    start = 8 + int.from_bytes(data[:8], "little")
    return np.frombuffer(data, np.float16, offset=start).reshape(SHAPE).astype(np.float32)


def main() -> None:
    folder = package_folder()
    vocabulary = json.loads((folder / VOCABULARY).read_bytes())["model"]["vocab"]
    kept = sorted((row, piece) for piece, row in vocabulary.items() if is_used(piece))
    table = table_of(folder)[[row for row, _ in kept]]
    save_table("piece", [piece for _, piece in kept], table)


if __name__ == "__main__":
    main()
