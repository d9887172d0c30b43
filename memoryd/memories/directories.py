"""Which memory directories exist on this machine, and which folders to watch for changes.

- A project's memories are in `projects/*/memory` or where settings put them, the team's in `team/`
  below that. The user's, the groups' and the named agents' are beside `projects/`. A project's own
  agents have theirs in its `.claude`.
- For a directory that does not exist yet, the nearest existing folder above it is watched.
- Below a memory directory, every folder that a scan enters is watched. Below a project's root no
  link is followed: a repository must not lead us elsewhere.
"""

import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import chain
from posixpath import dirname, join
from typing import Final

import msgspec

from memoryd.base.file_stamp import FileStamp, Identity
from memoryd.base.paths import Places, team_memory, user_memory
from memoryd.memories.records import MemoryDirectory
from memoryd.memories.rules.topics import INDEX_FILE
from memoryd.memories.scan import folders_below, is_readable_name, skipped_folders

# The system's watches are shared by all programs of the user.
MOST_FOLDERS: Final = 4000
_AGENTS_OF_A_PROJECT: Final = (".claude/agent-memory", ".claude/agent-memory-local")


class Layout(msgspec.Struct, frozen=True):
    """The directories that exist, by path, and the folders to watch."""

    directories: dict[str, MemoryDirectory]
    folders: dict[str, Identity]


def layout(places: Places, memory_paths: Iterable[str], roots: Iterable[str]) -> Layout:
    """All memory directories, including those at `memory_paths` and of the projects at `roots`."""
    found = _search(places, memory_paths, roots)
    found.watch_subfolders()
    return Layout(found.directories, found.folders)


def _search(places: Places, memory_paths: Iterable[str], roots: Iterable[str]) -> "_FolderSearch":
    found = _FolderSearch()
    found.add(MemoryDirectory(user_memory(places), "user"))
    for group in found.folders_in(f"{places.claude_dir}/memory-groups"):
        found.add(MemoryDirectory(group, "group"))
    projects = found.folders_in(f"{places.claude_dir}/projects")
    for memory in sorted({f"{project}/memory" for project in projects} | {*memory_paths}):
        found.add(MemoryDirectory(memory, "project"))
        if _is_folder(team_memory(memory), beneath=memory):
            found.add(MemoryDirectory(team_memory(memory), "team", beneath=memory))
    for agent in found.folders_in(f"{places.claude_dir}/agent-memory"):
        found.add(MemoryDirectory(agent, "agent"))
    for root in sorted(set(roots) - {"/"}):  # no agent lives there, and watching it would be noisy
        for part in _AGENTS_OF_A_PROJECT if _is_folder(root) else ():
            for agent in found.folders_in(join(root, part), beneath=root):
                found.add(MemoryDirectory(agent, "agent", beneath=root))
    return found


def has_memories(places: Places) -> bool:
    """Whether there is a memory in any directory but those that only a project's root leads to."""
    return any(
        _holds_a_topic(folder)
        for path in _search(places, (), ()).directories
        for folder in chain([path], folders_below(path))
    )


def _holds_a_topic(folder: str) -> bool:
    with suppress(OSError), os.scandir(folder) as entries:
        return any(entry.name.endswith(".md") and entry.name != INDEX_FILE for entry in entries)
    return False


class _FolderSearch:
    def __init__(self) -> None:
        self.directories: dict[str, MemoryDirectory] = {}
        self.folders: dict[str, Identity] = {}

    def add(self, directory: MemoryDirectory) -> None:
        """Adds a directory if it exists; otherwise watches for it."""
        if self._watch_nearest(directory.path, directory.beneath):
            self.directories[directory.path] = directory

    def folders_in(self, path: str, beneath: str | None = None) -> Iterator[str]:
        """The folders inside a folder, which is watched for more."""
        if self._watch_nearest(path, beneath):
            with suppress(OSError), os.scandir(path) as entries:
                for entry in entries:
                    is_folder = entry.is_dir(follow_symlinks=beneath is None)
                    if is_folder and is_readable_name(entry.name):
                        yield entry.path

    def watch_subfolders(self) -> None:
        for directory in self.directories.values():
            for folder in folders_below(directory.path, skipped_folders(directory.scope)):
                self._watch(folder)

    def _watch_nearest(self, path: str, beneath: str | None) -> bool:
        """Watches the folder or the nearest one above it; whether the folder itself exists."""
        if not is_readable_name(path):
            return False
        nearest = path
        while not _is_folder(nearest, beneath):
            if nearest in {beneath, dirname(nearest)}:
                return False
            nearest = dirname(nearest)
        self._watch(nearest)
        return nearest == path

    def _watch(self, folder: str) -> None:
        if len(self.folders) < MOST_FOLDERS and is_readable_name(folder):
            with suppress(OSError):
                self.folders[folder] = FileStamp.of(os.stat(folder)).identity  # noqa: PTH116 - many


def _is_folder(path: str, beneath: str | None = None) -> bool:
    """Whether a folder exists there; with `beneath`, without a link on the way from there."""
    try:
        while beneath is not None and path != beneath:
            if path == dirname(path) or not stat.S_ISDIR(os.lstat(path).st_mode):
                return False
            path = dirname(path)
        return stat.S_ISDIR(os.stat(path).st_mode)  # noqa: PTH116 - many of them
    except (OSError, ValueError):
        return False
