"""Files that a person or another program may have put there, or something else in their place.

A FIFO would be waited for, a device would never end, a folder is no text: what is no plain file is
told apart before a byte of it is read, and never opened in a way that waits.
"""

import errno
import os
import stat
from pathlib import Path

from memoryd.base.errors import Refused


def read_plain(path: str | Path, limit_bytes: int) -> bytes:
    """The whole file; OSError where there is none, it is no plain file, or it is too large."""
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        facts = os.fstat(handle)
        if not stat.S_ISREG(facts.st_mode):
            raise OSError(errno.EINVAL, "it is not a plain file", str(path))
        if facts.st_size > limit_bytes:
            raise OSError(errno.EFBIG, f"it has more than {limit_bytes} bytes", str(path))
        with os.fdopen(handle, "rb", closefd=False) as file:
            return file.read(limit_bytes)
    finally:
        os.close(handle)


def refuse_unless_plain(path: str) -> None:
    """Refused when something else is there in the place of a file of ours."""
    try:
        mode = Path(path).stat().st_mode
    except OSError:  # nothing there, or nothing that we may see: whoever opens it will say
        return
    if not stat.S_ISREG(mode):
        hint = f"look at it, then move it away: mv {path} {path}.old"
        raise Refused(f"{path} is not a plain file", hint=hint)
