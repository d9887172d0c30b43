"""What is made from a memory directory and kept on disk, so that a restart need not make it again.

- For each directory there is one file of each kind in `shelves/` of the state folder, named by a
  hash of the directory's path. A `shelf` holds masked text of memories and `headers` what a list
  shows of them, so they are for the owner alone and go when those must go: `drop`. A `seen` file
  holds which files were looked at, and `repaired` which of them needed no repair.
- It can be made again at any time. Whatever is not exactly as it was written is not read: the first
  bytes are a mark and a hash of the rest.
- A file is written beside its place and renamed. A `drop` meanwhile takes that away as well, so
  nothing comes back that was dropped.
"""

import hashlib
import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final, Literal, get_args

from memoryd.base.errors import MemorydError
from memoryd.system.folder import make_folder
from memoryd.system.plain_file import read_plain
from memoryd.text.lazy_regex import late

Kind = Literal["shelf", "seen", "headers", "repaired"]

FOLDER: Final = "shelves"
LIMIT_BYTES: Final = 1 << 30
# Fewer memories are read in the time that it takes to load numpy.
LEAST_MEMORIES: Final = 200
LEAST_CHANGES: Final = 16
CHANGED_SHARE: Final = 0.02
_MARK: Final = b"memoryd shelf 1\n"
_HASH_BYTES: Final = 32
_TEMPORARY = late(r"\.memoryd-[0-9a-f]{16}\.tmp")


def identity_of_code(*parts: str) -> str:
    """A hash that changes with the code in these folders or files of the package.

    While an update replaces them, some cannot be seen: then it is one that no other run has.
    """
    package = Path(__file__).parents[1]
    try:
        facts = [fact for part in parts for fact in sorted(_facts_below(str(package / part)))]
    except OSError:
        facts = [os.urandom(16).hex()]
    return hashlib.sha256("\n".join(facts).encode()).hexdigest()


def _facts_below(path: str) -> Iterator[str]:
    """A line for each file of code or data; a tenth of what `rglob` takes, at every start."""
    if not os.path.isdir(path):  # noqa: PTH112 - as it says
        facts = os.stat(path)  # noqa: PTH116
        yield f"{path} {facts.st_size} {facts.st_mtime_ns}"
        return
    with os.scandir(path) as entries:
        for entry in entries:
            if entry.is_dir():
                if entry.name != "__pycache__":
                    yield from _facts_below(entry.path)
            elif "." in entry.name:
                facts = entry.stat()
                yield f"{entry.path} {facts.st_size} {facts.st_mtime_ns}"


def is_worth_keeping(changes: int, memories: int) -> bool:
    """Whether to write what was made of so many memories; `changes` are not on disk yet."""
    return memories >= LEAST_MEMORIES and changes > max(LEAST_CHANGES, CHANGED_SHARE * memories)


class KeptFiles:
    """Methods block; none raises for a disk that is full, read-only or damaged."""

    def __init__(self, state_dir: str) -> None:
        self._folder = Path(state_dir, FOLDER)

    def read(self, directory: str, kind: Kind = "shelf") -> memoryview | None:
        """What was kept for a directory; None if there is nothing, or in any doubt."""
        path = self._path(directory, kind)
        try:
            data = memoryview(read_plain(path, LIMIT_BYTES))
        except FileNotFoundError:
            return None
        except (OSError, MemorydError):
            data = memoryview(b"")
        start = len(_MARK) + _HASH_BYTES
        body = data[start:]
        if data[:start] == _MARK + hashlib.sha256(body).digest():
            return body
        self.discard(directory, kind)
        return None

    def begin(self) -> str | None:
        """The name of a new temporary file; to be called before what is kept is looked at."""
        name = self._folder / f".memoryd-{os.urandom(8).hex()}.tmp"
        try:
            make_folder(str(self._folder))
            name.touch(0o600, exist_ok=False)
        except (OSError, MemorydError):
            return None
        return str(name)

    def fill(self, temporary: str, body: bytes) -> bool:
        """Writes the file; False if it is not there any more, or cannot be written."""
        try:
            with os.fdopen(os.open(temporary, os.O_WRONLY | os.O_NOFOLLOW), "wb") as file:
                file.write(_MARK + hashlib.sha256(body).digest())
                file.write(body)
        except OSError:
            self.give_up(temporary)
            return False
        return True

    def put_in_place(self, temporary: str, directory: str, kind: Kind = "shelf") -> bool:
        """Not synced: after a power cut the hash tells whether it is whole."""
        try:
            Path(temporary).rename(self._path(directory, kind))
        except OSError:
            return False
        return True

    def give_up(self, temporary: str) -> None:
        with suppress(OSError):
            Path(temporary).unlink()

    def discard(self, directory: str, kind: Kind = "shelf") -> None:
        with suppress(OSError):
            self._path(directory, kind).unlink()

    def drop(self, directory: str) -> None:
        """Removes what is kept of a directory, and what is being written right now.

        To be called after a memory was removed from the store; OSError if a file stays.
        """
        with suppress(FileNotFoundError):
            for entry in list(os.scandir(self._folder)):
                if _TEMPORARY.fullmatch(entry.name):
                    Path(entry.path).unlink(missing_ok=True)
        for kind in get_args(Kind):
            self._path(directory, kind).unlink(missing_ok=True)

    def _path(self, directory: str, kind: Kind = "shelf") -> Path:
        name = hashlib.sha256(directory.encode("utf-8", "surrogateescape")).hexdigest()[:32]
        return self._folder / f"{name}.{kind}"
