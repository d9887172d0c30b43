"""MEMORY.md on disk, made to match its folder."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Final, NamedTuple

import msgspec
import structlog

from memoryd.base.errors import Conflict, MemorydError, Refused
from memoryd.base.timestamps import iso_time
from memoryd.memories.origin_table import OriginTable
from memoryd.memories.records import Listed, MemoryDirectory
from memoryd.memories.rules import index, retirement, topics
from memoryd.memories.rules.index_edit import (
    IndexPointers,
    pointers_in,
    with_line,
    without_lines,
)
from memoryd.memories.rules.topics import INDEX_FILE, Topic
from memoryd.memories.scan import has_many, open_folder
from memoryd.system.cancellation import uncancellable
from memoryd.system.folder import Content, Folder, Known
from memoryd.text.decode import decoded

INDEX_TRIES: Final = 5

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


class IndexChange(msgspec.Struct, frozen=True, kw_only=True):
    """What became of one memory: its line, empty if it is gone or retired.

    `is_reworded`: its line says something else than before. Otherwise a line that is there keeps
    its wording, since a person may have edited it.
    """

    file: str
    line: str = ""
    is_new: bool = False
    is_reworded: bool = False


class _HeldIndex(NamedTuple):
    """An index as it was read or written last, and what it points to."""

    known: Known
    pointers: IndexPointers

    @classmethod
    def of(cls, data: bytes, version: str) -> "_HeldIndex | None":
        """None if its lines cannot be changed one by one."""
        pointers = pointers_in(data)
        return None if pointers is None else cls(Known(data, version), pointers)


class _Gathered:
    """Changes of a directory that wait to be written together."""

    def __init__(self) -> None:
        self.changes: list[IndexChange] = []
        self.needs_match = False


class _Lines(Mapping[str, str]):
    """The lines of memories by file, made when they are asked for: few are."""

    def __init__(self, found: Iterable[Listed]) -> None:
        self._topics = {one.file: one.topic for one in found}

    def __contains__(self, file: object) -> bool:
        return file in self._topics  # by itself a mapping would make the line to know that

    def __getitem__(self, file: str) -> str:
        return pointer_of(file, self._topics[file])

    def __iter__(self) -> Iterator[str]:
        return iter(self._topics)

    def __len__(self) -> int:
        return len(self._topics)


class IndexKeeper:
    """Keeps the indexes; the caller holds the directory's lock.

    A change touches the lines of its own memories and leaves the others as they are: to make an
    index match its folder, every header must be read, and `repair` does that. In a large directory
    that has no index yet, there is then one line in it until the next repair.
    """

    def __init__(
        self,
        origins: OriginTable,
        scan: Callable[[MemoryDirectory], list[Listed]],
        now: Callable[[], float],
        *,
        skip: bool,
    ) -> None:
        self.skip = skip
        self._origins = origins
        self._scan = scan
        self._now = now
        self._reworded: dict[str, dict[str, str]] = {}
        self._gathered: dict[str, _Gathered] = {}
        self._held: dict[str, _HeldIndex] = {}
        self._matched: dict[str, tuple[str, list[Listed]]] = {}

    def own(self, directory: MemoryDirectory) -> OwnIndex:
        return OwnIndex(self._origins, directory.path)

    @contextmanager
    def later(self, directory: MemoryDirectory) -> Iterator[dict[str, str]]:
        """Leaves the index as it is inside: the caller matches it, once, after many changes.

        Gives the lines that say something else by then, by file.
        """
        reworded = self._reworded[directory.path] = {}
        try:
            yield reworded
        finally:
            self._reworded.pop(directory.path, None)

    @contextmanager
    def once(self, directory: MemoryDirectory) -> Iterator[None]:
        """Writes the index once, at the end, for all changes inside."""
        if self.skip or directory.path in self._reworded:
            yield
            return
        gathered = self._gathered[directory.path] = _Gathered()
        try:
            yield
        finally:
            del self._gathered[directory.path]
            if gathered.changes:
                update = self.match if gathered.needs_match else self.update
                first = gathered.changes[0].file
                with repaired_later(directory, first), open_folder(directory) as folder:
                    update(folder, directory, gathered.changes)

    def matched(self, folder: Folder, directory: MemoryDirectory) -> bool:
        """Makes an index match its folder, unless there is none or that comes later."""
        if self.skip or directory.path in self._reworded:
            return False
        return self.match(folder, directory)

    def changed(
        self,
        folder: Folder,
        directory: MemoryDirectory,
        file: str,
        old: Topic | None,
        new: Topic | None,
        retired: Sequence[str] = (),
    ) -> None:
        """Updates the line of a memory that was `old` and is `new`, and of those it retired."""
        if self.skip:
            return
        before = pointer_of(file, old) if old else ""
        after = pointer_of(file, new) if new else ""
        is_reworded = bool(before and after and before != after)
        if (reworded := self._reworded.get(directory.path)) is not None:
            reworded |= {file: after} if is_reworded else {}
            return
        # Few memories have to do with whether another one is retired.
        today = iso_time(self._now())[:10]
        concerned = any(one and retirement.may_retire(one, today) for one in (old, new))
        change = IndexChange(file=file, line=after, is_new=not before, is_reworded=is_reworded)
        changes = [change, *(IndexChange(file=one) for one in retired)]
        if (gathered := self._gathered.get(directory.path)) is not None:
            gathered.changes += changes
            gathered.needs_match |= concerned
            return
        update = self.match if concerned else self.update
        update(folder, directory, changes)

    def update(
        self, folder: Folder, directory: MemoryDirectory, changes: Sequence[IndexChange]
    ) -> bool:
        """Brings the lines of these memories up to date, without losing another's change."""
        held = self._held.pop(directory.path, None)
        after = _changed(held, changes)
        if held and after is not None and after != held.known.data:
            # Not read before: the write compares what is there with what is known.
            if self._write(folder, directory, held, after):
                return True
            held = None
        current = _current(folder, held)
        if current and (held is None or held.known.version != current.version):
            held = _HeldIndex.of(current.data, current.version)
            after = _changed(held, changes)
        if held and current and after == current.data:
            self._held[directory.path] = held
            return False
        if held and current and after is not None and self._write(folder, directory, held, after):
            return True
        return self._begun(folder, directory, current, changes) or self.match(
            folder, directory, changes
        )

    def _begun(
        self,
        folder: Folder,
        directory: MemoryDirectory,
        current: Content | None,
        changes: Sequence[IndexChange],
    ) -> bool:
        """Whether these lines were written into the index of a large directory that had none.

        Nobody who saves a memory waits until those of 20,000 others are made: `repair` does that.
        """
        before = decoded(current.data) if current else ""
        is_repaired = directory.scope != "agent"
        if not is_repaired or before.strip() or not has_many(folder):
            return False
        after = ""
        for change in changes:
            if change.line:
                after = index.with_pointer(after, change.file, change.line)
        if not after:
            return False
        try:
            version = folder.write(INDEX_FILE, after.encode(), over=current)
        except Conflict:
            return False
        self.own(directory).follow(None, version)  # what was blank is nobody's
        self._remember(directory, version, after.encode())
        return True

    def _write(
        self, folder: Folder, directory: MemoryDirectory, held: _HeldIndex, after: bytes
    ) -> bool:
        """Whether the index was as it is held, and is now as after."""
        try:
            version = folder.write(INDEX_FILE, after, over=held.known)
        except (Conflict, Refused):  # or it is larger than what was expected
            return False
        self.own(directory).follow(held.known.version, version)
        self._held[directory.path] = _HeldIndex(Known(after, version), held.pointers)
        return True

    def match(
        self, folder: Folder, directory: MemoryDirectory, changes: Sequence[IndexChange] = ()
    ) -> bool:
        """Makes MEMORY.md match the folder, without losing another writer's change."""
        for _ in range(INDEX_TRIES):
            with uncancellable():  # the topic file is written, so its line must be too
                alive = [one for one in self._scan(directory) if not one.retired]
            current = _current(folder, self._held.get(directory.path))
            if current is not None and self._is_matched(directory, current.version, alive):
                return False
            before = decoded(current.data) if current else ""
            old = current.version if current else None
            is_ours = old is not None and self.own(directory).is_ours(old)
            oldest_last = is_ours or index.has_only_pointers(before)
            after = _matched(before, alive, changes, oldest_last=oldest_last)
            if after == before:
                self._remember(directory, old or "", current.data if current else b"")
                self._matched[directory.path] = old or "", alive
                return False
            try:
                data = after.encode()
                version = folder.write(INDEX_FILE, data, over=current)
            except Conflict:
                continue
            self.own(directory).follow(old, version)
            self._remember(directory, version, data)
            return True
        return False

    def let_go(self, directory: MemoryDirectory) -> None:
        """Forgets what was read of an index."""
        self._held.pop(directory.path, None)
        self._matched.pop(directory.path, None)

    def _is_matched(self, directory: MemoryDirectory, version: str, alive: list[Listed]) -> bool:
        """Whether this index was found to match exactly these memories: a scan repeats them."""
        matched, before = self._matched.get(directory.path, ("", []))
        return (
            matched == version
            and len(before) == len(alive)
            and all(one is other for one, other in zip(before, alive, strict=True))
        )

    def _remember(self, directory: MemoryDirectory, version: str, data: bytes) -> None:
        held = self._held.pop(directory.path, None)
        if held is None or held.known.version != version:
            held = _HeldIndex.of(data, version)
        if held is not None:
            self._held[directory.path] = held


def _current(folder: Folder, held: _HeldIndex | None) -> Content | None:
    return folder.current(INDEX_FILE, held.known if held else None, index.FILE_LIMIT_BYTES)


def _matched(
    before: str, alive: Sequence[Listed], changes: Sequence[IndexChange], *, oldest_last: bool
) -> str:
    lines = _Lines(alive)
    since = index.unlisted_since(before)
    missing = [one.file for one in alive if one.modified > since]
    after = index.repaired(before, lines, missing, oldest_last=oldest_last)
    for change in changes:
        if change.is_reworded and change.file in lines:
            after = index.with_pointer(after, change.file, change.line)
    return after


def _changed(held: _HeldIndex | None, changes: Sequence[IndexChange]) -> bytes | None:
    """The index after these changes; None if all of it must be read to know."""
    if held is None:
        return None
    after: bytes | None = held.known.data
    for change in changes:
        if after is None:
            return None
        is_listed = held.pointers.counts[change.file] > 0
        if not change.line:
            after = without_lines(after, held.pointers, change.file)
        elif not is_listed and not change.is_new:
            return None  # it was left out for a reason
        elif not is_listed or change.is_reworded:
            after = with_line(after, held.pointers, change.file, change.line)
    return after


def pointer_of(file: str, topic: Topic) -> str:
    return index.pointer(topics.title_of(topic, file), file, topic.description)


@contextmanager
def repaired_later(directory: MemoryDirectory, file: str) -> Iterator[None]:
    """The file itself is safe: an error in its index or history is logged and fixed later."""
    try:
        yield
    except MemorydError as error:
        log.warning("index-or-history-behind", folder=directory.path, file=file, error=str(error))
