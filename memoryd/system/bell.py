"""Rings when anything happens in the watched folders, so that nobody has to keep looking.

The library that names the changes is asked in steps: it sleeps, looks and sleeps again, even when
nothing happens for hours. On Linux the kernel can wake us instead. The bell only says "now": what
changed is still the library's to say.

- It hangs on the same folders, each by itself.
- Where the system has no inotify, or refuses another one, there is no bell.
- The kernel says when it dropped events; the library does not pass that on, the bell does.
"""

from collections.abc import Container, Iterable
from typing import Self

import anyio

from memoryd.system.inotify import ANYTHING, NAMES, OVERFLOW, Inotify


class Bell:
    """An inotify instance of its own; its events are counted as one, whatever they say."""

    def __init__(self, inotify: Inotify) -> None:
        self._inotify = inotify

    @classmethod
    def hang(cls, folders: Iterable[str], for_names: Container[str] = ()) -> Self | None:
        """None where the system cannot ring for all of these folders.

        Those in `for_names` ring only when a name comes or goes, not when a file is written to.
        """
        inotify = Inotify.open()
        if inotify is None:
            return None
        bell = cls(inotify)
        for folder in folders:
            if inotify.watch(folder, NAMES if folder in for_names else ANYTHING) is None:
                bell.close()
                return None
        return bell

    async def wait(self) -> None:
        """Returns when something happened since `silence`."""
        await anyio.wait_readable(self._inotify.handle)

    def silence(self) -> bool:
        """Takes all rings together as heard; true when the kernel had to drop some events."""
        return any(note.mask & OVERFLOW for note in self._inotify.read())

    def close(self) -> None:
        self._inotify.close()
