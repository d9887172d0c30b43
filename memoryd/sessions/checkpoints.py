"""Checkpoints: named copies of a session's notes, kept until somebody deletes them.

They are files in the state folder, a folder for each project, so that neither the agent's clean-up
of old sessions nor a lost database takes them away. A project's folder is named by its slug and a
hash of its root, since slugs collide. The first versions left out the hash: what they saved is
still read, by every project of that slug, but never written.
"""

import hashlib
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import msgspec

from memoryd.base import paths
from memoryd.base.errors import InvalidInput, NotFound
from memoryd.base.paths import Places
from memoryd.base.timestamps import iso_time
from memoryd.system.folder import Folder
from memoryd.text.decode import decoded
from memoryd.text.masking.mask import presentable

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
        """Newest first; of two of one name, the project's own."""
        found = {
            path.stem: path.stat()
            for folder in (self._old_folder(root), self._folder(root))
            for path in Path(folder).glob("*.md")
        }
        return [
            Checkpoint(name, iso_time(facts.st_mtime), facts.st_size)
            for name, facts in sorted(found.items(), key=lambda one: -one[1].st_mtime)
        ]

    def get(self, root: str, name: str) -> tuple[Checkpoint, str]:
        with self._holding(root, name) as folder:
            content = folder.read(_file(name), MOST_BYTES)
        kept = Checkpoint(name, iso_time(content.modified), len(content.data))
        return kept, presentable(decoded(content.data))

    def remove(self, root: str, name: str) -> None:
        with self._holding(root, name) as folder:
            folder.remove(_file(name), over=folder.read(_file(name), MOST_BYTES).version)

    @contextmanager
    def _holding(self, root: str, name: str) -> Iterator[Folder]:
        """The folder that has a checkpoint of this name, the project's own before the old one."""
        for place in (self._folder(root), self._old_folder(root)):
            if Path(place, _file(name)).is_file():
                with Folder.open(place) as folder:
                    yield folder
                return
        raise NotFound(f"there is no checkpoint {name!r}", hint="memoryd checkpoint list")

    def _folder(self, root: str) -> str:
        digest = hashlib.sha256(root.encode("utf-8", "surrogateescape")).hexdigest()[:12]
        return f"{self._old_folder(root)}.{digest}"  # no slug has a dot

    def _old_folder(self, root: str) -> str:
        return f"{self._places.state_dir}/checkpoints/{paths.slug(root)}"


def _file(name: str) -> str:
    if not _NAME.fullmatch(name) or name.endswith((".", " ")):
        raise InvalidInput(
            f"{name!r} cannot name a checkpoint",
            hint="use letters, digits, spaces, dots, - and _, at most 64 of them",
        )
    return f"{name}.md"
