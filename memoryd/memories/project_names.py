"""Reads which names belong to a project; git itself is never run.

All methods block. What was read is kept for a minute: names change rarely, and a batch of
statements asks for them again and again.
"""

import os
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from itertools import islice
from posixpath import basename
from typing import Final, Protocol

from memoryd.memories.rules import name_sources
from memoryd.memories.rules.private_names import ProjectNames, is_telling

FRESH_SECONDS: Final = 60.0
FILE_LIMIT_BYTES: Final = 256 * 1024
LOG_LIMIT_BYTES: Final = 4 * 1024 * 1024
MOST_PROJECTS: Final = 200
MOST_FOLDERS: Final = 500


class NameFiles(Protocol):
    def read_text(self, path: str, limit_bytes: int) -> str | None: ...


class NameReader:
    """`home` is where the person's own git settings are."""

    def __init__(
        self, home: str, files: NameFiles, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self._home = home
        self._files = files
        self._monotonic = monotonic
        self._known: dict[str, tuple[float, ProjectNames]] = {}

    def of(self, root: str, others: Iterable[str] = ()) -> ProjectNames:
        """The names of a project, and those of the folders of others that are known."""
        now = self._monotonic()
        known = self._known.get(root)
        if known is None or known[0] < now:
            if len(self._known) >= MOST_PROJECTS:
                self._known.clear()
            known = self._known[root] = (now + FRESH_SECONDS, self._read(root))
        folders = frozenset(name for name in map(basename, others) if is_telling(name))
        return known[1].joined(ProjectNames(folders)) if folders else known[1]

    def of_all(self, roots: Iterable[str]) -> ProjectNames:
        """The names of all these projects together."""
        found = ProjectNames()
        for root in islice(sorted(roots), MOST_PROJECTS):
            found = found.joined(self.of(root))
        return found

    def _read(self, root: str) -> ProjectNames:
        git = self._text(f"{root}/.git/config") or self._text(f"{root}/config")
        own = name_sources.own_names_in(
            "\n".join(
                (
                    git,
                    self._text(f"{self._home}/.gitconfig"),
                    self._text(f"{self._home}/.config/git/config"),
                )
            ),
            self._text(f"{root}/.git/logs/HEAD", LOG_LIMIT_BYTES),
        )
        names = [basename(root), *name_sources.remotes_in(git)]
        people: list[str] = []
        for file in name_sources.PACKAGE_FILES:
            text = self._text(f"{root}/{file}")
            names += name_sources.packages_in(file, text)
            people += name_sources.authors_in(file, text)
        for file in name_sources.PEOPLE_FILES:
            people += name_sources.people_in(self._text(f"{root}/{file}"))
        folders = _folders(root)
        return name_sources.project_names([*names, *_packages(root)], people, folders, own)

    def _text(self, path: str, limit_bytes: int = FILE_LIMIT_BYTES) -> str:
        return self._files.read_text(path, limit_bytes) or ""


def _folders(root: str) -> list[str]:
    found: list[str] = []
    with suppress(OSError), os.scandir(root) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False) and len(found) < MOST_FOLDERS:
                found.append(entry.name)
    return found


def _packages(root: str) -> list[str]:
    """The folders that a workspace keeps its packages in are named after them."""
    found: list[str] = []
    for place in ("packages", "apps", "crates", "services", "src"):
        found += [one for one in _folders(f"{root}/{place}") if is_telling(one.casefold())]
    return found
