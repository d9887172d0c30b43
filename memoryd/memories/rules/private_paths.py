"""Which projects and files `privacy.exclude` keeps out of memory.

Rules
- Patterns are those of .gitignore, for whole paths: `~/` is the home, `/` the root of the disk, and
  what has no slash matches at any depth. A folder that matches takes in everything below it.
- An excluded project has no memory: its sessions are not read, nothing is recalled, noted or
  dreamt.
- Of an excluded file nothing reaches a turn, a model or a session's context: neither what a tool
  read from it nor what it wrote.
- Patterns that could be matched in too many ways match everything: when in doubt, nothing is kept.
"""

import posixpath
from collections.abc import Iterable
from typing import Final

from memoryd.memories.rules.path_globs import Globs, TooInvolved

KNOWN_MOST: Final = 10_000


class PrivatePaths:
    """The patterns of `privacy.exclude`; no method raises."""

    def __init__(self, patterns: Iterable[str] = (), home: str = "/") -> None:
        self._home = home
        expanded = [_expanded(pattern, home) for pattern in patterns]
        self._globs = Globs(expanded) if expanded else None
        self._known: dict[str, bool] = {}

    @property
    def is_set(self) -> bool:
        return self._globs is not None

    def has(self, path: str) -> bool:
        """Whether an absolute path is excluded, as a file or as a folder."""
        if self._globs is None or not path.startswith("/"):
            return False
        known = self._known.get(path)
        if known is None:
            known = self._matches(self._globs, posixpath.normpath(path).lstrip("/"))
            if len(self._known) >= KNOWN_MOST:
                self._known.clear()
            self._known[path] = known
        return known

    def has_any(self, named: Iterable[str], cwd: str) -> bool:
        """Whether one of the paths that a tool call names is excluded; relative ones from `cwd`."""
        if self._globs is None:
            return False
        return any(self.has(self._absolute(name, cwd)) for name in named)

    def _absolute(self, name: str, cwd: str) -> str:
        if name.startswith("~/"):
            return posixpath.join(self._home, name[2:])
        return posixpath.join(cwd or "/", name)

    def _matches(self, globs: Globs, relative: str) -> bool:
        try:
            return globs.match(relative)
        except TooInvolved:
            return True


def _expanded(pattern: str, home: str) -> str:
    negated = pattern.startswith("!")
    bare = pattern.removeprefix("!").rstrip("/")  # a project is asked about by its own path
    if bare.startswith("~/"):
        bare = f"{home.rstrip('/')}/{bare[2:]}"
    return f"{'!' * negated}{bare}"
