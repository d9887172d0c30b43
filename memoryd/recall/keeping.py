"""When a shelf is kept on disk, and the way there and back.

A shelf of some size is written when enough of it is not on disk yet, all its vectors are made, few
files wait to be looked at again, and some seconds have passed. A change while it is written makes
the file useless, and it is written again later: what has changed since is read at the next start
anyway. The texts of a shelf that was just indexed are packed then, as they are after a restart.
"""

from collections.abc import Callable, Collection
from typing import Final

import anyio
import anyio.to_thread
import structlog

from memoryd.memories.kept_files import KeptFiles, is_worth_keeping
from memoryd.memories.records import MemoryDirectory
from memoryd.recall.kept_shelf import KeptShelf, ShelfCopy, from_bytes, texts_in, to_bytes
from memoryd.recall.rules.packed_postings import PackedPostings
from memoryd.recall.rules.postings import TextTerms
from memoryd.recall.shelf import Shelf
from memoryd.system.heap import give_back

PAUSE_SECONDS: Final = 5.0

log = structlog.get_logger(__name__)


class ShelfKeeper:
    def __init__(self, files: KeptFiles, maker: str, pause_seconds: float = PAUSE_SECONDS) -> None:
        self._files = files
        self._maker = maker
        self._pause_seconds = pause_seconds

    def load(self, directory: MemoryDirectory) -> KeptShelf | None:
        """What was kept of a directory, if it was made by the same code and settings. Blocks."""
        body = self._files.read(directory.path)
        if body is None:
            return None
        kept = from_bytes(body, self._maker, directory.path)
        if kept is None:
            self._files.discard(directory.path)
        return kept

    def is_wanted(self, shelf: Shelf) -> bool:
        unkept = shelf.revision - shelf.kept_revision
        words = shelf.index.word_vectors
        are_made = not (shelf.without_vectors or words.wants_sketch or words.is_being_sketched)
        return are_made and is_worth_keeping(unkept, len(shelf.rows))

    async def keep(self, shelf: Shelf, waiting: Callable[[], Collection[str]]) -> None:
        """Writes the shelf, without the files in `waiting`, which have changed already."""
        while self.is_wanted(shelf):
            await anyio.sleep(self._pause_seconds)
            if is_worth_keeping(len(waiting()), len(shelf.rows)):
                continue  # they would be missing in the file, and read again at every start
            temporary = await anyio.to_thread.run_sync(self._files.begin)
            if temporary is None:
                return
            if not self.is_wanted(
                shelf
            ):  # meanwhile vectors are missing; who makes them asks again
                await anyio.to_thread.run_sync(self._files.give_up, temporary)
                continue
            revision, copy = shelf.revision, ShelfCopy(shelf, frozenset(waiting()))
            if not await anyio.to_thread.run_sync(self._write, temporary, copy):
                return
            if shelf.revision == revision:
                path = shelf.directory.path
                await anyio.to_thread.run_sync(self._files.put_in_place, temporary, path)
                shelf.kept_revision = revision
                log.debug("shelf-kept", folder=path, memories=len(copy.rows))
                del copy
                await _pack(shelf)
            else:
                await anyio.to_thread.run_sync(self._files.give_up, temporary)

    def _write(self, temporary: str, copy: ShelfCopy) -> bool:
        try:
            body = to_bytes(copy, self._maker)
        except (LookupError, ValueError):  # it changed under our hands
            body = b""
        is_written = self._files.fill(temporary, body)
        del body
        give_back()
        return is_written


async def _pack(shelf: Shelf) -> None:
    documents, revision = shelf.index.documents, shelf.revision
    packed, others = documents.texts()
    if len(others) <= packed.size or packed.dropped or None in others:
        return
    made = await anyio.to_thread.run_sync(_packed_of, packed, others)
    if shelf.revision == revision:
        documents.use(made)
    del packed, others, made  # or they are still in use when memory is given back
    await anyio.to_thread.run_sync(give_back)


def _packed_of(packed: PackedPostings, others: list[TextTerms | None]) -> PackedPostings:
    return PackedPostings(texts_in(range(packed.size + len(others)), packed, others))
