"""The one opener for files that strangers can place: instructions, settings, notes, transcripts.

- A path is resolved first, and its real path is opened from the root without following a link. A
  step that was swapped for a link in between is an error, not another file; on kernels without
  `openat2` each step is opened by itself.
- The file belongs to us or to root. In a user namespace root shows up as the owner of `/`; such a
  file is taken only from the folders of the system, since strangers look the same there.
- It is a regular file: opening a FIFO blocks, and reading a device never ends, so anything else is
  rejected before a byte of it is read.
"""

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Final

from memoryd.base.errors import Refused
from memoryd.system.beneath import DEEPEST, open_beneath

_FILE_FLAGS: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_FOLDER_FLAGS: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# A folder that is only a place to start from is not opened where that can be helped: opening it
# would wake all who watch it.
_PLACE_FLAGS: Final = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_CLOEXEC
_SYSTEM: Final = ("/etc/", "/usr/", "/opt/", "/nix/", "/Library/")


def read_plain(path: str | os.PathLike[str], limit_bytes: int) -> bytes:
    """The whole file; OSError if it is absent, foreign, too large or not a regular file."""
    with opened(path) as handle:
        if os.fstat(handle).st_size > limit_bytes:
            raise OSError(errno.EFBIG, f"it is larger than {limit_bytes} bytes", str(path))
        with os.fdopen(handle, "rb", closefd=False) as file:
            return file.read(limit_bytes)


@contextmanager
def opened(path: str | os.PathLike[str]) -> Iterator[int]:
    """A handle on a regular file of ours or of root; OSError for anything else."""
    with opened_real(os.path.realpath(path)) as handle:
        yield handle


@contextmanager
def opened_real(real: str) -> Iterator[int]:
    """As `opened`, for a path that was resolved already; OSError if it leads elsewhere by now."""
    handle = open_real(real)
    try:
        _refuse_foreign(handle, real)
        yield handle
    finally:
        os.close(handle)


@contextmanager
def opened_beneath(root: str, relative: str) -> Iterator[int]:
    """As `opened`, for a file below a folder: no link on the way from that folder is followed."""
    above = os.open(root, _PLACE_FLAGS)
    try:
        handle = open_beneath(above, relative, _FILE_FLAGS)
    except Refused as error:
        raise OSError(errno.EINVAL, "it is not a path to a file", relative) from error
    finally:
        os.close(above)
    try:
        _refuse_foreign(handle, f"{root}/{relative}")
        yield handle
    finally:
        os.close(handle)


def _refuse_foreign(handle: int, path: str) -> None:
    facts = os.fstat(handle)
    if not stat.S_ISREG(facts.st_mode):
        raise OSError(errno.EINVAL, "it is not a regular file", path)
    if not owner_is_trusted(facts, path):
        raise OSError(errno.EPERM, "it belongs to another user", path)


def open_real(real: str) -> int:
    """A handle on a real path; OSError if any step of it is a link by now."""
    steps = real.strip("/").split("/")
    at = os.open("/", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        while len(steps) > DEEPEST:
            below = open_beneath(at, "/".join(steps[:DEEPEST]), _FOLDER_FLAGS)
            os.close(at)
            at, steps = below, steps[DEEPEST:]
        return open_beneath(at, "/".join(steps), _FILE_FLAGS)
    except Refused as error:
        raise OSError(errno.EINVAL, "it is not a path to a file", real) from error
    finally:
        os.close(at)


def owner_is_trusted(facts: os.stat_result, real: str) -> bool:
    return facts.st_uid in {0, os.geteuid()} or (
        facts.st_uid == _owner_of_root() and real.startswith(_SYSTEM)
    )


@cache
def _owner_of_root() -> int:
    return os.lstat("/").st_uid


def modified_at(path: str | os.PathLike[str]) -> float:
    """The file's mtime; 0 if it does not exist or cannot be seen."""
    try:
        return os.stat(path).st_mtime  # noqa: PTH116 - the daemon starts without pathlib
    except OSError:
        return 0.0


def refuse_unless_plain(path: str) -> None:
    """Raises Refused if something other than a regular file is where a file of ours belongs."""
    try:
        mode = os.stat(path).st_mode  # noqa: PTH116 - the daemon starts without pathlib
    except OSError:  # absent, or not visible to us: opening it will say so
        return
    if not stat.S_ISREG(mode):
        hint = f"check what it is, then move it away: mv {path} {path}.old"
        raise Refused(f"{path} is not a regular file", hint=hint)
