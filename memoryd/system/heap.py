"""Memory that is free inside the process, given back to the system.

glibc keeps what was freed, for each thread that used it. After a large piece of work in a thread
(a shelf that was read or written) that is tens of megabytes which nobody needs again.
"""

import ctypes
import sys
from typing import Final

_ARENAS: Final = -8  # M_ARENA_MAX
_FEW_ARENAS: Final = 2

_libc = ctypes.CDLL(None) if sys.platform == "linux" else None


def use_few_arenas() -> None:
    """Makes threads share their free memory; to be called before any is started."""
    if hasattr(_libc, "mallopt"):
        _libc.mallopt(_ARENAS, _FEW_ARENAS)  # type: ignore[union-attr]


def give_back() -> None:
    """Returns free memory to the system; takes some milliseconds."""
    if hasattr(_libc, "malloc_trim"):
        _libc.malloc_trim(0)  # type: ignore[union-attr]
