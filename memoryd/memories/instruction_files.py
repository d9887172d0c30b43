"""The disk as the instruction rules read it; each version of a file is parsed once."""

import os
import stat
import time
from collections.abc import Callable, Sequence
from itertools import islice
from typing import Final

from memoryd.base.file_stamp import FileStamp
from memoryd.memories.rules.instruction_text import InstructionDocument, parse_instructions
from memoryd.memories.rules.instructions import READ_LIMIT_BYTES
from memoryd.memories.scopes import RealFiles
from memoryd.system.plain_file import opened_real
from memoryd.text.decode import decoded
from memoryd.text.invisible import strip_invisible

NAMES_LIMIT: Final = 1000
HELD_LIMIT_CHARACTERS: Final = 16_000_000


class InstructionDisk(RealFiles):
    """Never raises. A version is known by inode, size and times; `forget` drops the cache."""

    def __init__(
        self,
        now: Callable[[], float] = time.time,
        is_private: Callable[[str], bool] = lambda _: False,
    ) -> None:
        self._now = now
        self._is_private = is_private
        self._held: dict[str, tuple[FileStamp, InstructionDocument]] = {}
        self._held_characters = 0

    def forget(self) -> None:
        self._held.clear()
        self._held_characters = 0

    def is_dir(self, path: str) -> bool:
        return stat.S_ISDIR(_mode(path))

    def is_file(self, path: str) -> bool:
        return stat.S_ISREG(_mode(path))

    def names_in(self, folder: str) -> Sequence[str]:
        """Sorted, without names that are not UTF-8 or have invisible characters."""
        try:
            with os.scandir(folder) as entries:
                names = [entry.name for entry in islice(entries, NAMES_LIMIT)]
        except OSError:
            return ()
        return sorted(name for name in names if strip_invisible(name) == name)

    def document(self, path: str) -> InstructionDocument | None:
        if self._is_private(path):
            return None
        try:
            # The path is a real one, so that a link on it was put there after the check.
            with opened_real(path) as handle:
                facts = os.fstat(handle)
                if facts.st_size > READ_LIMIT_BYTES:
                    return None
                stamp = FileStamp.of(facts)
                known = self._held.get(path)
                if known is not None and known[0] == stamp:
                    return known[1]
                with os.fdopen(handle, "rb", closefd=False) as file:
                    data = file.read(READ_LIMIT_BYTES)
        except OSError:
            return None
        if b"\0" in data:
            return None
        document = parse_instructions(decoded(data))
        if stamp.is_settled(self._now()):
            self._hold(path, stamp, document)
        return document

    def _hold(self, path: str, stamp: FileStamp, document: InstructionDocument) -> None:
        if self._held_characters > HELD_LIMIT_CHARACTERS:
            self.forget()
        self._held[path] = (stamp, document)
        self._held_characters += document.characters


def _mode(path: str) -> int:
    try:
        return os.stat(path).st_mode  # noqa: PTH116 - a path object takes longer than the look
    except (OSError, ValueError):
        return 0
