"""Which project a directory belongs to, by the files of its repository.

Rules:
- The nearest repository at or above the real path of the directory decides. A `.git` folder makes
  its parent the project, also for directories inside `.git`.
- A linked worktree belongs to the main working directory, but only if both sides agree: its `.git`
  file names `<common>/worktrees/<name>`, and the `gitdir` file there names this same `.git` file.
  Any other `.git` file proves nothing, and its directory is a project of its own: a cloned
  repository must not be able to take over the memory of another one.
- By the same rule a submodule is a project of its own. Its worktrees belong to it, found by
  `core.worktree`, if that directory points back.
- A bare repository is itself the project, also for its worktrees.
- A `.git` that another user placed, or a link to one, makes no project.
- Without a repository, the project is the real path of the directory, whether it exists or not.

Git itself is never run: a repository's configuration may name programs to start.
"""

import posixpath
import re
from collections.abc import Iterator
from typing import Protocol

from memoryd.base.errors import InvalidInput
from memoryd.base.paths import PATH_LIMIT_BYTES, path_is_usable

GIT_FILE_LIMIT_BYTES = 65_536


class FileSystem(Protocol):
    """What the rules ask about files; what another user placed is not there. No method raises."""

    def real_path(self, path: str) -> str:
        """The path with symlinks resolved as far as it exists."""

    def is_dir(self, path: str) -> bool: ...

    def is_file(self, path: str) -> bool:
        """Whether it is a regular file, or a symlink to one."""

    def read_text(self, path: str, limit_bytes: int) -> str | None:
        """A regular file as UTF-8 with surrogate escapes; None if absent, unreadable or longer."""


def project_root(cwd: str, files: FileSystem) -> str:
    """The canonical root of the project of `cwd`; raises InvalidInput if that is not a path."""
    if not path_is_usable(cwd):
        raise InvalidInput(
            "a working directory must be an absolute path",
            hint=f"of at most {PATH_LIMIT_BYTES} bytes",
        )
    start = files.real_path(cwd)
    for directory in upward(start):
        root = root_at(directory, files)
        if root is not None:
            return root
    return start


def upward(directory: str) -> Iterator[str]:
    yield directory
    while directory != (parent := posixpath.dirname(directory)):
        yield parent
        directory = parent


def root_at(directory: str, files: FileSystem) -> str | None:
    git = posixpath.join(directory, ".git")
    if is_repository(git, files):
        return directory
    if files.is_file(git):
        return main_of_worktree(directory, files) or directory
    if is_repository(directory, files):
        return main_of_repository(directory, files)
    return None


def is_repository(path: str, files: FileSystem) -> bool:
    """Whether git would treat this folder as the inside of a repository."""
    if not all(map(files.is_dir, (path, f"{path}/objects", f"{path}/refs"))):
        return False
    head = files.read_text(f"{path}/HEAD", GIT_FILE_LIMIT_BYTES)
    return head is not None and re.match(r"ref:\s*refs/|[0-9a-f]{40}", head) is not None


def main_of_worktree(directory: str, files: FileSystem) -> str | None:
    """The main root of a linked worktree whose two sides agree, else None."""
    git_dir = git_file_target(directory, files)
    if git_dir is None:
        return None
    worktrees = posixpath.dirname(git_dir)
    common = posixpath.dirname(worktrees)
    if (
        posixpath.basename(worktrees) == "worktrees"
        and path_in(f"{git_dir}/commondir", files) == common
        and worktree_of(git_dir, files) == directory
        and is_repository(common, files)
    ):
        return main_of_repository(common, files)
    return None


def git_file_target(directory: str, files: FileSystem) -> str | None:
    """The real path that the `.git` file of a directory names, unverified."""
    text = files.read_text(posixpath.join(directory, ".git"), GIT_FILE_LIMIT_BYTES)
    if text is None or not text.startswith("gitdir: "):
        return None
    return resolved(text.removeprefix("gitdir: "), directory, files)


def worktree_of(git_dir: str, files: FileSystem) -> str | None:
    """The real path of the directory that a worktree's back-link names.

    The link's last part is not resolved: a `.git` that is a symlink to another worktree's file is
    not that file.
    """
    text = files.read_text(f"{git_dir}/gitdir", GIT_FILE_LIMIT_BYTES)
    folder, name = posixpath.split((text or "").rstrip("\r\n"))
    return resolved(folder, git_dir, files) if name == ".git" else None


def path_in(file: str, files: FileSystem) -> str | None:
    text = files.read_text(file, GIT_FILE_LIMIT_BYTES)
    return None if text is None else resolved(text, posixpath.dirname(file), files)


def resolved(text: str, base: str, files: FileSystem) -> str | None:
    path = posixpath.join(base, text.rstrip("\r\n"))
    return files.real_path(path) if path_is_usable(path) else None


def main_of_repository(common: str, files: FileSystem) -> str:
    """The directory that represents a repository, given its `.git` folder."""
    if posixpath.basename(common) == ".git":
        return posixpath.dirname(common)
    return configured_worktree(common, files) or common


def configured_worktree(common: str, files: FileSystem) -> str | None:
    """The working directory named in a repository's configuration, if it points back."""
    for name in ("config", "config.worktree"):
        text = files.read_text(f"{common}/{name}", GIT_FILE_LIMIT_BYTES)
        value = core_worktree(text or "")
        directory = resolved(value, common, files) if value else None
        if directory is not None and git_file_target(directory, files) == common:
            return directory
    return None


def core_worktree(config: str) -> str | None:
    """The value of `core.worktree`, as git itself writes it into a submodule's configuration."""
    section = ""
    for line in config.splitlines():
        if header := re.match(r"\s*\[([^\]]*)\]", line):
            section = header[1].strip().lower()
        elif section == "core" and (
            entry := re.match(r"\s*worktree\s*=\s*(.*?)\s*$", line, re.IGNORECASE)
        ):
            return unquoted(entry[1])
    return None


def unquoted(value: str) -> str:
    inner = value[1:-1] if len(value) > 1 and value[0] == value[-1] == '"' else value
    return re.sub(r"\\(.)", r"\1", inner)
