"""The shelves of all directories, kept up to date as files come and go.

- A shelf is built in a worker thread and then belongs to the event loop. A changed file touches
  only its own entries.
- A changed file is read and prepared in a thread, then put on its shelf. A query that arrives
  meanwhile waits for a few changes, so that it finds what was just saved; it does not wait for a
  flood of them (a checkout, a sync) and is answered from what is there.
- The bar for what is shown unasked is measured when a shelf is built, and again in the background
  when enough of its memories have changed; meanwhile the old bar holds.
- A shelf of some size is kept on disk (`keeping`): at the next start only what changed is read.
- One that is large and not kept is made by another process (`indexer`), unless there is a sentence
  encoder: with that it takes minutes.
- Where that cannot be, a large shelf starts with its words only; the vectors of its memories, which
  take longer, are made in the background while it answers.
"""

import itertools
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

import anyio
import anyio.to_thread
import structlog
from anyio.lowlevel import checkpoint

from memoryd.base.errors import MemorydError
from memoryd.base.file_stamp import FileStamp
from memoryd.base.remembered import forget
from memoryd.memories.records import MemoryDirectory
from memoryd.memories.rules.topics import FOUND
from memoryd.memories.store import Store
from memoryd.recall.calibration import Calibration
from memoryd.recall.embeddings import Embeddings, MadeVectors
from memoryd.recall.indexer import Indexer
from memoryd.recall.keeping import ShelfKeeper
from memoryd.recall.rules.gate import bar_is_outdated
from memoryd.recall.rules.vectors import Vectors
from memoryd.recall.shelf import PendingVectors, Prepared, Row, Shelf, is_as_on_disk, prepared
from memoryd.recall.shelf_filling import put_all
from memoryd.recall.unread_logs import is_log, read_log, unread_logs
from memoryd.system.background import Soon
from memoryd.system.heap import give_back

MOST_SHELVES: Final = 64
VECTORS_AT_ONCE: Final = 2_000
VECTORS_IN_A_GO: Final = 64
PREPARED_IN_A_GO: Final = 16
# A query waits for so many changes, a millisecond each; more of them are a flood.
FEW_CHANGES: Final = 16
PATIENCE_SECONDS: Final = 2.0

log = structlog.get_logger(__name__)


class WaitingFiles:
    """The files of a directory that have changed, in the order in which that became known.

    `known` is how many there were so far, `done` how many of them are on the shelf.
    """

    def __init__(self) -> None:
        self.files: dict[str, None] = {}
        self.known = 0
        self.done = 0

    def add(self, file: str) -> None:
        """One that waits already will be read after this."""
        if file not in self.files:
            self.files[file] = None
            self.known += 1

    def take(self, most: int) -> list[str]:
        some = list(itertools.islice(self.files, most))
        for file in some:
            del self.files[file]
        return some


class Shelves:
    """All shelves in use, on the event loop; only reading and preparing run in threads."""

    def __init__(
        self,
        store: Store,
        embeddings: Embeddings,
        calibration: Calibration,
        run_soon: Soon,
        now: Callable[[], float] = time.time,
        keeper: ShelfKeeper | None = None,
        indexer: Indexer | None = None,
    ) -> None:
        self._store = store
        self._now = now
        self._calibration = calibration
        self._embeddings = embeddings
        self._run_soon = run_soon
        self._keeper = keeper
        self._indexer = indexer
        self._shelves: dict[str, Shelf] = {}
        self._building: dict[str, anyio.Event] = {}
        self._changed_meanwhile: dict[str, set[str]] = {}
        self._waiting: dict[str, WaitingFiles] = {}
        self._is_catching_up = False
        self._caught_up_some = anyio.Event()

    async def get(self, directories: Iterable[MemoryDirectory]) -> list[Shelf]:
        """The shelves of these directories; missing ones are built."""
        found = []
        for directory in directories:
            shelf = self._shelves.get(directory.path)
            if shelf is None:
                shelf = await self._built_shelf(directory)
            if directory.path in self._waiting:
                await self._wait_for_few(directory.path)
            unread = unread_logs(directory, self._now())
            if unread or shelf.logs:
                await self._refresh_logs(shelf, unread)
            found.append(shelf)
        return found

    async def get_within(
        self, directories: Sequence[MemoryDirectory], seconds: float
    ) -> list[Shelf]:
        """The shelves that are ready in time; the others are still built, for the next query."""
        are_ready = anyio.Event()

        async def build() -> None:
            try:
                await self.get(directories)
            finally:
                are_ready.set()

        with anyio.move_on_after(seconds):
            if len(self.present(directories)) == len(directories):
                return await self.get(directories)
            if self._run_soon("shelves", build):
                await are_ready.wait()
        return self.present(directories)

    def present(self, directories: Iterable[MemoryDirectory]) -> list[Shelf]:
        """Those of the shelves that are already built."""
        return [
            self._shelves[directory.path]
            for directory in directories
            if directory.path in self._shelves
        ]

    async def fresh_row(self, shelf: Shelf, key: str) -> Row | None:
        """The row of a memory as its file is now: one lstat, and a read in a thread if it changed.

        The lstat is on the event loop on purpose. It is for the few memories of an answer, takes
        microseconds because the kernel has just listed the folder, and a thread would cost more.
        """
        row = shelf.rows.get(key)
        if row is None:
            return None
        if not is_as_on_disk(row):
            made = await anyio.to_thread.run_sync(self._read_prepared, row.directory, row.file)
            if shelf.rows.get(key) is row:  # otherwise it was updated meanwhile
                self._put_on(shelf, row.file, made)
        return shelf.rows.get(key)

    async def _refresh_logs(self, shelf: Shelf, unread: Mapping[str, FileStamp]) -> None:
        """Daily logs that no dream has read yet are on the shelf, as they are now."""
        prefix = f"{shelf.directory.path}/"
        for file in [*shelf.logs]:
            if file not in unread:
                shelf.logs.discard(file)
                shelf.remove(file)
        for file, stamp in unread.items():
            row = shelf.rows.get(prefix + file)
            if row is None or row.mark != stamp:
                made = await anyio.to_thread.run_sync(self._read_prepared, shelf.directory, file)
                if made is not None:
                    shelf.logs.add(file)
                    self._put_on(shelf, file, made)

    def update_soon(self, directory: MemoryDirectory, file: str) -> None:
        """A file was added, changed or removed."""
        if self._shelf_to_change(directory, file) is None:
            return
        self._waiting.setdefault(directory.path, WaitingFiles()).add(file)
        if not self._is_catching_up:
            self._is_catching_up = self._run_soon("changes", self._catch_up)

    def _shelf_to_change(self, directory: MemoryDirectory, file: str) -> Shelf | None:
        shelf = self._shelves.get(directory.path)
        # The shelf may be in the making, and may have read this file before it changed.
        if shelf is None and directory.path in self._building:
            self._changed_meanwhile.setdefault(directory.path, set()).add(file)
        return shelf

    def _read_prepared(self, directory: MemoryDirectory, file: str) -> Prepared | None:
        """None for a file that is gone or cannot be read."""
        if is_log(file):
            log_of_a_day = read_log(self._store, directory, file)
            if log_of_a_day is None:
                return None
            return prepared(log_of_a_day, self._embeddings, with_vector=True)
        read_at = time.time()
        try:
            stored = self._store.read(directory, file)
        except MemorydError:
            return None
        return prepared(stored, self._embeddings, with_vector=True, read_at=read_at)

    def _put_on(self, shelf: Shelf, file: str, one: Prepared | None) -> None:
        if one is None:
            shelf.remove(file)
        else:
            shelf.put(one, lacks_vectors=self._embeddings.encoder is not None)
        self._enrich_soon(shelf)
        self._measure_soon(shelf)
        self._sketch_soon(shelf)
        self._keep_soon(shelf)

    async def _catch_up(self) -> None:
        """Puts waiting files on their shelves, a few at a time; a file that changes again waits."""
        try:
            while self._waiting:
                path = next(iter(self._waiting))
                waiting = self._waiting[path]
                some = waiting.take(PREPARED_IN_A_GO)
                shelf = self._shelves.get(path)
                if shelf is not None:
                    await self._update(shelf, some)
                waiting.done += len(some)
                if not waiting.files:
                    del self._waiting[path]
                self._caught_up_some.set()
                self._caught_up_some = anyio.Event()
        finally:
            self._is_catching_up = False

    async def _update(self, shelf: Shelf, files: list[str]) -> None:
        made = await anyio.to_thread.run_sync(self._read_changed, shelf, files)
        for file, one in made.items():
            if self._shelves.get(shelf.directory.path) is shelf:  # not replaced meanwhile
                self._put_on(shelf, file, one)
            await checkpoint()

    def _read_changed(self, shelf: Shelf, files: list[str]) -> dict[str, Prepared | None]:
        """The files that differ from the shelf, or whose writer may be known by now.

        At a first start all are new to the store only.
        """
        rows = {file: shelf.rows.get(f"{shelf.directory.path}/{file}") for file in files}
        return {
            file: self._read_prepared(shelf.directory, file)
            for file, row in rows.items()
            if row is None or not is_as_on_disk(row) or self._is_known_by_now(row)
        }

    def _is_known_by_now(self, row: Row) -> bool:
        """Whether somebody confirmed or claimed a file that nobody was known to have written."""
        try:
            is_found = row.topic.trust == FOUND
            return is_found and self._store.read(row.directory, row.file).origin != "found"
        except MemorydError:
            return True

    async def _wait_for_few(self, path: str) -> None:
        """Until the changes that are known by now are on the shelf, but not those that come."""
        waiting = self._waiting.get(path)
        if waiting is not None:
            known = waiting.known
            with anyio.move_on_after(PATIENCE_SECONDS):
                while waiting.done < known and len(waiting.files) <= FEW_CHANGES:
                    await self._caught_up_some.wait()

    async def _built_shelf(self, directory: MemoryDirectory) -> Shelf:
        """Builds a shelf once, however many queries wait for it."""
        waiting = self._building.get(directory.path)
        if waiting is not None:
            await waiting.wait()
            return self._shelves.get(directory.path) or await self._built_shelf(directory)
        self._building[directory.path] = done = anyio.Event()
        try:
            shelf = await anyio.to_thread.run_sync(self._build, directory)
            if len(self._shelves) >= MOST_SHELVES:
                self._shelves.pop(next(iter(self._shelves)))
            self._shelves[directory.path] = shelf
            for file in self._changed_meanwhile.pop(directory.path, set()):
                self.update_soon(directory, file)
            self._enrich_soon(shelf)
            self._measure_soon(shelf)
            self._sketch_soon(shelf)
            self._keep_soon(shelf)
        finally:
            del self._building[directory.path]
            done.set()
        return shelf

    def _build(self, directory: MemoryDirectory) -> Shelf:
        kept = self._keeper.load(directory) if self._keeper is not None else None
        found = self._store.stamps(directory, frozenset() if kept is None else kept.files)
        indexer = self._indexer if kept is None and self._embeddings.encoder is None else None
        if indexer is not None and self._keeper is not None and indexer.is_for(found.values()):
            if indexer.index(directory):
                kept = self._keeper.load(directory)
            found = self._store.stamps(directory)  # meanwhile there may be others
        shelf = Shelf(directory)
        if kept is not None:
            shelf = kept.shelf_of(directory, found, self._store.origins_of)
        missing = [file for file in found if f"{directory.path}/{file}" not in shelf.rows]
        is_large = len(missing) > VECTORS_AT_ONCE
        put_all(shelf, missing, self._store, self._embeddings, with_vectors=not is_large)
        if kept is None:
            self._calibration.set_bar(shelf.index)
            shelf.changes = 0
        del kept  # or it is still in use when memory is given back
        give_back()
        log.debug("shelf-built", folder=directory.path, memories=len(found), read=len(missing))
        return shelf

    def _keep_soon(self, shelf: Shelf) -> None:
        keeper = self._keeper
        if keeper is not None and not shelf.is_being_kept and keeper.is_wanted(shelf):
            shelf.is_being_kept = self._run_soon("shelf", lambda: self._keep(keeper, shelf))

    async def _keep(self, keeper: ShelfKeeper, shelf: Shelf) -> None:
        try:
            path = shelf.directory.path
            await keeper.keep(shelf, lambda: self._waiting.get(path, WaitingFiles()).files)
        finally:
            shelf.is_being_kept = False

    def _measure_soon(self, shelf: Shelf) -> None:
        if bar_is_outdated(shelf.changes, len(shelf.index)) and not shelf.is_measuring:
            shelf.is_measuring = self._run_soon("bars", lambda: self._measure(shelf))

    async def _measure(self, shelf: Shelf) -> None:
        """Measures the bar again, a prompt at a time, while the shelf answers queries."""
        try:
            while bar_is_outdated(shelf.changes, len(shelf.index)):
                shelf.changes = 0
                for _ in self._calibration.steps_to_bar(shelf.index):
                    await checkpoint()
        finally:
            shelf.is_measuring = False

    def _enrich_soon(self, shelf: Shelf) -> None:
        if shelf.without_vectors and not shelf.is_making_vectors:
            shelf.is_making_vectors = self._run_soon("vectors", lambda: self._enrich(shelf))

    async def _enrich(self, shelf: Shelf) -> None:
        """Makes the missing vectors, a few at a time, while the shelf answers queries."""
        are_many = len(shelf.without_vectors) > VECTORS_IN_A_GO
        try:
            while shelf.without_vectors:
                some = dict(itertools.islice(shelf.without_vectors.items(), VECTORS_IN_A_GO))
                made = await anyio.to_thread.run_sync(self._make_vectors, list(some.values()))
                for one in made:
                    one.give_to(shelf.index)
                for key, pending in some.items():
                    if shelf.without_vectors.get(key) is pending:
                        del shelf.without_vectors[key]
        finally:
            shelf.is_making_vectors = False
        if are_many and forget():
            await anyio.to_thread.run_sync(give_back)
        self._sketch_soon(shelf)
        self._keep_soon(shelf)

    def _sketch_soon(self, shelf: Shelf) -> None:
        is_wanted = shelf.index.word_vectors.wants_sketch and not shelf.without_vectors
        if is_wanted and not shelf.is_making_sketch:
            shelf.is_making_sketch = self._run_soon("sketch", lambda: self._sketch(shelf))

    async def _sketch(self, shelf: Shelf) -> None:
        """Makes the comparison of many vectors faster, while they are used."""
        try:
            while shelf.index.word_vectors.wants_sketch:
                await _make_sketch(shelf.index.word_vectors)
                shelf.revision += 1  # what is being written now may be half of each
        finally:
            shelf.is_making_sketch = False
        await anyio.to_thread.run_sync(give_back)
        self._keep_soon(shelf)

    def _make_vectors(self, some: list[PendingVectors]) -> list[MadeVectors]:
        return [
            self._embeddings.all_vectors_of(pending.document, pending.ticket) for pending in some
        ]


async def _make_sketch(vectors: Vectors) -> None:
    made = None
    try:
        made = await anyio.to_thread.run_sync(vectors.begin_sketch())
    finally:
        vectors.use_sketch(made)
