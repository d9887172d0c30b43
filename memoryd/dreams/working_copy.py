"""The copy that a dream works on: all of a memory directory, in a folder of our own.

Whatever happens to a dream, happens here; the memory itself is only touched when the result has
been judged. The copy's store keeps a history in memory that goes with it.
"""

import os
import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final, Self

from memoryd.base.errors import MemorydError, StorageError
from memoryd.memories.records import MemoryChanged, MemoryDirectory, Stored
from memoryd.memories.rules import topics
from memoryd.memories.rules.topics import INDEX_FILE, Scope
from memoryd.memories.store import Store
from memoryd.memories.version_table import VersionTable
from memoryd.system.cancellation import cancellable
from memoryd.system.database import Database
from memoryd.system.folder import Folder, make_folder
from memoryd.system.notices import Notices

DAILY_LOGS: Final = 60
LOG_LIMIT_BYTES: Final = 1024 * 1024

Files = dict[str, Stored]


class WorkingCopy:
    """`before` is what was copied, by file name, the index included."""

    def __init__(
        self, folder: str, scope: Scope, before: Files, store: Store, state: Database
    ) -> None:
        self.folder = folder
        self.directory = MemoryDirectory(f"{folder}/memory", scope)
        self.before = before
        self.store = store
        self.daily_logs = 0
        self._state = state
        self._unread: set[str] = set()

    @classmethod
    def lay_out(
        cls,
        folder: str,
        source: Store,
        directory: MemoryDirectory,
        *,
        now: Callable[[], float],
        tell: Callable[[MemoryChanged], None],
        skip_index: bool,
    ) -> Self:
        state = Database.open(":memory:")
        notices = Notices()
        notices.on(MemoryChanged, tell)
        store = Store(VersionTable(state), now=now, skip_index=skip_index, notices=notices)
        stage = cls(folder, directory.scope, all_files(source, directory), store, state)
        make_folder(stage.directory.path)
        for file, stored in cancellable(stage.before.items()):
            stage._put(file, stored.data, stored.modified)
        for one in source.scan(directory):
            if one.file not in stage.before:  # it cannot be read, and must keep its index line
                stage._put(one.file, topics.render(one.topic).encode(), one.modified)
                stage._unread.add(one.file)
        stage.daily_logs = stage._copy_logs(directory)
        return stage

    def after(self) -> Files:
        """The copy as it is now, less what was never copied."""
        found = all_files(self.store, self.directory)
        return {file: stored for file, stored in found.items() if file not in self._unread}

    def backdate(self, file: str, modified: float) -> None:
        """A new text that is no newer than what it was made of."""
        os.utime(Path(self.directory.path, file), (modified, modified))

    def close(self, *, keep: bool = False) -> None:
        self._state.close()
        if not keep:
            remove_stage(self.folder)

    def _put(self, file: str, data: bytes, modified: float) -> None:
        path = Path(self.directory.path, file)
        try:
            path.parent.mkdir(0o700, parents=True, exist_ok=True)
            path.write_bytes(data)
            os.utime(path, (modified, modified))
        except OSError as error:
            raise StorageError(str(path), "write", error) from error

    def _copy_logs(self, directory: MemoryDirectory) -> int:
        names = sorted(Path(directory.path).glob("logs/[0-9]*/[0-9]*/*.md"), reverse=True)
        count = 0
        for path in names[:DAILY_LOGS]:
            file = str(path.relative_to(directory.path))
            with suppress(MemorydError), Folder.open(directory.path) as folder:
                content = folder.read(file, LOG_LIMIT_BYTES)
                self._put(file, content.data, content.modified)
                count += 1
        return count


def all_files(store: Store, directory: MemoryDirectory) -> Files:
    """Every topic file and the index, as far as they can be read."""
    found = {stored.file: stored for stored in store.read_all(directory)}
    with suppress(MemorydError):
        found[INDEX_FILE] = store.read(directory, INDEX_FILE)
    return found


def remove_stage(folder: str) -> None:
    shutil.rmtree(folder, ignore_errors=True)
