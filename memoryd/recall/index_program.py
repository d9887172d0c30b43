"""The program that indexes a large directory and ends (see `indexer`).

Its input is an `IndexJob`. It fills the temporary file with what a daemon keeps of a shelf, and
prints nothing.
"""

import os
import sys
import time

import msgspec

from memoryd.memories.kept_files import KeptFiles
from memoryd.memories.origin_table import OriginRow
from memoryd.memories.reading import StoreReader
from memoryd.memories.records import MemoryDirectory
from memoryd.memories.version_table import VersionTable
from memoryd.system import blas, heap
from memoryd.system.database import Database


class IndexJob(msgspec.Struct, frozen=True):
    """`origins` is the journal of who wrote what; the program opens no database of the daemon's.

    `maker` says of which code the daemon is: after an update the program may be of another.
    """

    directory: MemoryDirectory
    state_dir: str
    maker: str
    temporary: str
    origins: list[OriginRow]


def main() -> None:
    heap.keep_small()
    blas.use_one_thread(os.environ)
    job = msgspec.json.decode(sys.stdin.buffer.read(), type=IndexJob)
    versions = VersionTable(Database.open(":memory:"))
    versions.origins.put_all(job.origins)
    body = _shelf_of(job, StoreReader(versions, time.time))
    if not KeptFiles(job.state_dir).fill(job.temporary, body):
        sys.exit("the shelf cannot be written, or was dropped")


def _shelf_of(job: IndexJob, store: StoreReader) -> bytes:
    from memoryd.recall.calibration import Calibration  # noqa: PLC0415 - after NumPy's settings
    from memoryd.recall.embeddings import Embeddings  # noqa: PLC0415
    from memoryd.recall.kept_shelf import ShelfCopy, maker_of, to_bytes  # noqa: PLC0415
    from memoryd.recall.shelf import Shelf  # noqa: PLC0415
    from memoryd.recall.shelf_filling import put_all  # noqa: PLC0415

    embeddings, shelf = Embeddings(None, ""), Shelf(job.directory)
    embeddings.load()
    if maker_of(embeddings) != job.maker:
        sys.exit("the daemon runs other code; restart it")
    put_all(shelf, [*store.stamps(job.directory)], store, embeddings, with_vectors=True)
    Calibration().set_bar(shelf.index)
    vectors = shelf.index.word_vectors
    if vectors.wants_sketch:
        vectors.use_sketch(vectors.begin_sketch()())
    return to_bytes(ShelfCopy(shelf, frozenset()), job.maker)


if __name__ == "__main__":
    main()
