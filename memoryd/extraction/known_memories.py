"""The memories that new statements are compared with, read once.

Rules
- A file is read again when its stamp has changed, or while it is too young for a stamp to be
  trusted. Who wrote it is asked every time: that may become known later.
- Only the directories that were used last are kept.
"""

import sys
from collections import OrderedDict
from collections.abc import Iterator
from threading import Lock
from typing import Final

import msgspec

from memoryd.base.errors import MemorydError
from memoryd.extraction.rules.restatement import core_of
from memoryd.memories.records import Listed, MemoryDirectory, Stored
from memoryd.memories.rules.topics import Topic
from memoryd.memories.store import Store

# A longer memory is about more than one thing, so no statement can restate it.
COMPARED_CHARS: Final = 600
DIRECTORIES_KEPT: Final = 4


class KnownMemory(msgspec.Struct, frozen=True):
    """A memory and what is compared of it; `keys` say whether a statement can be about it."""

    stored: Stored
    topic: Topic
    retired: bool
    core: str
    keys: frozenset[str]


def known_memory(stored: Stored, *, retired: bool = False) -> KnownMemory:
    from memoryd.extraction.rules.common_words import keys_of_memory  # noqa: PLC0415 - its tables take a while

    topic = stored.topic
    core = core_of(topic.body)
    # Most keys are those of other memories too: each is held once.
    keys = frozenset(map(sys.intern, keys_of_memory(core[:COMPARED_CHARS])))
    return KnownMemory(stored, topic, retired, core, keys)


class KnownMemories:
    """Safe from any thread; reading blocks."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._kept: OrderedDict[str, dict[str, KnownMemory]] = OrderedDict()
        self._lock = Lock()

    def of(self, directory: MemoryDirectory) -> list[KnownMemory]:
        """All memories of a directory, retired ones too, oldest first."""
        with self._lock:
            before = self._kept.pop(directory.path, {})
        found = list(self._read(directory, before))
        with self._lock:
            self._kept[directory.path] = {one.stored.file: one for one in found}
            while len(self._kept) > DIRECTORIES_KEPT:
                self._kept.popitem(last=False)
        return found

    def _read(
        self, directory: MemoryDirectory, before: dict[str, KnownMemory]
    ) -> Iterator[KnownMemory]:
        listed = self._store.scan(directory) + self._store.retired(directory)
        unchanged = {
            one.file: old
            for one in listed
            if (old := before.get(one.file)) is not None and _is_unchanged(one, old)
        }
        origins = self._store.origins_of([one.stored.version for one in unchanged.values()])
        for one in reversed(listed):
            old = unchanged.get(one.file)
            if old and origins.get(old.stored.version, "found") == old.stored.origin:
                is_same = old.retired == one.retired
                yield old if is_same else msgspec.structs.replace(old, retired=one.retired)
                continue
            try:
                stored = self._store.read(directory, one.file)
            except MemorydError:  # removed since the scan, or not a regular file
                continue
            lean = msgspec.structs.replace(stored, data=b"")
            yield known_memory(lean, retired=one.retired)


def _is_unchanged(listed: Listed, old: KnownMemory) -> bool:
    return listed.stamp is not None and listed.stamp == old.stored.stamp
