"""Memory directories: topic files and their index, kept together.

- Saving is one operation: the topic file first, then its line in MEMORY.md. A crash between the two
  is mended by `repair`, which makes the index say what the folder holds.
- Nothing unseen is overwritten. A text that was written against an older version is refused; the
  file stays, and the refused text is kept in the history.
- Whatever is written here is masked and free of invisible characters, and becomes a version in the
  history. All of it is blocking work, safe from any thread.
"""

import re
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Final

import msgspec
import structlog

from memoryd import index, topics
from memoryd.errors import (
    Conflict,
    InvalidInput,
    MemorydError,
    NotFound,
    Refused,
)
from memoryd.files import Content, Folder, version_of
from memoryd.history import Cause, History
from memoryd.invisible import strip_invisible
from memoryd.markdown_files import NEVER_TOPICS, markdown_files
from memoryd.masking import mask
from memoryd.stored import Change, Listed, MemoryDirectory, Stored
from memoryd.topics import INDEX_FILE, Topic

TOPIC_LIMIT_BYTES: Final = 256 * 1024
INDEX_TRIES: Final = 5
NOTICED_AT_ONCE: Final = 50
SETTLED_NS: Final = 50_000_000

log = structlog.get_logger(__name__)

_NEW_NAME = re.compile(r"(?:[a-z0-9][a-z0-9_-]{0,63}/){0,3}[a-z0-9][a-z0-9_-]{0,63}\.md")


class _Mark(msgspec.Struct, frozen=True):
    """By what a file is told to be the one that was read; its time of change nobody can set."""

    inode: int
    size: int
    modified_ns: int
    changed_ns: int


class _Head(msgspec.Struct, frozen=True):
    """`mark` is None where the file was so young that a later change may bear the same times."""

    mark: _Mark | None
    topic: Topic


class Store:
    def __init__(
        self,
        history: History,
        *,
        now: Callable[[], float],
        skip_index: bool = False,
        tell: Callable[[Change], None] = lambda _: None,
    ) -> None:
        self._history = history
        self._now = now
        self._skip_index = skip_index
        self._tell = tell
        self._heads: dict[str, dict[str, _Head]] = {}
        self._noticed: dict[str, dict[str, _Mark | None]] = {}
        self._locks: dict[str, threading.RLock] = {}
        self._guard = threading.Lock()

    def scan(self, directory: MemoryDirectory) -> list[Listed]:
        """All memories of a directory, newest first; an absent directory has none."""
        with self._locked(directory):
            try:
                with self._folder(directory) as folder:
                    found = list(self._listed(directory, folder))
            except NotFound:
                self._heads.pop(directory.path, None)
                return []
        marked = _with_retired(found, topics.iso_time(self._now())[:10])
        return sorted(marked, key=lambda one: (-one.modified, one.file))

    def scan_at(self, directory: MemoryDirectory, at: float) -> list[Listed]:
        """A directory's memories as they were believed at a moment, by the history."""
        found = [
            Listed(directory, one.file, one.topic, one.modified, len(one.data))
            for one in self.read_all_at(directory, at)
        ]
        return _with_retired(found, topics.iso_time(at)[:10])

    def read(self, directory: MemoryDirectory, file: str) -> Stored:
        """One topic file, or the index, as it is now."""
        with self._folder(directory) as folder:
            content = folder.read(file)
        text = _text(content)
        return Stored(directory, file, text, content.version, content.modified, content.data)

    def read_all(self, directory: MemoryDirectory) -> list[Stored]:
        """Every topic file whole; one that vanishes or is no plain file is passed over."""
        found = []
        for one in self.scan(directory):
            with suppress(MemorydError):
                found.append(self.read(directory, one.file))
        return found

    def read_all_at(self, directory: MemoryDirectory, at: float) -> list[Stored]:
        """Every topic file as it was at a moment, by the history; `modified` is since when."""
        found = self._history.as_of(directory.path, at)
        return [
            Stored(
                directory,
                file,
                then.data.decode("utf-8", "replace"),
                version_of(then.data),
                then.since,
                then.data,
            )
            for file, then in sorted(found.items())
        ]

    def recorded(self, directory: MemoryDirectory, file: str) -> Stored:
        """As `read`, with the version's number in the history; one made outside gets its own."""
        with self._locked(directory):
            stored = self.read(directory, file)
            number = self._record(directory, file, stored.data, "outside", "")
        return msgspec.structs.replace(stored, number=number)

    def save(
        self, directory: MemoryDirectory, topic: Topic, *, cause: Cause, session_id: str = ""
    ) -> Stored:
        """A new memory under a new name, with its line in the index."""
        _check_savable(topic)
        # Before anything is made of it: a file name and an index line are written down as well.
        topic = _clean(topic)
        with self._locked(directory):
            taken = {one.file for one in self.scan(directory)} | {INDEX_FILE}
            for old in topic.supersedes:
                if old not in taken:
                    raise NotFound(f"there is no {old} to supersede", hint="memoryd list")
            while True:
                file = topics.file_name_for(topic.type or "project", topic.name, frozenset(taken))
                try:
                    return self.write(
                        directory,
                        file,
                        topics.render(topic),
                        over=None,
                        cause=cause,
                        session_id=session_id,
                    )
                except Conflict:
                    # Somebody took the name since the scan, or it is held by what no scan lists.
                    if len(taken) > 10_000:
                        raise
                    taken.add(file)

    def write(
        self,
        directory: MemoryDirectory,
        file: str,
        text: str,
        *,
        over: str | None,
        cause: Cause,
        session_id: str = "",
    ) -> Stored:
        """The whole text of a topic file, new (`over` None) or over a version that was read."""
        if over is None and not _NEW_NAME.fullmatch(file):
            raise Refused(
                f"{file!r} is no name for a memory",
                hint="use lower-case letters, digits, - and _, and end in .md",
            )
        if len(text.encode("utf-8", "replace")) > TOPIC_LIMIT_BYTES:
            raise InvalidInput(f"a memory may have at most {TOPIC_LIMIT_BYTES} bytes")
        clean = mask(strip_invisible(text))
        with self._locked(directory), self._folder(directory, create=True) as folder:
            before = folder.current(file)
            if before is not None:
                # What is about to be replaced must be restorable first, whoever wrote it.
                self._record(directory, file, before.data, "outside", "")
            try:
                version = folder.write(file, clean.encode(), over=over)
            except Conflict:
                self._record(directory, file, clean.encode(), "refused", session_id)
                raise
            topic = topics.parse(clean)
            line = _pointer(file, topic)
            says_new = before is not None and _pointer(file, topics.parse(_text(before))) != line
            number = 0
            with _left_for_repair(directory, file):
                number = self._record(directory, file, clean.encode(), cause, session_id)
                self._index(folder, directory, {file: line} if says_new else {})
        self._tell(Change(directory, file, version, cause, session_id, topic.type))
        return Stored(directory, file, clean, version, self._now(), clean.encode(), number)

    def forget(
        self,
        directory: MemoryDirectory,
        file: str,
        *,
        cause: Cause,
        over: str | None = None,
        session_id: str = "",
    ) -> int:
        """Removes a memory and its line; returns the history's number of what was removed."""
        with self._locked(directory), self._folder(directory) as folder:
            before = folder.read(file)
            number = self._record(directory, file, before.data, "outside", "")
            folder.remove(file, over=over or before.version)
            with _left_for_repair(directory, file):
                self._record(directory, file, None, cause, session_id)
                self._index(folder, directory, {})
            self._noticed.get(directory.path, {}).pop(file, None)
        self._tell(Change(directory, file, "", cause, session_id))
        return number

    def put_back(
        self,
        directory: MemoryDirectory,
        file: str,
        data: bytes | None,
        *,
        over: str | None,
        cause: Cause,
        modified: float | None = None,
    ) -> None:
        """Exactly these bytes (None: no file) over a version that was seen, as of that time.

        Nothing is masked and the index does not follow: it may itself be what is put back.
        """
        with self._locked(directory), self._folder(directory, create=True) as folder:
            before = folder.current(file)
            if before is not None:
                self._record(directory, file, before.data, "outside", "")
            if data is not None:
                folder.write(file, data, over=over, modified=modified)
            elif over is not None:
                folder.remove(file, over=over)
            with _left_for_repair(directory, file):
                self._record(directory, file, data, cause, "")
        if file != INDEX_FILE:
            version = "" if data is None else version_of(data)
            self._tell(Change(directory, file, version, cause))

    def restore(
        self, directory: MemoryDirectory, file: str, data: bytes, *, over: str | None
    ) -> Stored:
        """Brings a version back byte for byte, under whatever name it had, with its index line."""
        with self._locked(directory):
            self.put_back(directory, file, data, over=over, cause="restore")
            with self._folder(directory) as folder, _left_for_repair(directory, file):
                self._index(folder, directory, {})
            return self.recorded(directory, file)

    def clear_leftovers(self, directory: MemoryDirectory) -> None:
        """Removes what a killed writer left behind; for the start, before anybody writes."""
        with self._locked(directory), suppress(NotFound), self._folder(directory) as folder:
            folder.remove_temporaries()

    def notice(self, directory: MemoryDirectory) -> list[Change]:
        """Finds what others changed since the last look; each becomes a version and is told."""
        with self._locked(directory):
            known = self._noticed.get(directory.path, {})
            files = {one.file: one for one in self.scan(directory)}
            heads = self._heads.get(directory.path, {})
            marks = {file: heads[file].mark for file in files}
            self._noticed[directory.path] = marks
            touched = [file for file, mark in marks.items() if not mark or known.get(file) != mark]
            changes: list[Change] = []
            for start in range(0, len(touched), NOTICED_AT_ONCE):
                some = touched[start : start + NOTICED_AT_ONCE]
                with self._history.together():
                    found = [self._noticed_one(directory, file) for file in some]
                changes += [change for change in found if change]
            gone = known.keys() - files.keys()
            changes += [Change(directory, file, "", "outside") for file in sorted(gone)]
            for file in gone:
                self._record(directory, file, None, "outside", "")
        for change in changes:
            self._tell(change)
        return changes

    def _noticed_one(self, directory: MemoryDirectory, file: str) -> Change | None:
        try:
            stored = self.read(directory, file)
        except MemorydError:  # gone again, or no plain file: the next look will tell
            return None
        if self._history.is_known(directory.path, file, stored.version):
            return None
        self._record(directory, file, stored.data, "outside", "")
        return Change(directory, file, stored.version, "outside", "", stored.topic.type)

    def repair(self, directory: MemoryDirectory) -> bool:
        """Clears what a crash left and makes the index true; whether anything had to change."""
        with self._locked(directory):
            try:
                with self._folder(directory) as folder:
                    leftovers = folder.remove_temporaries()
                    return self._index(folder, directory, {}) or leftovers > 0
            except NotFound:
                return False

    def _index(self, folder: Folder, directory: MemoryDirectory, changed: dict[str, str]) -> bool:
        """Brings MEMORY.md in line with the folder; another writer's change is never lost.

        A line that stands stays as a person may have worded it, but for those `changed`.
        """
        if self._skip_index:
            return False
        for _ in range(INDEX_TRIES):
            alive = [one for one in self.scan(directory) if not one.retired]
            current = folder.current(INDEX_FILE)
            before = _text(current) if current else ""
            lines = {one.file: _pointer(one.file, one.topic) for one in alive}
            after = index.repaired(before, lines, [one.file for one in alive])
            for file in changed.keys() & lines.keys():
                after = index.with_pointer(after, file, changed[file])
            if after == before:
                return False
            try:
                folder.write(INDEX_FILE, after.encode(), over=current.version if current else None)
            except Conflict:
                continue
            return True
        return False

    def _listed(self, directory: MemoryDirectory, folder: Folder) -> Iterator[Listed]:
        skipped = NEVER_TOPICS | ({"team"} if directory.scope == "project" else frozenset())
        known = self._heads.get(directory.path, {})
        fresh: dict[str, _Head] = {}
        for file, facts, head in markdown_files(folder.handle, "", skipped):
            mark = _Mark(facts.st_ino, facts.st_size, facts.st_mtime_ns, facts.st_ctime_ns)
            one = known.get(file)
            if one is None or one.mark != mark:
                is_settled = time.time_ns() - facts.st_ctime_ns > SETTLED_NS
                text = head()
                if text is None:
                    continue
                topic = msgspec.structs.replace(topics.parse(text), body="")
                one = _Head(mark if is_settled else None, topic)
            fresh[file] = one
            yield Listed(directory, file, one.topic, facts.st_mtime, facts.st_size)
        self._heads[directory.path] = fresh

    def _record(
        self,
        directory: MemoryDirectory,
        file: str,
        data: bytes | None,
        cause: Cause,
        session_id: str,
    ) -> int:
        if file == INDEX_FILE:
            return 0
        return self._history.record(
            directory.path, file, data, at=self._now(), cause=cause, session_id=session_id
        )

    def _folder(self, directory: MemoryDirectory, *, create: bool = False) -> Folder:
        return Folder.open(directory.path, beneath=directory.beneath, create=create)

    @contextmanager
    def _locked(self, directory: MemoryDirectory) -> Iterator[None]:
        with self._guard:
            lock = self._locks.setdefault(directory.path, threading.RLock())
        with lock:
            yield


@contextmanager
def _left_for_repair(directory: MemoryDirectory, file: str) -> Iterator[None]:
    """The file itself is safe: whatever is wrong with its index or history is mended later."""
    try:
        yield
    except MemorydError as error:
        log.warning("index-or-history-behind", folder=directory.path, file=file, error=str(error))


def _with_retired(found: list[Listed], today: str) -> list[Listed]:
    superseded = frozenset(old for one in found for old in one.topic.supersedes)
    return [
        msgspec.structs.replace(
            one, retired=topics.is_retired(one.file, one.topic, superseded, today)
        )
        for one in found
    ]


def _clean(topic: Topic) -> Topic:
    """The topic as it may be written: nothing invisible, no secret, in any of its words."""
    return msgspec.structs.replace(
        topic,
        name=mask(strip_invisible(topic.name)),
        description=mask(strip_invisible(topic.description)),
        body=mask(strip_invisible(topic.body)),
    )


def _check_savable(topic: Topic) -> None:
    if not topic.name.strip() or not topic.body.strip():
        raise InvalidInput("a memory needs a name and a body")
    if topic.type is None:
        raise InvalidInput(f"a memory is one of: {', '.join(topics.TYPES)}")


def _text(content: Content) -> str:
    return content.data.decode("utf-8", "replace")


def _pointer(file: str, topic: Topic) -> str:
    return index.pointer(topics.title_of(topic, file), file, topic.description)
