"""What a look into a memory directory shows: every topic file with its header, none read twice.

Listing takes no lock and waits for nobody: a header that is held is one whose file still bears the
mark it had when it was read, whoever held it first.
"""

import time
from collections.abc import Iterator
from typing import Final

import msgspec

from memoryd import topics
from memoryd.errors import NotFound
from memoryd.files import Folder, Mark, mark_of
from memoryd.markdown_files import NEVER_TOPICS, markdown_files
from memoryd.stored import Listed, MemoryDirectory
from memoryd.topics import Topic

SETTLED_NS: Final = 50_000_000


class _Head(msgspec.Struct, frozen=True):
    """`mark` is None where the file was so young that a later change may bear the same times."""

    mark: Mark | None
    topic: Topic


class Listing:
    def __init__(self) -> None:
        self._heads: dict[str, dict[str, _Head]] = {}

    def listed(self, directory: MemoryDirectory) -> list[Listed]:
        """The topic files of a directory, in no order; an absent directory has none."""
        try:
            with open_folder(directory) as folder:
                return list(self._look(directory, folder))
        except NotFound:
            self._heads.pop(directory.path, None)
            return []

    def _look(self, directory: MemoryDirectory, folder: Folder) -> Iterator[Listed]:
        skipped = NEVER_TOPICS | ({"team"} if directory.scope == "project" else frozenset())
        known = self._heads.get(directory.path, {})
        fresh: dict[str, _Head] = {}
        for file, facts, head in markdown_files(folder.handle, "", skipped):
            mark = mark_of(facts)
            one = known.get(file)
            if one is None or one.mark != mark:
                is_settled = time.time_ns() - facts.st_ctime_ns > SETTLED_NS
                text = head()
                if text is None:
                    continue
                topic = msgspec.structs.replace(topics.parse(text), body="")
                one = _Head(mark if is_settled else None, topic)
            fresh[file] = one
            yield Listed(directory, file, one.topic, facts.st_mtime, facts.st_size, mark=one.mark)
        self._heads[directory.path] = fresh


def open_folder(directory: MemoryDirectory, *, create: bool = False) -> Folder:
    return Folder.open(directory.path, beneath=directory.beneath, create=create)
