"""Records in the history which memories the agent itself wrote, and in which session."""

import os
from contextlib import suppress

from memoryd.base.errors import MemorydError
from memoryd.extraction.rules.agent_writes import writes_into
from memoryd.memories.records import MemoryDirectory, MemoryTrusted
from memoryd.memories.rules.topics import INDEX_FILE
from memoryd.memories.scopes import Project
from memoryd.memories.store import Store
from memoryd.memories.version_table import VersionTable
from memoryd.system.notices import Notices
from memoryd.transcripts.rules.turns import Turn


class Attribution:
    def __init__(
        self, store: Store, versions: VersionTable, notices: Notices | None = None
    ) -> None:
        self._store = store
        self._versions = versions
        self._notices = notices or Notices()

    def attribute(self, project: Project, turn: Turn) -> None:
        """Credits the agent with what it wrote in this turn; blocking."""
        if not turn.tool_calls and not turn.files_written:
            return
        for directory in project.directories:
            for folder in _paths_of(directory.path):
                for write in writes_into(folder, turn):
                    if write.file and not write.file.startswith("logs/"):
                        self._attribute(directory, write.file, turn.session_id)

    def _attribute(self, directory: MemoryDirectory, file: str, session_id: str) -> None:
        # Removed since, or not a regular file: there is nothing to record.
        with suppress(MemorydError):
            stored = self._store.recorded(directory, file)
            if file == INDEX_FILE:
                self._versions.origins.note_index(directory.path, stored.version)
            elif self._versions.attribute(directory.path, file, session_id=session_id):
                self._notices.post(MemoryTrusted(directory, file))


def memory_folders(project: Project) -> list[str]:
    """Every path under which a project's memory directories may be named."""
    return [path for directory in project.directories for path in _paths_of(directory.path)]


def _paths_of(path: str) -> list[str]:
    """The path as given, and with links resolved."""
    return list(dict.fromkeys((path, os.path.realpath(path))))
