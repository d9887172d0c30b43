"""Regular files at paths where there may be something else.

Opening a FIFO blocks and reading a device never ends, so anything that is not a regular file is
rejected before a byte of it is read.
"""

import errno
import os
import stat
from pathlib import Path

from memoryd.base.errors import Refused


def read_plain(path: str | Path, limit_bytes: int) -> bytes:
    """The whole file; OSError if it does not exist, is not a regular file or is too large."""
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        facts = os.fstat(handle)
        if not stat.S_ISREG(facts.st_mode):
            raise OSError(errno.EINVAL, "it is not a regular file", str(path))
        if facts.st_size > limit_bytes:
            raise OSError(errno.EFBIG, f"it is larger than {limit_bytes} bytes", str(path))
        with os.fdopen(handle, "rb", closefd=False) as file:
            return file.read(limit_bytes)
    finally:
        os.close(handle)


def modified_at(path: Path) -> float:
    """The file's mtime; 0 if it does not exist or cannot be seen."""
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


def refuse_unless_plain(path: str) -> None:
    """Raises Refused if something other than a regular file is where a file of ours belongs."""
    try:
        mode = Path(path).stat().st_mode
    except OSError:  # absent, or not visible to us: opening it will say so
        return
    if not stat.S_ISREG(mode):
        hint = f"check what it is, then move it away: mv {path} {path}.old"
        raise Refused(f"{path} is not a regular file", hint=hint)
