"""Checkpoints: named copies of a session's notes, kept until they are deleted.

They are files in the state folder, one folder per project, so that neither the agent's clean-up of
old sessions nor a lost database removes them. A project's folder is named by its slug and a hash of
its root, since slugs collide.
"""

import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

import msgspec

from memoryd.base import paths
from memoryd.base.errors import InvalidInput, NotFound
from memoryd.base.paths import Places
from memoryd.base.timestamps import iso_time
from memoryd.system.folder import Folder
from memoryd.text.decode import decoded
from memoryd.text.lazy_regex import late
from memoryd.text.masking.mask import presentable

_NAME = late(r"[A-Za-z0-9][A-Za-z0-9 ._-]{0,63}")
MOST_BYTES: Final = 512 * 1024


class Checkpoint(msgspec.Struct, frozen=True):
    name: str
    saved: str
    bytes: int


class CheckpointChanged(msgspec.Struct, frozen=True):
    """A checkpoint was saved or removed."""


class Checkpoints:
    """`changed` is called after every change, in whichever thread made it."""

    def __init__(self, places: Places) -> None:
        self._places = places
        self.changed: Callable[[], None] = lambda: None

    def save(self, root: str, name: str, text: str) -> Checkpoint:
        """Saves a copy under this name, replacing an older one."""
        file = _file(name)
        with Folder.open(self._folder(root), create=True) as folder:
            current = folder.current(file)
            folder.write(file, text.encode(), over=current.version if current else None)
        self.changed()
        return self.get(root, name)[0]

    def list(self, root: str) -> list[Checkpoint]:
        """Newest first."""
        found = [(path.stem, path.stat()) for path in Path(self._folder(root)).glob("*.md")]
        return [
            Checkpoint(name, iso_time(facts.st_mtime), facts.st_size)
            for name, facts in sorted(found, key=lambda one: -one[1].st_mtime)
        ]

    def get(self, root: str, name: str) -> tuple[Checkpoint, str]:
        with self._folder_with(root, name) as folder:
            content = folder.read(_file(name), MOST_BYTES)
        kept = Checkpoint(name, iso_time(content.modified), len(content.data))
        return kept, presentable(decoded(content.data))

    def remove(self, root: str, name: str) -> None:
        with self._folder_with(root, name) as folder:
            folder.remove(_file(name), over=folder.read(_file(name), MOST_BYTES).version)
        self.changed()

    def has_folder(self, root: str) -> bool:
        """Whether the project had a checkpoint, which may be removed by now."""
        return Path(self._folder(root)).is_dir()

    def to_move(self, old_root: str, new_root: str) -> Sequence[Checkpoint]:
        """Those of one project whose names the other one does not have."""
        if not (old_root and new_root):
            return []
        taken = {one.name for one in self.list(new_root)}
        return [one for one in self.list(old_root) if one.name not in taken]

    def move(self, old_root: str, new_root: str, *, copy: bool) -> None:
        """Gives them to the other project; never over one of the same name."""
        for one in self.to_move(old_root, new_root):
            _, text = self.get(old_root, one.name)
            self.save(new_root, one.name, text)
            if not copy:
                self.remove(old_root, one.name)

    def _folder_with(self, root: str, name: str) -> Folder:
        """The project's folder, opened; NotFound if it has no checkpoint of this name."""
        path = self._folder(root)
        if not Path(path, _file(name)).is_file():
            raise NotFound(f"there is no checkpoint {name!r}", hint="memoryd checkpoint list")
        return Folder.open(path)

    def _folder(self, root: str) -> str:
        digest = hashlib.sha256(root.encode("utf-8", "surrogateescape")).hexdigest()[:12]
        return f"{self._places.state_dir}/checkpoints/{paths.slug(root)}.{digest}"


def _file(name: str) -> str:
    if not _NAME.fullmatch(name) or name.endswith((".", " ")):
        raise InvalidInput(
            f"{name!r} cannot name a checkpoint",
            hint="use letters, digits, spaces, dots, - and _, at most 64 of them",
        )
    return f"{name}.md"
