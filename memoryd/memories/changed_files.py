"""Which files of a large directory changed since it was scanned: the kernel knows, so ask it.

A scan asks for the facts of every file, which takes a tenth of a second for 20,000. The kernel
notes each change as it happens (`system/inotify`), so reading its notes is as good as looking, and
takes no time. They are not trusted alone:

- The whole directory is scanned again if a folder came, went or was replaced, if notes were
  dropped, and after half a minute in any case: what another machine changes is not noted here.
- Where the system takes no notes, there are none, and every scan looks at every file.

Safe from any thread. The caller scans a directory in one thread at a time.
"""

import os
import threading
import time
from collections.abc import Callable
from typing import Final

from memoryd.memories.rules.topics import INDEX_FILE
from memoryd.system.inotify import (
    DELETE_SELF,
    IGNORED,
    IS_FOLDER,
    MOVE_SELF,
    OVERFLOW,
    Inotify,
    Note,
)

TRUSTED_SECONDS: Final = 30.0
# Looking at more than so many files by themselves takes longer than a scan.
MOST_CHANGED: Final = 500


class _Watched:
    """A directory with its folders, by the kernel's numbers for them."""

    def __init__(self, identity: tuple[int, int]) -> None:
        self.identity = identity
        self.folders = 0
        self.prefixes: dict[int, str] = {}
        self.changed: set[str] = set()
        self.is_scanned = False
        self.is_in_doubt = False
        self.scanned_at = time.monotonic()


class ChangedFiles:
    def __init__(self, open_it: Callable[[], Inotify | None] = Inotify.open) -> None:
        self._open = open_it
        self._inotify: Inotify | None = None
        self._lock = threading.Lock()
        self._watched: dict[str, _Watched] = {}
        self._owners: dict[int, _Watched] = {}

    def since_scan(self, path: str, handle: int) -> set[str] | None:
        """The files that changed since the last scan or call; None if all must be looked at."""
        with self._lock:
            found = self._watched.get(path)
            if found is None:
                return None
            self._read_notes()
            age_seconds = time.monotonic() - found.scanned_at
            is_known = found.is_scanned and not found.is_in_doubt
            if not is_known or age_seconds > TRUSTED_SECONDS or found.identity != _identity(handle):
                return None
            changed, found.changed = found.changed, set()
            found.is_in_doubt = len(changed) > MOST_CHANGED
            return None if found.is_in_doubt else changed

    def begin_scan(self, path: str, handle: int) -> None:
        """A scan of the directory begins, and will say which folders it enters."""
        with self._lock:
            self._forget(path)
            self._inotify = self._inotify or self._open()
            if self._inotify is not None:
                self._watched[path] = _Watched(_identity(handle))

    def distrust(self, path: str) -> None:
        """The next scan looks at everything."""
        with self._lock:
            self._forget(path)

    def enter(self, path: str, handle: int, prefix: str) -> None:
        """Before a folder is read, so that no change falls in between."""
        with self._lock:
            found = self._watched.get(path)
            if self._inotify is None or found is None:
                return
            found.folders += 1
            # By its handle: what is entered is what is watched, whatever its path leads to by now.
            watch = self._inotify.watch(f"/proc/self/fd/{handle}")
            if watch is not None and watch not in self._owners:
                self._owners[watch] = found
                found.prefixes[watch] = prefix

    def end_scan(self, path: str) -> None:
        """The scan has looked at everything; notes count if all its folders are watched."""
        with self._lock:
            self._read_notes()
            found = self._watched.get(path)
            if found is not None:
                found.is_scanned = len(found.prefixes) == found.folders
                found.scanned_at = time.monotonic()

    def _forget(self, path: str) -> None:
        found = self._watched.pop(path, None)
        if found is not None and self._inotify is not None:
            for watch in found.prefixes:
                self._owners.pop(watch, None)
                self._inotify.unwatch(watch)

    def _read_notes(self) -> None:
        for note in self._inotify.read() if self._inotify is not None else ():
            if note.mask & OVERFLOW:
                for each in self._watched.values():
                    each.is_in_doubt = True
            elif (found := self._owners.get(note.watch)) is not None:
                _take(found, note)


def _take(found: _Watched, note: Note) -> None:
    name = os.fsdecode(note.name)
    if note.mask & (DELETE_SELF | MOVE_SELF | IGNORED):
        found.is_in_doubt = True
    elif not name.startswith(".") and name != INDEX_FILE:
        if note.mask & IS_FOLDER:
            found.is_in_doubt = True
        elif name.endswith(".md"):
            found.changed.add(found.prefixes[note.watch] + name)


def _identity(handle: int) -> tuple[int, int]:
    facts = os.fstat(handle)
    return facts.st_dev, facts.st_ino
