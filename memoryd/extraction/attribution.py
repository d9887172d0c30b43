"""Says in the history which memories the agent itself wrote, and in which session."""

import os
from contextlib import suppress

from memoryd.base.errors import MemorydError
from memoryd.extraction.rules.messages import files_beneath
from memoryd.memories.records import MemoryDirectory
from memoryd.memories.scopes import Project
from memoryd.memories.store import Store
from memoryd.memories.version_table import VersionTable
from memoryd.transcripts.rules.turns import Turn


class Attribution:
    def __init__(self, store: Store, history: VersionTable) -> None:
        self._store = store
        self._history = history

    def give(self, project: Project, turn: Turn) -> None:
        """For what the agent wrote in this turn; blocking."""
        for directory in project.directories:
            for folder in _names_of(directory.path):
                for file in files_beneath(folder, turn):
                    if not file.startswith("logs/"):
                        self._attribute(directory, file, turn.session_id)

    def _attribute(self, directory: MemoryDirectory, file: str, session_id: str) -> None:
        # Gone again, or the index, or no plain file: then there is nothing to tell of.
        with suppress(MemorydError):
            self._store.recorded(directory, file)
            self._history.attribute(directory.path, file, cause="agent", session_id=session_id)


def memory_folders(project: Project) -> list[str]:
    """Every name that the memory directories of a project go by."""
    return [name for directory in project.directories for name in _names_of(directory.path)]


def _names_of(path: str) -> list[str]:
    """The path as it is, and where it really leads."""
    return list(dict.fromkeys((path, os.path.realpath(path))))
