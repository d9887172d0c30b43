"""The team's files of one project on this machine: what is there, what goes, what comes. Blocking.

- A file is known by its hash. It is read again only when its stamp changed.
- What comes is written byte for byte over the version that was planned with, with the server's
  time; what it replaces is in the history. Somebody who writes at the same moment wins, and the
  next plan sees it.
"""

import time
from collections.abc import Callable
from contextlib import suppress

from memoryd.base.errors import Conflict, MemorydError, NotFound
from memoryd.base.file_stamp import FileStamp
from memoryd.memories.records import MemoryDirectory
from memoryd.memories.store import Store
from memoryd.memories.version_table import VersionTable
from memoryd.team.rules.entries import EntryText, hash_of
from memoryd.team.rules.plan import PlannedPull
from memoryd.team.team_table import LostChange

MICROSECONDS = 1_000_000


def team_directory(folder: str) -> MemoryDirectory:
    """The team's memory directory, as a project's scopes give it."""
    return MemoryDirectory(folder, "team", beneath=folder.rpartition("/")[0])


class LocalFiles:
    def __init__(
        self, store: Store, versions: VersionTable, now: Callable[[], float] = time.time
    ) -> None:
        self._store = store
        self._versions = versions
        self._now = now
        self._hashes: dict[tuple[str, str], tuple[FileStamp, str]] = {}

    def hashes(self, directory: MemoryDirectory) -> dict[str, str]:
        """The hash of every topic file; one that cannot be read is left out."""
        found: dict[str, str] = {}
        now = time.time()
        for file, stamp in self._store.stamps(directory).items():
            key = (directory.path, file)
            known = self._hashes.get(key)
            if known is None or known[0] != stamp or not stamp.is_settled(now):
                with suppress(MemorydError):
                    stored = self._store.read(directory, file)
                    self._hashes[key] = known = (stored.stamp or stamp, stored.version)
            if known is not None:
                found[file] = known[1]
        return found

    def text(self, directory: MemoryDirectory, file: str) -> bytes | None:
        """The file as it is now; None if it is gone."""
        try:
            return self._store.read(directory, file).data
        except MemorydError:
            return None

    def take(self, directory: MemoryDirectory, pull: PlannedPull, entry: EntryText) -> None:
        """Writes or removes one file; Conflict if it is not what was planned with any more."""
        if entry.text is None:
            with suppress(NotFound):
                self._store.forget(directory, entry.name, cause="sync", over=pull.local)
            return
        self._versions.origins.note_team(hash_of(entry.text), entry.author)
        self._store.put_back(
            directory,
            entry.name,
            entry.text,
            over=pull.local or None,
            cause="sync",
            modified=entry.version.stamp / MICROSECONDS,
        )

    def bring_back(self, folder: str, entry: EntryText) -> tuple[str, int]:
        """Writes a text that the team had, unless there is one of this name."""
        directory = team_directory(folder)
        self._versions.origins.note_team(entry.sha256, entry.author)
        stored = self._store.restore(directory, entry.name, entry.text or b"", over=None)
        return stored.path, stored.number

    def finish(self, directory: MemoryDirectory) -> None:
        """The index matches the files again."""
        with self._store.together(directory):
            self._store.update_index(directory)

    def remove(self, directory: MemoryDirectory, file: str) -> int:
        """Removes a file that is no longer for the team; returns the version to restore."""
        return self._store.forget(directory, file, cause="user")

    def lost_change(self, directory: MemoryDirectory, pull: PlannedPull) -> LostChange | None:
        """The change made here that a pull replaces, None if there is none."""
        if not pull.is_conflict:
            return None
        stored = self._store.recorded(directory, pull.entry.name)
        if stored.version != pull.local:
            raise Conflict(f"{pull.entry.name} was changed meanwhile")
        return LostChange(pull.entry.name, self._now(), pull.entry.author, stored.number)
