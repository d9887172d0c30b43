"""What a look into a memory directory shows: every topic file with its header, none read twice.

Listing takes no lock and waits for nobody: a header that is held is one whose file still bears the
mark it had when it was read, whoever held it first.
"""

import os
import time
from collections.abc import Sequence
from typing import Final

import msgspec

from memoryd.base.errors import NotFound
from memoryd.memories.markdown_files import NEVER_TOPICS, markdown_files
from memoryd.memories.records import Listed, MemoryDirectory
from memoryd.memories.rules import topics
from memoryd.memories.rules.topics import Topic
from memoryd.system.folder import Folder, Mark, mark_of
from memoryd.text.masking.mask import mask_each

SETTLED_NS: Final = 50_000_000


class _CachedHeader(msgspec.Struct, frozen=True):
    """`mark` is None where the file was so young that a later change may bear the same times."""

    mark: Mark | None
    topic: Topic


class Listing:
    def __init__(self) -> None:
        self._heads: dict[str, dict[str, _CachedHeader]] = {}

    def listed(self, directory: MemoryDirectory) -> list[Listed]:
        """The topic files of a directory, in no order; an absent directory has none."""
        try:
            with open_folder(directory) as folder:
                return self._look(directory, folder)
        except NotFound:
            self._heads.pop(directory.path, None)
            return []

    def _look(self, directory: MemoryDirectory, folder: Folder) -> list[Listed]:
        skipped = NEVER_TOPICS | ({"team"} if directory.scope == "project" else frozenset())
        known = self._heads.get(directory.path, {})
        heads: dict[str, _CachedHeader] = {}
        seen: dict[str, os.stat_result] = {}
        for file, facts, head in markdown_files(folder.handle, "", skipped):
            seen[file], mark = facts, mark_of(facts)
            one = known.get(file)
            if one is None or one.mark != mark:
                is_settled = time.time_ns() - facts.st_ctime_ns > SETTLED_NS
                text = head()
                if text is None:
                    continue
                one = _CachedHeader(mark if is_settled else None, topics.parse(text))
            heads[file] = one
        new = [file for file, head in heads.items() if known.get(file) is not head]
        for file, topic in zip(new, shown([heads[file].topic for file in new]), strict=True):
            heads[file] = _CachedHeader(heads[file].mark, topic)
        self._heads[directory.path] = heads
        return [
            Listed(
                directory,
                file,
                head.topic,
                seen[file].st_mtime,
                seen[file].st_size,
                mark=head.mark,
            )
            for file, head in heads.items()
        ]


def shown(read: Sequence[Topic]) -> list[Topic]:
    """The topics as a list shows them: masked, for anybody may have written them, and bodiless."""
    words = iter(mask_each([words for topic in read for words in (topic.name, topic.description)]))
    return [
        msgspec.structs.replace(topic, name=next(words), description=next(words), body="")
        for topic in read
    ]


def open_folder(directory: MemoryDirectory, *, create: bool = False) -> Folder:
    return Folder.open(directory.path, beneath=directory.beneath, create=create)
