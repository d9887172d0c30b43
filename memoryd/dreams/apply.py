"""Puts what a dream made of its copy into the memory directory, or takes it all back.

- Each file is written over the version that was copied. One that somebody else changed meanwhile is
  left alone, and with it every change that takes words away.
- What is to be changed is in the book first, with the bytes that stand there. A dream that is
  killed half-way, or loses the lock, is taken back file by file, exactly; so is one that is undone.
- A file that is neither what the dream made of it nor what it was before belongs to somebody else,
  and stays.
"""

from collections.abc import Callable
from pathlib import Path

import structlog

from memoryd.base import paths
from memoryd.base.errors import Conflict, MemorydError, NotFound, Unavailable
from memoryd.dreams.dream_table import Dream, DreamTable, Undoable
from memoryd.dreams.lock import bring_back, look
from memoryd.dreams.rules.review import in_safe_order, takes_words_away
from memoryd.dreams.working_copy import Files
from memoryd.memories.records import MemoryDirectory
from memoryd.memories.rules.topics import INDEX_FILE
from memoryd.memories.store import Store
from memoryd.system.folder import Folder, version_of

log = structlog.get_logger(__name__)


class LostLock(Unavailable):
    """The dream was held up for so long that another one took its place."""

    def __init__(self) -> None:
        super().__init__("another dream took over while this one was held up")


class Applier:
    """Blocking work, safe from any thread."""

    def __init__(self, store: Store, book: DreamTable, now: Callable[[], float]) -> None:
        self._store = store
        self._book = book
        self._now = now

    def apply(
        self,
        dream: int,
        directory: MemoryDirectory,
        before: Files,
        after: Files,
        is_still_ours: Callable[[], bool],
    ) -> tuple[str, ...]:
        """Writes what differs, all or nothing; the files that had to be left alone."""
        changed = changed_files(before, after)
        self._book.begin_applying(dream, [undoable(file, before, after) for file in changed])
        try:
            return self._write_all(dream, directory, before, after, is_still_ours)
        except BaseException:
            self.take_back(dream, directory)
            self._book.note_taken_back(dream)
            raise

    def _write_all(
        self,
        dream: int,
        directory: MemoryDirectory,
        before: Files,
        after: Files,
        is_still_ours: Callable[[], bool],
    ) -> tuple[str, ...]:
        texts = {file: one.text for file, one in before.items()}
        new_texts = {file: one.text for file, one in after.items()}
        left: list[str] = []
        changed = changed_files(before, after)
        for file in in_safe_order(texts, [one for one in changed if one != INDEX_FILE], new_texts):
            if not is_still_ours():
                raise LostLock
            takes_away = takes_words_away(texts.get(file), new_texts.get(file))
            if (left and takes_away) or not self._write(directory, file, before, after):
                left.append(file)
                self._book.note_left_alone(dream, file)
        self._write_index(dream, directory, before, after, is_whole=not left)
        return tuple(left)

    def _write(self, directory: MemoryDirectory, file: str, before: Files, after: Files) -> bool:
        """False when the file is not what was copied any more."""
        old, new = before.get(file), after.get(file)
        try:
            self._store.put_back(
                directory,
                file,
                new.data if new else None,
                over=old.version if old else None,
                cause="dream",
                modified=new.modified if new else None,
            )
        except (Conflict, NotFound):
            return False
        return True

    def _write_index(
        self,
        dream: int,
        directory: MemoryDirectory,
        before: Files,
        after: Files,
        *,
        is_whole: bool,
    ) -> None:
        """The copy's index where it is still true, else one that is mended to be."""
        if INDEX_FILE in changed_files(before, after):
            is_written = self._write(directory, INDEX_FILE, before, after)
            if not is_written:
                self._book.note_left_alone(dream, INDEX_FILE)
            is_whole = is_whole and is_written
        if not is_whole:
            self._store.repair(directory)
            self._book.note_applied(dream, INDEX_FILE, self._version(directory, INDEX_FILE))

    def undo(self, dream: Dream) -> tuple[list[str], list[str]]:
        """Brings every file back to its bytes before the dream; which were, and which were left."""
        files = [one.file for one in self._book.files(dream.id)]
        left = self.take_back(dream.id, dream.place)
        self._book.mark_undone(dream.id)
        restored = [file for file in files if file not in left]
        return restored, [file for file in left if file != INDEX_FILE]

    def take_back(self, dream: int, directory: MemoryDirectory) -> list[str]:
        """Undoes what was applied; the files that somebody else has changed since."""
        left: list[str] = []
        files = self._book.files(dream)
        for one in sorted(files, key=lambda one: one.file == INDEX_FILE):
            now = self._version(directory, one.file)
            was = None if one.before is None else version_of(one.before)
            if now == was:
                continue
            if now != one.after:
                left.append(one.file)
                continue
            self._store.put_back(
                directory,
                one.file,
                one.before,
                over=now,
                cause="restore",
                modified=one.modified,
            )
        if left or INDEX_FILE not in {one.file for one in files}:
            self._store.repair(directory)
        return left

    def recover(self) -> list[Dream]:
        """Takes back every dream that a kill left half done; the lock says again what it said."""
        recovered = []
        for dream in self._book.unfinished():
            try:
                if dream.state == "applying":
                    with Folder.open(dream.directory) as folder:
                        folder.remove_temporaries()
                    self.take_back(dream.id, dream.place)
                    self._book.note_taken_back(dream.id)
                if dream.cause != "dry-run":
                    bring_lock_back(dream)
            except (MemorydError, OSError) as error:
                log.warning("dream-not-recovered", dream=dream.id, error=str(error))
                continue
            reason = "it was cut short; everything is as it was before"
            self._book.end(dream.id, "failed", at=self._now(), reason=reason, summary=dream.summary)
            recovered.append(dream)
        return recovered

    def _version(self, directory: MemoryDirectory, file: str) -> str | None:
        try:
            return self._store.read(directory, file).version
        except NotFound:
            return None


def changed_files(before: Files, after: Files) -> list[str]:
    def version(files: Files, file: str) -> str | None:
        return files[file].version if file in files else None

    names = sorted(before.keys() | after.keys())
    return [file for file in names if version(before, file) != version(after, file)]


def undoable(file: str, before: Files, after: Files) -> Undoable:
    old, new = before.get(file), after.get(file)
    return Undoable(
        file,
        old.data if old else None,
        old.modified if old else 0.0,
        new.version if new else None,
    )


def bring_lock_back(dream: Dream) -> None:
    """Unless somebody else has taken it since. An empty file is one whose taker was killed."""
    path = paths.consolidate_lock(dream.directory)
    if Path(path).exists() and look(path).body in {"", str(dream.pid), dream.lock.body}:
        bring_back(path, dream.lock)
