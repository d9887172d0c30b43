"""Checkpoints: named copies of a session's notes, kept until somebody deletes them.

They are files in the state folder, a folder for each project, so that neither the agent's clean-up
of old sessions nor a lost database takes them away.
"""

import re
from pathlib import Path
from typing import Final

import msgspec

from memoryd import paths
from memoryd.errors import InvalidInput, NotFound
from memoryd.files import Folder
from memoryd.paths import Places
from memoryd.topics import iso_time

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9 ._-]{0,63}")
MOST_BYTES: Final = 512 * 1024


class Checkpoint(msgspec.Struct, frozen=True):
    name: str
    saved: str
    bytes: int


class Checkpoints:
    def __init__(self, places: Places) -> None:
        self._places = places

    def save(self, root: str, name: str, text: str) -> Checkpoint:
        """A copy under this name; an older one of the name is replaced."""
        file = _file(name)
        with Folder.open(self._folder(root), create=True) as folder:
            current = folder.current(file)
            folder.write(file, text.encode(), over=current.version if current else None)
        return self.get(root, name)[0]

    def list(self, root: str) -> list[Checkpoint]:
        """Newest first."""
        found = [(path.stat(), path) for path in Path(self._folder(root)).glob("*.md")]
        found.sort(key=lambda one: -one[0].st_mtime)
        return [
            Checkpoint(path.stem, iso_time(facts.st_mtime), facts.st_size) for facts, path in found
        ]

    def get(self, root: str, name: str) -> tuple[Checkpoint, str]:
        try:
            with Folder.open(self._folder(root)) as folder:
                content = folder.read(_file(name), MOST_BYTES)
        except NotFound as error:
            raise _unknown(name) from error
        kept = Checkpoint(name, iso_time(content.modified), len(content.data))
        return kept, content.data.decode("utf-8", "replace")

    def remove(self, root: str, name: str) -> None:
        try:
            with Folder.open(self._folder(root)) as folder:
                folder.remove(_file(name), over=folder.read(_file(name), MOST_BYTES).version)
        except NotFound as error:
            raise _unknown(name) from error

    def _folder(self, root: str) -> str:
        return f"{self._places.state_dir}/checkpoints/{paths.slug(root)}"


def _file(name: str) -> str:
    if not _NAME.fullmatch(name) or name.endswith((".", " ")):
        raise InvalidInput(
            f"{name!r} cannot name a checkpoint",
            hint="use letters, digits, spaces, dots, - and _, at most 64 of them",
        )
    return f"{name}.md"


def _unknown(name: str) -> NotFound:
    return NotFound(f"there is no checkpoint {name!r}", hint="memoryd checkpoint list")
