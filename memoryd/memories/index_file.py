"""MEMORY.md on disk, made to match its folder."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from itertools import islice
from typing import Final

import msgspec
import structlog

from memoryd.base.errors import Conflict, MemorydError
from memoryd.memories.origin_table import OriginTable
from memoryd.memories.records import Listed, MemoryDirectory, Stored
from memoryd.memories.rules import index, topics
from memoryd.memories.rules.topics import INDEX_FILE, Topic
from memoryd.system.cancellation import uncancellable
from memoryd.system.folder import Folder
from memoryd.text.decode import decoded

INDEX_TRIES: Final = 5

UNKNOWN_LEFT_OUT: Final = (
    "Left out until the person confirms them with memoryd trust: {count} of unknown origin."
)

log = structlog.get_logger(__name__)


class OwnIndex:
    """Which text of a directory's index is ours: what we wrote where there was none, or our own."""

    def __init__(self, origins: OriginTable, folder: str) -> None:
        self._origins = origins
        self._folder = folder

    def is_ours(self, version: str) -> bool:
        return self._origins.index_of(self._folder) == version

    def follow(self, before: str | None, after: str) -> None:
        """Ours is what we write over nothing or over our own; a stranger's lines stay theirs."""
        if before is None or self.is_ours(before):
            self._origins.note_index(self._folder, after)


class KnownIndex(msgspec.Struct, frozen=True):
    """The part of an index that comes from known writers; `note` says what was left out."""

    text: str
    note: str = ""


def known_index(
    own: OwnIndex, stored: Stored, read: Callable[[MemoryDirectory, str], Stored]
) -> KnownIndex:
    files = dict.fromkeys(index.whole_pointers(stored.text.split("\n")).values())
    known: dict[str, str] = {}
    unknown: list[str] = []
    for file in islice(files, index.LINE_LIMIT):
        try:
            one = read(stored.directory, file)
        except MemorydError:  # a pointer to elsewhere, or to nothing
            continue
        if one.origin == "found":
            unknown.append(file)
        else:
            known[file] = pointer_of(file, one.topic)
    text = (
        index.without_files(stored.text, frozenset(unknown))
        if own.is_ours(stored.version)
        else index.made_anew(stored.text, known)
    )
    note = UNKNOWN_LEFT_OUT.format(count=len(unknown)) if unknown else ""
    return KnownIndex(text, note)


def match_index(
    folder: Folder,
    scan: Callable[[], list[Listed]],
    changed: Mapping[str, str],
    own: OwnIndex,
) -> bool:
    """Makes MEMORY.md match the folder, without losing another writer's change.

    Existing lines keep their wording, since a person may have edited them, except `changed`.
    """
    for _ in range(INDEX_TRIES):
        with uncancellable():  # the topic file is written, so its line must be too
            alive = [one for one in scan() if not one.retired]
        current = folder.current(INDEX_FILE)
        before = decoded(current.data) if current else ""
        lines = {one.file: pointer_of(one.file, one.topic) for one in alive}
        since = index.unlisted_since(before)
        after = index.repaired(before, lines, [one.file for one in alive if one.modified > since])
        for file in changed.keys() & lines.keys():
            after = index.with_pointer(after, file, changed[file])
        if after == before:
            return False
        try:
            old = current.version if current else None
            own.follow(old, folder.write(INDEX_FILE, after.encode(), over=old))
        except Conflict:
            continue
        return True
    return False


def pointer_of(file: str, topic: Topic) -> str:
    return index.pointer(topics.title_of(topic, file), file, topic.description)


@contextmanager
def repaired_later(directory: MemoryDirectory, file: str) -> Iterator[None]:
    """The file itself is safe: an error in its index or history is logged and fixed later."""
    try:
        yield
    except MemorydError as error:
        log.warning("index-or-history-behind", folder=directory.path, file=file, error=str(error))
