"""Which names a new memory cannot have, asked of the disk one at a time."""

import os
from contextlib import suppress

from memoryd.base.errors import MemorydError
from memoryd.memories.records import MemoryDirectory
from memoryd.memories.retired_files import RetiredFiles
from memoryd.memories.rules.retirement import name_when_current
from memoryd.memories.rules.topics import INDEX_FILE
from memoryd.memories.scan import open_folder
from memoryd.memories.version_table import VersionTable


class TakenNames:
    """The names of all files, and those that retired memories get back; `more` may be added."""

    def __init__(
        self, directory: MemoryDirectory, versions: VersionTable, retired: RetiredFiles
    ) -> None:
        self._directory = directory
        self._versions = versions
        self._retired = retired
        self.more: set[str] = set()

    def __contains__(self, file: object) -> bool:
        if not isinstance(file, str) or file == INDEX_FILE or file in self.more:
            return True
        with suppress(MemorydError), open_folder(self._directory) as folder:
            with suppress(OSError):
                os.stat(file, dir_fd=folder.handle, follow_symlinks=False)
                return True
            # A memory that was ever retired has a history under this name.
            if self._versions.newest(self._directory.path, file) is not None:
                names = self._retired.names(folder)
                return any(name_when_current(name) == file for name in names)
        return False
