"""Files as an agent's tools see them: opened through handles, regular, text only, and masked.

- A path is resolved first, links included, and checked where it really leads. Then it is opened
  from the root's handle without following links, so that it cannot be swapped in between.
- Only regular files with a single link are opened, without blocking. A file with a NUL byte is not
  text.
- Everything that leaves here for a model is masked and free of invisible characters.
"""

import errno
import os
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from itertools import takewhile
from pathlib import Path
from typing import Final

import msgspec

from memoryd.agent.rules import access
from memoryd.agent.rules.access import AccessRoot, Denied
from memoryd.base.errors import Conflict, MemorydError, NotFound, StorageError
from memoryd.memories.records import MemoryDirectory
from memoryd.system.beneath import DEEPEST, open_beneath
from memoryd.system.cancellation import stop_if_cancelled
from memoryd.system.folder import Folder, version_of
from memoryd.text.decode import decoded
from memoryd.text.masking.mask import presentable

TEXT_LIMIT_BYTES: Final = 1024 * 1024
BINARY_PROBE_BYTES: Final = 8192
WALK_DEPTH: Final = 32
WALK_ENTRIES: Final = 100_000
WALK_SECONDS: Final = 3.5

_NAME_ERRORS: Final = frozenset({errno.ENAMETOOLONG, errno.EINVAL, errno.EILSEQ})
_FILE_ERRORS: Final = frozenset({errno.EACCES, errno.EPERM, errno.ENXIO, errno.ELOOP})
_FILE_FLAGS: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_FOLDER_FLAGS: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class ResolvedPath(msgspec.Struct, frozen=True):
    """A path that may be read: where it really leads, and the root it is in."""

    path: str
    root: AccessRoot

    @property
    def relative(self) -> str:
        return "" if self.path == self.root.path else os.path.relpath(self.path, self.root.path)


class Page(msgspec.Struct, frozen=True):
    """A whole text as a model may read it, and the version of its bytes."""

    path: str
    text: str
    version: str


class Walked(msgspec.Struct, frozen=True):
    """A file found by a walk: its path below the start, its root, its folder's handle."""

    path: str
    relative: str
    root: AccessRoot
    folder: int

    @property
    def name(self) -> str:
        return self.relative.rpartition("/")[2]

    @property
    def below_root(self) -> str:
        return self.path[len(self.root.path) :].lstrip("/")


class Walk(msgspec.Struct):
    """The limits of one walk; `is_cut` if they ended it early."""

    deadline: float
    entries_left: int = WALK_ENTRIES
    is_cut: bool = False

    def may_go_on(self) -> bool:
        stop_if_cancelled()
        self.entries_left -= 1
        if self.entries_left < 0 or time.monotonic() > self.deadline:
            self.is_cut = True
        return not self.is_cut


class View:
    """What one run may read.

    `memory` is where it may write; a relative path is looked up there first, then in the project.
    `closed` folders cannot be read even inside a project, as when the project is a home, nor can
    what `is_private`.
    """

    def __init__(
        self,
        project_root: str,
        memory: MemoryDirectory,
        *,
        others: tuple[MemoryDirectory, ...] = (),
        transcripts: tuple[str, ...] = (),
        closed: tuple[str, ...] = (),
        is_private: Callable[[str], bool] = lambda _: False,
    ) -> None:
        self.memory = memory
        self.is_private = is_private
        self.project_root = os.path.realpath(project_root)
        self.memory_root = _real_root(memory)
        self._directories = {_real_root(one): one for one in (memory, *others)}
        self.roots = (
            *(AccessRoot(path, "memory") for path in self._directories),
            self._project(),  # which may be the memory itself
            *(AccessRoot(os.path.realpath(path), "transcripts") for path in transcripts),
            *(AccessRoot(os.path.realpath(path), "closed") for path in closed),
        )

    def _project(self) -> AccessRoot:
        is_wide = access.is_too_wide(self.project_root, os.path.realpath(Path.home()))
        return AccessRoot(self.project_root, "closed" if is_wide else "project")

    def resolve(self, path: str) -> ResolvedPath:
        """Where a path leads; Denied if this run may not read there."""
        plain = access.normalized_path(path)
        start = plain if plain.startswith("/") else self._place_of(plain)
        with as_denials():
            real = os.path.realpath(start)
        root = access.nearest_root(real, self.roots)
        if self.is_private(real) or self.is_private(start):
            raise Denied("outside", "the person keeps that file private; go on without it")
        # Either the link or its target may have a name that looks secret.
        access.check_name(os.path.relpath(real, root.path), root.kind)
        access.check_name(plain.rpartition("/")[2], root.kind)
        return ResolvedPath(real, root)

    def start(self, path: str | None) -> ResolvedPath:
        """Where a search begins: a path that exists, by default the memory directory."""
        if path is None:
            root = access.nearest_root(self.memory_root, self.roots)
            return ResolvedPath(self.memory_root, root)
        resolved = self.resolve(path)
        with as_denials():
            Path(resolved.path).stat()
        return resolved

    def page(self, path: str) -> Page:
        """One whole text file."""
        resolved = self.resolve(path)
        access.check_readable_whole(resolved.path, resolved.root.kind)
        with self.parent(resolved) as (folder, name), as_denials():
            handle = open_plain(folder.handle, name)
            with os.fdopen(handle, "rb") as file:
                data = file.read(TEXT_LIMIT_BYTES + 1)
        if len(data) > TEXT_LIMIT_BYTES:
            raise Denied("too-large", f"it has over {TEXT_LIMIT_BYTES} bytes; use Grep")
        if is_binary(data):
            raise Denied("binary", "it is not a text file")
        text = presentable(decoded(data))
        return Page(resolved.path, text, version_of(data))

    @contextmanager
    def parent(self, resolved: ResolvedPath) -> Iterator[tuple[Folder, str]]:
        """A handle on the folder that holds the file, and the file's name there."""
        above, _, name = resolved.relative.rpartition("/")
        if not name:
            raise Denied("not-plain", "it is a folder; list it with Glob")
        with self.folder(resolved.root, above) as folder:
            yield folder, name

    @contextmanager
    def folder(self, root: AccessRoot, relative: str) -> Iterator[Folder]:
        """A handle on a folder below a root, reached without following a link."""
        directory = self._directories.get(root.path)
        beneath = directory.beneath if directory else None
        with ExitStack() as opened:
            with as_denials():
                path = directory.path if directory else root.path
                folder = opened.enter_context(Folder.open(path, beneath=beneath))
                steps = relative.split("/") if relative else []
                for first in range(0, len(steps), DEEPEST):
                    part = "/".join(steps[first : first + DEEPEST])
                    folder = opened.enter_context(Folder(relative, folder.descend(part)))
            yield folder

    def walk(self, start: ResolvedPath, bounds: Walk) -> Iterator[Walked]:
        """The file, or every readable file below the folder, sorted by name; follows no links."""
        if not os.path.lexists(start.path):
            return  # a memory directory that was not created yet
        if not Path(start.path).is_dir():
            with self.parent(start) as (folder, name), as_denials():
                os.close(open_plain(folder.handle, name))
                yield Walked(start.path, name, start.root, folder.handle)
            return
        with self.folder(start.root, start.relative) as folder:
            yield from self._walk(folder.handle, start.path, "", bounds)

    def _walk(self, handle: int, path: str, prefix: str, bounds: Walk) -> Iterator[Walked]:
        try:
            root = access.nearest_root(path, self.roots)
        except Denied:
            return
        for name, is_folder in _listed(handle, bounds):
            if self.is_private(f"{path}/{name}"):
                continue
            if not is_folder:
                yield Walked(f"{path}/{name}", prefix + name, root, handle)
            elif prefix.count("/") < WALK_DEPTH:
                with _below(handle, name) as below:
                    if below is not None:
                        yield from self._walk(below, f"{path}/{name}", f"{prefix}{name}/", bounds)

    def _place_of(self, relative: str) -> str:
        places = [f"{base}/{relative}" for base in (self.memory_root, self.project_root)]
        return next((place for place in places if os.path.lexists(place)), places[0])


def open_plain(folder: int, name: str) -> int:
    """A handle on a regular file with one link; Denied for any other kind; may raise OSError."""
    handle = open_beneath(folder, name, _FILE_FLAGS)
    found = os.fstat(handle)
    if stat.S_ISREG(found.st_mode) and found.st_nlink == 1:
        return handle
    os.close(handle)
    if stat.S_ISDIR(found.st_mode):
        raise Denied("not-plain", "it is a folder; list it with Glob")
    raise Denied("not-plain", "it is not a regular file with a single name")


def is_binary(data: bytes) -> bool:
    return b"\0" in data[:BINARY_PROBE_BYTES]


@contextmanager
def as_denials() -> Iterator[None]:
    """Turns errors of the system or the store into denials with fixed words for the model."""
    try:
        yield
    except OSError as error:
        raise _denied(error) from error
    except MemorydError as error:
        raise _denied(error) from error


def _denied(error: OSError | MemorydError) -> Denied:
    match error:
        case NotFound() | FileNotFoundError() | NotADirectoryError():
            return Denied("no-file", "there is no such file")
        case Conflict():
            return Denied("changed", "it has changed since you read it; Read it again")
        case StorageError() | OSError() if error.errno in _NAME_ERRORS:
            return Denied("bad-path", "that cannot be the name of a file")
        case StorageError() if error.errno not in _FILE_ERRORS:
            return Denied("storage", "a disk error prevents it; go on without it")
        case _:
            return Denied("not-plain", "it is not a regular file reachable without a link")


def _real_root(directory: MemoryDirectory) -> str:
    """Links below `beneath` are not followed, so they must not move the root either."""
    if directory.beneath is None:
        return os.path.realpath(directory.path)
    below = os.path.relpath(directory.path, directory.beneath)
    return os.path.normpath(f"{os.path.realpath(directory.beneath)}/{below}")


def _listed(handle: int, bounds: Walk) -> list[tuple[str, bool]]:
    """The names in a folder, each with whether it is a folder; without links and devices."""
    with os.scandir(handle) as entries:
        return sorted(
            (entry.name, entry.is_dir(follow_symlinks=False))
            for entry in takewhile(lambda _: bounds.may_go_on(), entries)
            if _is_plain(entry) and entry.name not in access.NEVER_WALKED
        )


@contextmanager
def _below(handle: int, name: str) -> Iterator[int | None]:
    """A handle on a folder in a folder, or None if it is gone, a link now, or forbidden."""
    try:
        below = os.open(name, _FOLDER_FLAGS, dir_fd=handle)
    except OSError:
        yield None
        return
    try:
        yield below
    finally:
        os.close(below)


def _is_plain(entry: os.DirEntry[str]) -> bool:
    try:
        is_plain = entry.is_file(follow_symlinks=False) or entry.is_dir(follow_symlinks=False)
    except OSError:
        return False
    return is_plain and access.is_printed(entry.name)
