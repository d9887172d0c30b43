"""Where memories lie on this machine now, and which folders have to be watched to hear of more.

- A project's memories lie in `projects/*/memory` or where settings put them, the team's in `team/`
  below. The person's lie beside the projects, and so do those of named agents; the agents that are
  a project's own have theirs in its `.claude`.
- What is not there yet is heard of by the nearest folder above it that is.
- Below a memory directory each folder is watched that a scan would enter. Below a project's root no
  link is followed: a repository must not lead us elsewhere.
"""

import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import suppress
from posixpath import dirname, join
from typing import Final

import msgspec

from memoryd.base.file_stamp import FileStamp, Identity
from memoryd.base.paths import Places, team_memory, user_memory
from memoryd.memories.records import MemoryDirectory
from memoryd.memories.scan import folders_below, is_readable_name, skipped_folders

# A system has only so many watches for all that a person runs.
MOST_FOLDERS: Final = 4000
_AGENTS_OF_A_PROJECT: Final = (".claude/agent-memory", ".claude/agent-memory-local")


class Layout(msgspec.Struct, frozen=True):
    """The directories that are there, by path, and the folders to watch."""

    directories: dict[str, MemoryDirectory]
    folders: dict[str, Identity]


def layout(places: Places, memory_paths: Iterable[str], roots: Iterable[str]) -> Layout:
    """All memory directories, those at `memory_paths` and of the projects at `roots` included."""
    found = _Finding()
    found.add(MemoryDirectory(user_memory(places), "user"))
    projects = found.folders_in(f"{places.claude_dir}/projects")
    for memory in sorted({f"{project}/memory" for project in projects} | {*memory_paths}):
        found.add(MemoryDirectory(memory, "project"))
        if _is_folder(team_memory(memory), beneath=memory):
            found.add(MemoryDirectory(team_memory(memory), "team", beneath=memory))
    for agent in found.folders_in(f"{places.claude_dir}/agent-memory"):
        found.add(MemoryDirectory(agent, "agent"))
    for root in sorted(set(roots) - {"/"}):  # where no agent lives, and too much else happens
        for part in _AGENTS_OF_A_PROJECT if _is_folder(root) else ():
            for agent in found.folders_in(join(root, part), beneath=root):
                found.add(MemoryDirectory(agent, "agent", beneath=root))
    found.add_what_is_below()
    return Layout(found.directories, found.folders)


class _Finding:
    def __init__(self) -> None:
        self.directories: dict[str, MemoryDirectory] = {}
        self.folders: dict[str, Identity] = {}

    def add(self, directory: MemoryDirectory) -> None:
        """Takes a directory in if it is there; else it is watched for."""
        if self._watch_or_above(directory.path, directory.beneath):
            self.directories[directory.path] = directory

    def folders_in(self, path: str, beneath: str | None = None) -> Iterator[str]:
        """The folders in one that is watched for more of them."""
        if self._watch_or_above(path, beneath):
            with suppress(OSError), os.scandir(path) as entries:
                for entry in entries:
                    is_folder = entry.is_dir(follow_symlinks=beneath is None)
                    if is_folder and is_readable_name(entry.name):
                        yield entry.path

    def add_what_is_below(self) -> None:
        for directory in self.directories.values():
            for folder in folders_below(directory.path, skipped_folders(directory.scope)):
                self._watch(folder)

    def _watch_or_above(self, path: str, beneath: str | None) -> bool:
        """Whether the folder itself is there."""
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
    """Whether there is a folder; with `beneath`, one that no link below that leads to."""
    try:
        while beneath is not None and path != beneath:
            if path == dirname(path) or not stat.S_ISDIR(os.lstat(path).st_mode):
                return False
            path = dirname(path)
        return stat.S_ISDIR(os.stat(path).st_mode)  # noqa: PTH116 - many of them
    except (OSError, ValueError):
        return False
