"""The memories of each directory as recall searches them, kept true as files come and go.

- A shelf is built in a worker thread and then belongs to the event loop. One changed file touches
  what is its own and nothing else.
- A file that changed is read and prepared in a thread, then put on its shelf. A question that comes
  meanwhile waits for a few changes, so that a save is found by the next question; it does not wait
  for a flood of them (a checkout, a sync), and is answered from what is there.
- A large shelf is there by its words first; what costs more, the vectors of its memories, is made
  in the background while it answers.
"""

import itertools
import os
from collections.abc import Iterable, Sequence
from typing import Final

import anyio
import anyio.to_thread
import structlog
from anyio.lowlevel import checkpoint

from memoryd.base.errors import MemorydError
from memoryd.memories.records import MemoryDirectory
from memoryd.memories.store import Store
from memoryd.recall.embeddings import Embeddings, MadeVectors
from memoryd.recall.shelf import Prepared, Row, Shelf, UnreadMemory, prepared
from memoryd.system.background import Soon
from memoryd.system.cancellation import while_wanted
from memoryd.system.folder import mark_of

MOST_SHELVES: Final = 64
VECTORS_AT_ONCE: Final = 2_000
VECTORS_IN_A_GO: Final = 64
PREPARED_IN_A_GO: Final = 16
# So few changes are waited for, a millisecond each; more of them are a flood.
FEW_CHANGES: Final = 16
PATIENCE_SECONDS: Final = 2.0

log = structlog.get_logger(__name__)


class Shelves:
    """All shelves in use. Everything here but the building runs on the event loop."""

    def __init__(self, store: Store, meaning: Embeddings, soon: Soon) -> None:
        self._store = store
        self._meaning = meaning
        self._soon = soon
        self._shelves: dict[str, Shelf] = {}
        self._building: dict[str, anyio.Event] = {}
        self._changed_meanwhile: dict[str, set[str]] = {}
        self._waiting: dict[str, set[str]] = {}
        self._is_catching_up = False
        self._caught_up_some = anyio.Event()

    async def get(self, directories: Iterable[MemoryDirectory]) -> list[Shelf]:
        """The shelves of these directories, built where they are not there yet."""
        found = []
        for directory in directories:
            shelf = self._shelves.get(directory.path)
            if shelf is None:
                shelf = await self._built(directory)
            await self._wait_for_few(directory.path)
            found.append(shelf)
        return found

    async def get_within(
        self, directories: Sequence[MemoryDirectory], seconds: float
    ) -> list[Shelf]:
        """Those that are there by then; the others are built all the same, for the next time."""
        are_there = anyio.Event()

        async def build() -> None:
            try:
                await self.get(directories)
            finally:
                are_there.set()

        with anyio.move_on_after(seconds):
            if len(self.present(directories)) == len(directories):
                return await self.get(directories)
            if self._soon("shelves", build):
                await are_there.wait()
        return self.present(directories)

    def present(self, directories: Iterable[MemoryDirectory]) -> list[Shelf]:
        """Those of the shelves that need no waiting for."""
        return [
            self._shelves[directory.path]
            for directory in directories
            if directory.path in self._shelves
        ]

    async def fresh_row(self, shelf: Shelf, key: str) -> Row | None:
        """The row of a memory as its file is now: one stat, and a read if it changed."""
        row = shelf.rows.get(key)
        if row is None:
            return None
        if not is_as_on_disk(row):
            made = await anyio.to_thread.run_sync(self._prepared, row.directory, row.file)
            if shelf.rows.get(key) is row:  # else it was updated meanwhile
                self._take_in(shelf, row.file, made)
        return shelf.rows.get(key)

    def update_soon(self, directory: MemoryDirectory, file: str) -> None:
        """A file came, changed or went."""
        if self._shelf_to_change(directory, file) is None:
            return
        self._waiting.setdefault(directory.path, set()).add(file)
        if not self._is_catching_up:
            self._is_catching_up = self._soon("changes", self._catch_up)

    def _shelf_to_change(self, directory: MemoryDirectory, file: str) -> Shelf | None:
        shelf = self._shelves.get(directory.path)
        # The shelf may be under way, and may have read this file before it changed.
        if shelf is None and directory.path in self._building:
            self._changed_meanwhile.setdefault(directory.path, set()).add(file)
        return shelf

    def _prepared(self, directory: MemoryDirectory, file: str) -> Prepared | None:
        try:
            stored = self._store.read(directory, file)
        except MemorydError:
            return None
        return prepared(stored, self._meaning, with_vector=True)

    def _take_in(self, shelf: Shelf, file: str, one: Prepared | None) -> None:
        if one is None:
            shelf.remove(file)
        else:
            shelf.put(one, lacks_vectors=self._meaning.encoder is not None)
        self._enrich_soon(shelf)

    async def _catch_up(self) -> None:
        """Takes in what waits, some at a time; one that changes again meanwhile waits again."""
        try:
            while self._waiting:
                path = next(iter(self._waiting))
                some = list(itertools.islice(self._waiting[path], PREPARED_IN_A_GO))
                shelf = self._shelves.get(path)
                self._waiting[path].difference_update(some)
                if shelf is not None:
                    await self._take_in_some(shelf, some)
                if not self._waiting[path]:
                    del self._waiting[path]
                self._caught_up_some.set()
                self._caught_up_some = anyio.Event()
        finally:
            self._is_catching_up = False

    async def _take_in_some(self, shelf: Shelf, files: list[str]) -> None:
        made = await anyio.to_thread.run_sync(self._changed, shelf, files)
        for file, one in made.items():
            if self._shelves.get(shelf.directory.path) is shelf:  # it was not replaced meanwhile
                self._take_in(shelf, file, one)
            await checkpoint()

    def _changed(self, shelf: Shelf, files: list[str]) -> dict[str, Prepared | None]:
        """Those that the shelf has otherwise; at a first start all are news to the store alone."""
        rows = {file: shelf.rows.get(f"{shelf.directory.path}/{file}") for file in files}
        return {
            file: self._prepared(shelf.directory, file)
            for file, row in rows.items()
            if row is None or not is_as_on_disk(row)
        }

    async def _wait_for_few(self, path: str) -> None:
        if path in self._waiting:
            with anyio.move_on_after(PATIENCE_SECONDS):
                while path in self._waiting and len(self._waiting[path]) <= FEW_CHANGES:
                    await self._caught_up_some.wait()

    async def _built(self, directory: MemoryDirectory) -> Shelf:
        """Builds a shelf once, however many wait for it."""
        waiting = self._building.get(directory.path)
        if waiting is not None:
            await waiting.wait()
            return self._shelves.get(directory.path) or await self._built(directory)
        self._building[directory.path] = done = anyio.Event()
        try:
            shelf = await anyio.to_thread.run_sync(self._build, directory)
            if len(self._shelves) >= MOST_SHELVES:
                self._shelves.pop(next(iter(self._shelves)))
            self._shelves[directory.path] = shelf
            for file in self._changed_meanwhile.pop(directory.path, set()):
                self.update_soon(directory, file)
            self._enrich_soon(shelf)
        finally:
            del self._building[directory.path]
            done.set()
        return shelf

    def _build(self, directory: MemoryDirectory) -> Shelf:
        shelf = Shelf(directory)
        stored = self._store.read_all(directory)
        is_large = len(stored) > VECTORS_AT_ONCE
        lacks_vectors = is_large or self._meaning.encoder is not None
        for one in while_wanted(stored):
            shelf.put(
                prepared(one, self._meaning, with_vector=not is_large), lacks_vectors=lacks_vectors
            )
        log.debug("shelf-built", folder=directory.path, memories=len(stored))
        return shelf

    def _enrich_soon(self, shelf: Shelf) -> None:
        if shelf.without_vectors and not shelf.is_enriched:
            shelf.is_enriched = self._soon("vectors", lambda: self._enrich(shelf))

    async def _enrich(self, shelf: Shelf) -> None:
        """Makes the vectors that are missing, some at a time, while the shelf goes on answering."""
        try:
            while shelf.without_vectors:
                some = dict(itertools.islice(shelf.without_vectors.items(), VECTORS_IN_A_GO))
                made = await anyio.to_thread.run_sync(self._made, list(some.values()))
                for one in made:
                    one.give_to(shelf.index)
                for key, unread in some.items():
                    if shelf.without_vectors.get(key) is unread:
                        del shelf.without_vectors[key]
        finally:
            shelf.is_enriched = False

    def _made(self, some: list[UnreadMemory]) -> list[MadeVectors]:
        return [self._meaning.by_all(unread.document, unread.ticket) for unread in some]


def is_as_on_disk(row: Row) -> bool:
    """Whether the file is still the one that was read, by one look at it."""
    try:
        return mark_of(os.lstat(row.path)) == row.mark
    except OSError:
        return False
