"""Applies a dream's result to the memory directory, or reverts it.

- Each file is written only over the version that was copied. One that changed meanwhile is left
  alone, and with it every change that removes words.
- All changes are in the dream table first, with the bytes they replace. A dream that is killed
  half-way or loses the lock is reverted file by file, exactly; so is one that is undone.
- A file that has neither the dream's version nor the one before was changed by someone else, and
  is not reverted.
"""

from collections.abc import Callable
from pathlib import Path

import structlog

from memoryd.base import paths
from memoryd.base.errors import Conflict, MemorydError, NotFound, Unavailable
from memoryd.dreams.copied_files import Files
from memoryd.dreams.dream_table import Dream, DreamTable, Undoable
from memoryd.dreams.lock import read_lock, restore_lock
from memoryd.dreams.rules.review import in_safe_order, removes_words
from memoryd.memories.records import MemoryDirectory
from memoryd.memories.rules.retirement import is_in_retired
from memoryd.memories.rules.topics import INDEX_FILE
from memoryd.memories.store import Store
from memoryd.system.folder import Folder, version_of
from memoryd.system.giving_way import give_way, giving_way

log = structlog.get_logger(__name__)


class LostLock(Unavailable):
    """The dream was suspended for so long that another process took the lock."""

    def __init__(self) -> None:
        super().__init__("another dream took over while this one was suspended")


class Applier:
    """Blocking work, safe from any thread."""

    def __init__(self, store: Store, table: DreamTable, now: Callable[[], float]) -> None:
        self._store = store
        self._table = table
        self._now = now

    def apply(
        self,
        dream: int,
        directory: MemoryDirectory,
        before: Files,
        after: Files,
        holds_lock: Callable[[], bool],
    ) -> tuple[str, ...]:
        """Writes what differs, all or nothing; returns the files that were left alone."""
        changed = changed_files(before, after)
        self._table.begin_applying(dream, [undoable(file, before, after) for file in changed])
        try:
            return self._write_all(dream, directory, before, after, holds_lock)
        except BaseException:
            self.revert(dream, directory)
            self._table.note_reverted(dream)
            raise

    def _write_all(
        self,
        dream: int,
        directory: MemoryDirectory,
        before: Files,
        after: Files,
        holds_lock: Callable[[], bool],
    ) -> tuple[str, ...]:
        texts = {file: one.text for file, one in before.items()}
        new_texts = {file: one.text for file, one in after.items()}
        left_alone: list[str] = []
        changed = changed_files(before, after)
        for file in in_safe_order(texts, [one for one in changed if one != INDEX_FILE], new_texts):
            give_way()
            if not holds_lock():
                raise LostLock
            is_risky = left_alone and removes_words(texts.get(file), new_texts.get(file))
            if is_risky or not self._write(directory, file, before, after):
                left_alone.append(file)
                self._table.note_left_alone(dream, file)
        self._write_index(dream, directory, before, after, is_complete=not left_alone)
        return tuple(left_alone)

    def _write(self, directory: MemoryDirectory, file: str, before: Files, after: Files) -> bool:
        """False when the file changed since it was copied."""
        old, new = before.get(file), after.get(file)
        try:
            with giving_way(None):  # other writers wait for it
                self._store.put_back(
                    directory,
                    file,
                    new.data if new else None,
                    over=old.version if old else None,
                    cause="dream",
                    modified=new.modified if new else None,
                    origin=new.origin if new else None,
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
        is_complete: bool,
    ) -> None:
        """The copy's index if everything was applied; otherwise the current one, repaired."""
        if INDEX_FILE in changed_files(before, after):
            is_written = self._write(directory, INDEX_FILE, before, after)
            if not is_written:
                self._table.note_left_alone(dream, INDEX_FILE)
            is_complete = is_complete and is_written
        if not is_complete:
            self._store.repair(directory)
            self._table.note_applied(dream, INDEX_FILE, self._version(directory, INDEX_FILE))

    def undo(self, dream: Dream) -> tuple[list[str], list[str]]:
        """Restores every file; returns the restored ones, and those changed since the dream."""
        files = [one.file for one in self._table.files(dream.id)]
        left = self.revert(dream.id, dream.memory)
        self._table.mark_undone(dream.id)
        restored = [file for file in files if file not in left and not is_in_retired(file)]
        return restored, [file for file in left if file != INDEX_FILE]

    def revert(self, dream: int, directory: MemoryDirectory) -> list[str]:
        """Restores what was applied; returns the files that were changed since."""
        left: list[str] = []
        files = self._table.files(dream)
        # A file comes back before its copy in .retired/ goes: a kill must not lose both.
        for one in sorted(files, key=lambda one: (one.file == INDEX_FILE, one.before is None)):
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
        """Reverts every dream that a kill left unfinished, and restores its lock file."""
        recovered = []
        for dream in self._table.unfinished():
            try:
                if dream.state == "applying":
                    with Folder.open(dream.directory) as folder:
                        folder.remove_temporaries()
                    self.revert(dream.id, dream.memory)
                    self._table.note_reverted(dream.id)
                if dream.cause != "dry-run":
                    restore_lock_of(dream)
            except (MemorydError, OSError) as error:
                log.warning("dream-not-recovered", dream=dream.id, error=str(error))
                continue
            reason = "interrupted; all memories were restored"
            self._table.end(
                dream.id, "failed", at=self._now(), reason=reason, summary=dream.summary
            )
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


def restore_lock_of(dream: Dream) -> None:
    """Unless another process took it since. An empty file means a kill while locking."""
    path = paths.consolidate_lock(dream.directory)
    if Path(path).exists() and read_lock(path).body in {"", str(dream.pid), dream.lock.body}:
        restore_lock(path, dream.lock)
