"""One memory directory, one project: which of two projects with the same slug a directory is for.

Rules
- `acme.billing` and `acme-billing` have one slug, so the agent gives them one folder. The first
  that uses the memory in it owns it; `.memoryd-root` in the directory says so, a root in each line.
- The second comer gets a directory of its own beside it, with a suffix made from its path. The
  agent does not know that one: we inject its index.
- A root that is named in the file belongs there, however many are: a person joins two projects by
  adding a line. An owner that no longer exists has no claim.
- A directory that nobody owns yet is not created for the question. Until it is there, the claim is
  kept in memory. Directories that settings or the environment choose are shared on purpose.
- All methods block and are safe from any thread.
"""

import os
import threading
from contextlib import suppress
from typing import Final, Protocol

import msgspec

from memoryd.base import paths
from memoryd.base.paths import Places

OWNER_FILE: Final = ".memoryd-root"
OWNER_LIMIT_BYTES: Final = 64 * 1024


class OwnerFiles(Protocol):
    def is_dir(self, path: str) -> bool: ...

    def read_text(self, path: str, limit_bytes: int) -> str | None: ...


class OwnedDirectory(msgspec.Struct, frozen=True):
    """A project's memory directory; `twins` own the one that the agent would have given it."""

    path: str
    twins: tuple[str, ...] = ()


class Owners:
    def __init__(self, places: Places, files: OwnerFiles) -> None:
        self._places = places
        self._files = files
        self._lock = threading.Lock()
        self._claims: dict[str, str] = {}
        self._recorded: set[str] = set()

    def directory_of(self, root: str) -> OwnedDirectory:
        """Where the memories of a project are, if nothing else chose the place."""
        folder = paths.project_folder(self._places, root)
        plain = f"{folder}/memory"
        apart = f"{folder}-twin-{paths.base36(paths.hash_of(root))}/memory"
        with self._lock:
            owners = self.owners(plain)
            if root in owners:
                return OwnedDirectory(plain)
            twins = tuple(one for one in owners if self._files.is_dir(one))
            if not twins and not owners and self._claims.get(plain, root) != root:
                twins = (self._claims[plain],) if self._files.is_dir(self._claims[plain]) else ()
            if twins or root in self.owners(apart):
                self._claims[apart] = root
                self._record(apart, root)
                return OwnedDirectory(apart, twins)
            if self._files.is_dir(root):
                self._claims[plain] = root
                self._record(plain, root)
            return OwnedDirectory(plain)

    def created(self, path: str) -> None:
        """A memory directory is there by now: its owner is written down."""
        if path in self._recorded:
            return
        with self._lock:
            if root := self._claims.get(path):
                self._record(path, root)

    def owners(self, path: str) -> list[str]:
        """The roots that a directory names as its owners."""
        text = self._files.read_text(f"{path}/{OWNER_FILE}", OWNER_LIMIT_BYTES) or ""
        return [line for line in text.splitlines() if paths.path_is_usable(line)]

    def _record(self, path: str, root: str) -> None:
        """Names the owner in a directory that exists and names no living one."""
        if root in self.owners(path):
            self._recorded.add(path)
            return
        if "\n" in root or not self._files.is_dir(path):
            return
        with suppress(OSError):  # read-only, or full: asked again at the next look
            flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
            handle = os.open(f"{path}/{OWNER_FILE}", flags, 0o600)
            with os.fdopen(handle, "wb") as file:
                file.write(os.fsencode(f"{root}\n"))
            self._recorded.add(path)
