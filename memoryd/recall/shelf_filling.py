"""Puts the memories of a directory on its shelf, some at a time. Blocks."""

import time
from collections.abc import Sequence
from typing import Final

from memoryd.memories.reading import StoreReader
from memoryd.recall.embeddings import Embeddings
from memoryd.recall.shelf import Shelf, prepared

READ_AT_ONCE: Final = 64


def put_all(
    shelf: Shelf,
    files: Sequence[str],
    store: StoreReader,
    embeddings: Embeddings,
    *,
    with_vectors: bool,
) -> None:
    """Without vectors, or with an encoder, the shelf says which memories lack them."""
    lacks_vectors = not with_vectors or embeddings.encoder is not None
    for start in range(0, len(files), READ_AT_ONCE):
        read_at = time.time()
        for stored in store.read_each(shelf.directory, files[start : start + READ_AT_ONCE]):
            one = prepared(stored, embeddings, with_vector=with_vectors, read_at=read_at)
            shelf.put(one, lacks_vectors=lacks_vectors)
