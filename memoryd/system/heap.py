"""Memory that is free inside the process, given back to the system.

- glibc keeps what was freed. After a large piece of work (a shelf that was read or written) that is
  tens of megabytes which nobody needs again. All threads share one heap: with several, each has
  holes that the others cannot use, and how many depends on which thread did what.
- Once a large block was freed, glibc takes blocks of that size from the heap instead of mapping
  them. Small ones then settle between them, and the heap grows for hours. So the limit is fixed.
- Mapping costs: a save into 20,000 memories copies tables of a megabyte or two and took twice as
  long when those were mapped. And with a fixed limit, glibc gives the end of the heap back at once,
  so that a recall gets its half megabyte from the system each time. So some megabytes may stay.
- numpy asks for huge pages for large arrays. Then the room that an array has for more is in memory
  too, two megabytes at a time, at once or whenever the kernel gets round to it. So it does not ask.
"""

import ctypes
import os
import sys
from typing import Final

_MAP_FROM: Final = -3  # M_MMAP_THRESHOLD
_LARGE_BYTES: Final = 4 << 20
_MAY_STAY: Final = -1  # M_TRIM_THRESHOLD
_FREE_BYTES: Final = 16 << 20
_ARENAS: Final = -8  # M_ARENA_MAX
_ONE_ARENA: Final = 1

_libc = ctypes.CDLL(None) if sys.platform == "linux" else None


def keep_small() -> None:
    """Threads share their free memory, and large blocks are mapped, in plain pages.

    To be called before any thread starts, and before numpy is loaded.
    """
    os.environ["NUMPY_MADVISE_HUGEPAGE"] = "0"
    if hasattr(_libc, "mallopt"):
        _libc.mallopt(_ARENAS, _ONE_ARENA)  # type: ignore[union-attr]
        _libc.mallopt(_MAP_FROM, _LARGE_BYTES)  # type: ignore[union-attr]
        _libc.mallopt(_MAY_STAY, _FREE_BYTES)  # type: ignore[union-attr]


def give_back() -> None:
    """Returns free memory to the system; takes some milliseconds."""
    if hasattr(_libc, "malloc_trim"):
        _libc.malloc_trim(0)  # type: ignore[union-attr]
