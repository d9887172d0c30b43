"""Records beside each project's memories what its repository is, and finds it again elsewhere.

`.memoryd-identity` in a memory directory holds the first commit and the remote, as JSON. It is
written when memories change and read by `doctor`, `adopt` and the start of a session. All methods
block and are safe from any thread.
"""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec

from memoryd.base.errors import MemorydError
from memoryd.base.paths import Places
from memoryd.memories.git_objects import root_commit
from memoryd.memories.owners import OWNER_FILE, OWNER_LIMIT_BYTES
from memoryd.memories.rules.git_identity import (
    ProjectIdentity,
    is_same_project,
    remote_in,
    remotes_in,
)
from memoryd.memories.rules.project_root import GIT_FILE_LIMIT_BYTES, is_repository
from memoryd.memories.scopes import RealFiles
from memoryd.system.folder import Folder
from memoryd.system.plain_file import read_plain
from memoryd.text.decode import decoded

IDENTITY_FILE: Final = ".memoryd-identity"
IDENTITY_BYTES: Final = 4096


class KnownDirectory(msgspec.Struct, frozen=True):
    """A project's memory directory; `slug` is its folder's name, `owners` who it is for."""

    slug: str
    path: str
    owners: tuple[str, ...]
    identity: ProjectIdentity
    memories: int

    @property
    def is_orphaned(self) -> bool:
        return bool(self.owners) and not any(Path(root).is_dir() for root in self.owners)


class Identities:
    def __init__(self, places: Places) -> None:
        self._projects = Path(places.claude_dir) / "projects"
        self._files = RealFiles()
        self._recorded: set[str] = set()

    def is_new(self, directory: str) -> bool:
        """Whether nothing was recorded there in this run; for the event loop."""
        return directory not in self._recorded

    def record(self, root: str, directory: str) -> None:
        """Once per run: what the repository at `root` is, beside its memories if there are any."""
        if directory in self._recorded or not Path(directory).is_dir():
            return
        self._recorded.add(directory)
        now, before = self.of_root(root), self.of_directory(directory)
        # An address that was removed, or a commit that cannot be found now, is not forgotten.
        after = ProjectIdentity(now.root_commit or before.root_commit, now.remote or before.remote)
        if after != before:
            with suppress(MemorydError), Folder.open(directory) as folder:
                current = folder.current(IDENTITY_FILE)
                over = current.version if current else None
                folder.write(IDENTITY_FILE, msgspec.json.encode(after) + b"\n", over=over)

    def of_root(self, root: str) -> ProjectIdentity:
        """What the repository at a project's root says of itself."""
        for git in (f"{root}/.git", root):
            if is_repository(git, self._files):
                config = self._files.read_text(f"{git}/config", GIT_FILE_LIMIT_BYTES) or ""
                return ProjectIdentity(root_commit(git), remote_in(config))
        return ProjectIdentity()

    def remotes_of(self, root: str) -> dict[str, str]:
        """Every remote of the repository at a project's root, by name and normalised."""
        for git in (f"{root}/.git", root):
            if is_repository(git, self._files):
                return remotes_in(
                    self._files.read_text(f"{git}/config", GIT_FILE_LIMIT_BYTES) or ""
                )
        return {}

    def of_directory(self, directory: str) -> ProjectIdentity:
        with suppress(OSError, ValueError):
            data = read_plain(f"{directory}/{IDENTITY_FILE}", IDENTITY_BYTES)
            return msgspec.json.decode(data, type=ProjectIdentity)
        return ProjectIdentity()

    def directories(self) -> Iterator[KnownDirectory]:
        """Every project's memory directory that holds memories."""
        for path in sorted(self._projects.glob("*/memory")):
            memories = sum(one.name != "MEMORY.md" for one in path.glob("*.md"))
            if memories:
                yield KnownDirectory(
                    path.parent.name,
                    str(path),
                    self._owners(path),
                    self.of_directory(str(path)),
                    memories,
                )

    def same_as(self, root: str, directory: str) -> list[KnownDirectory]:
        """Other memory directories that were made for the same repository."""
        identity = self.of_root(root)
        if not identity.is_known:
            return []
        return [
            one
            for one in self.directories()
            if one.path != directory
            and root not in one.owners
            and is_same_project(one.identity, identity)
        ]

    def _owners(self, path: Path) -> tuple[str, ...]:
        try:
            text = decoded(read_plain(path / OWNER_FILE, OWNER_LIMIT_BYTES))
        except OSError:
            return ()
        return tuple(line for line in text.splitlines() if line.startswith("/"))
