"""Snapshots of agents' memories in a repository: taken over when there is none, written on request.

Rules
- `rules/snapshots` says what to do about one. What is copied has no known writer: a repository can
  hold anything, so a person confirms it (`memoryd trust`), and the index is rebuilt.
- A snapshot is written whole: the memories, the index, then `snapshot.json`. If a file of it looks
  like a secret, none is written. Files that are no longer in the memory leave the snapshot.
- Below the project's root no link is followed, in either direction. All methods block.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Final

import msgspec

from memoryd.base import paths
from memoryd.base.errors import MemorydError, NotFound, Refused
from memoryd.base.timestamps import iso_time
from memoryd.memories.agents import AgentMemory
from memoryd.memories.records import MemoryDirectory, Stored
from memoryd.memories.rules import snapshots
from memoryd.memories.rules.snapshots import SNAPSHOT_FILE, SnapshotMarks, SnapshotStep
from memoryd.memories.rules.topics import INDEX_FILE
from memoryd.memories.store import TOPIC_LIMIT_BYTES, Store
from memoryd.system.database import Database
from memoryd.system.folder import Folder
from memoryd.text.decode import decoded
from memoryd.text.masking.mask import find_secrets, presentable

SNAPSHOTS: Final = ".claude/agent-memory-snapshots"
MOST_FILES: Final = 500
MOST_BYTES: Final = 8 * 1024 * 1024

_NEWER: Final = (
    "A newer snapshot of your memory ({made}) came with the repository: {path}. Your own memory was"
    " left as it is. Compare the two and take over what helps; you are told this once."
)


class SnapshotWritten(msgspec.Struct, frozen=True):
    path: str
    updated_at: str
    files: list[str]


class SnapshotTable:
    def __init__(self, database: Database) -> None:
        self._database = database

    def marks(self, directory: str) -> SnapshotMarks:
        sql = "select taken, told from agent_snapshots where directory = ?"
        rows = self._database.run(sql, directory)
        found = msgspec.convert(rows, list[tuple[float | None, float | None]])
        return SnapshotMarks(*found[0]) if found else SnapshotMarks()

    def mark(self, directory: str, marks: SnapshotMarks) -> None:
        self._database.run(
            "insert or replace into agent_snapshots values (?, ?, ?)",
            directory,
            marks.taken,
            marks.told,
        )


class Snapshots:
    def __init__(self, store: Store, database: Database, now: Callable[[], float]) -> None:
        self._store = store
        self._table = SnapshotTable(database)
        self._now = now

    def look(self, root: str, agent: AgentMemory) -> str:
        """Takes a snapshot over where the agent has no memory; else what to tell it, once."""
        if self.take(root, agent):
            return ""
        made, marks = self.made_at(root, agent.name), self._table.marks(agent.own.path)
        if self._step(agent, made, marks) != "tell":
            return ""
        self._table.mark(agent.own.path, SnapshotMarks(marks.taken, made))
        path = paths.agent_snapshot(root, agent.name)
        return _NEWER.format(made=iso_time(made or 0.0), path=path)

    def take(self, root: str, agent: AgentMemory) -> bool:
        """Copies a snapshot where the agent has no memory; whether it did."""
        made, marks = self.made_at(root, agent.name), self._table.marks(agent.own.path)
        if self._step(agent, made, marks) != "copy":
            return False
        self._copy(root, agent)
        self._table.mark(agent.own.path, SnapshotMarks(made, marks.told))
        return True

    def names(self, root: str) -> list[str]:
        """The agents that a repository has snapshots of."""
        try:
            with Folder.open(f"{root}/{SNAPSHOTS}", beneath=root) as folder:
                found = os.listdir(folder.handle)  # noqa: PTH208 - by the handle, not by a path
        except (MemorydError, OSError):
            return []
        return [name for name in sorted(found)[:MOST_FILES] if paths.name_is_plain(name)]

    def _step(self, agent: AgentMemory, made: float | None, marks: SnapshotMarks) -> SnapshotStep:
        is_inside = agent.home != "user"
        return snapshots.next_step(made, self._newest(agent.own), marks, is_inside=is_inside)

    def made_at(self, root: str, agent: str) -> float | None:
        """When the snapshot of an agent was made; None if there is none."""
        try:
            with self._opened(root, agent) as folder:
                return snapshots.updated_at(folder.read(SNAPSHOT_FILE, 64 * 1024).data)
        except MemorydError:
            return None

    def write(self, root: str, agent: AgentMemory) -> SnapshotWritten:
        """Writes the agent's memory as a snapshot; Refused if a secret is in it."""
        files = {one.file: one for one in self._memory(agent.own)}
        if not files:
            raise NotFound(
                f"the agent {agent.name} has no memories in {agent.own.path}",
                hint="memoryd agent lists who has some, and where",
            )
        if unsafe := sorted(file for file, one in files.items() if find_secrets(one.text)):
            raise Refused(
                f"nothing was written: what looks like a secret is in {', '.join(unsafe)}",
                hint=f"memoryd edit {unsafe[0]} --agent {agent.name}",
            )
        made = self._now()
        with Folder.open(
            paths.agent_snapshot(root, agent.name), beneath=root, create=True
        ) as folder:
            for file in self._files_in(folder):
                if file not in files:
                    folder.remove(file, over=folder.read(file).version)
            for file, one in files.items():
                _put(folder, file, one.data)
            stamp = msgspec.json.encode({"updatedAt": iso_time(made)}) + b"\n"
            _put(folder, SNAPSHOT_FILE, stamp)
            taken = snapshots.updated_at(stamp)
            path = folder.path
        self._table.mark(agent.own.path, SnapshotMarks(taken, taken))
        return SnapshotWritten(path, iso_time(made), sorted(files))

    def _copy(self, root: str, agent: AgentMemory) -> None:
        room_bytes = MOST_BYTES
        with self._opened(root, agent.name) as folder:
            for file in self._files_in(folder):
                if file == INDEX_FILE:  # rebuilt from the memories themselves
                    continue
                with suppress(MemorydError):  # too large, or not a regular file
                    text = presentable(decoded(folder.read(file, TOPIC_LIMIT_BYTES).data))
                    room_bytes -= len(text.encode())
                    if room_bytes < 0:
                        break
                    data = text.encode()
                    self._store.put_back(agent.own, file, data, over=None, cause="sync")
        with self._store.together(agent.own):
            self._store.update_index(agent.own)

    def _memory(self, directory: MemoryDirectory) -> Iterator[Stored]:
        yield from self._store.read_all(directory)
        with suppress(NotFound):
            yield self._store.read(directory, INDEX_FILE)

    def _newest(self, directory: MemoryDirectory) -> float | None:
        return max((one.modified for one in self._store.scan(directory)), default=None)

    def _opened(self, root: str, agent: str) -> Folder:
        return Folder.open(paths.agent_snapshot(root, agent), beneath=root)

    def _files_in(self, folder: Folder) -> list[str]:
        """The Markdown files of a snapshot, by the same rules as those of a memory directory."""
        directory = MemoryDirectory(folder.path, "agent")
        names = [one.file for one in self._store.scan(directory)]
        return [*names[:MOST_FILES], *([INDEX_FILE] if folder.current(INDEX_FILE) else [])]


def _put(folder: Folder, file: str, data: bytes) -> None:
    before = folder.current(file)
    if before is None or before.data != data:
        folder.write(file, data, over=before.version if before else None)
