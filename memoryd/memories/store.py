"""Memory directories: topic files and their index, kept together.

- Saving is one operation: the topic file first, then its line in MEMORY.md. After a crash between
  the two, `repair` makes the index match the folder.
- A memory that a written one supersedes moves to `.retired/` (`rules/retirement`) in the same
  operation; `repair` finishes that as well.
- Nothing is overwritten that was not read. A text based on an older version is refused: the file
  stays, and the refused text is kept in the history.
- Everything written here is masked, free of invisible characters, and recorded as a version.
- All methods block and are safe from any thread. Writers are serialised per directory; readers
  never block.
"""

import re
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Final

import msgspec
import structlog

from memoryd.base.errors import Conflict, InvalidInput, MemorydError, NotFound, Refused
from memoryd.base.timestamps import iso_time
from memoryd.memories.index_file import match_index, pointer_of
from memoryd.memories.outside_changes import OutsideChanges
from memoryd.memories.records import Listed, MemoryChanged, MemoryDirectory, Stored
from memoryd.memories.retired_files import RetiredFiles, RetiringMemory
from memoryd.memories.rules import retirement, topics
from memoryd.memories.rules.savable import check_savable, cleaned
from memoryd.memories.rules.topics import INDEX_FILE, Topic
from memoryd.memories.scan import Scanner, open_folder, shown, with_retired
from memoryd.memories.version_table import Cause, VersionTable
from memoryd.system.cancellation import cancellable
from memoryd.system.folder import Folder, version_of
from memoryd.system.notices import Notices
from memoryd.text.decode import decoded
from memoryd.text.masking.mask import presentable

TOPIC_LIMIT_BYTES: Final = 256 * 1024

log = structlog.get_logger(__name__)

_NEW_NAME = re.compile(r"(?:[a-z0-9][a-z0-9_-]{0,63}/){0,3}[a-z0-9][a-z0-9_-]{0,63}\.md")


class Store:
    def __init__(
        self,
        versions: VersionTable,
        *,
        now: Callable[[], float],
        skip_index: bool = False,
        notices: Notices | None = None,
    ) -> None:
        self._versions = versions
        self._now = now
        self._skip_index = skip_index
        self._notices = notices or Notices()
        self._scanner = Scanner()
        self._retired = RetiredFiles(versions, now)
        self._outside = OutsideChanges(self._scanner, versions, self._retired, now)
        self._locks: dict[str, threading.RLock] = {}
        self._guard = threading.Lock()

    def scan(self, directory: MemoryDirectory) -> list[Listed]:
        """All memories of a directory, newest first; none if it does not exist."""
        found = self._scanner.topic_files(directory)
        marked = with_retired(found, iso_time(self._now())[:10])
        return sorted(marked, key=lambda one: (-one.modified, one.file))

    def retired(self, directory: MemoryDirectory) -> list[Listed]:
        """The memories in `.retired/`, newest first."""
        try:
            with open_folder(directory) as folder:
                found = self._retired.listed(directory, folder)
        except NotFound:
            return []
        return sorted(found, key=lambda one: (-one.modified, one.file))

    def scan_at(self, directory: MemoryDirectory, at: float) -> list[Listed]:
        """The memories of a directory at an earlier time, from the history."""
        stored = self.read_all_at(directory, at)
        found = [
            Listed(directory, one.file, topic, one.modified, len(one.data))
            for one, topic in zip(stored, shown([one.topic for one in stored]), strict=True)
        ]
        return with_retired(found, iso_time(at)[:10])

    def read(self, directory: MemoryDirectory, file: str) -> Stored:
        """One topic file, or the index, from disk."""
        with open_folder(directory) as folder:
            # Not in a repository, which could name a file of the person twice.
            content = folder.read(file, may_be_linked=directory.beneath is None)
        return Stored(
            directory,
            file,
            decoded(content.data),
            content.version,
            content.modified,
            content.data,
            stamp=content.stamp,
        )

    def read_all(self, directory: MemoryDirectory) -> list[Stored]:
        """Every topic file with its body; skips those that vanish or cannot be read."""
        found = []
        for one in cancellable(self.scan(directory)):
            with suppress(MemorydError):
                found.append(self.read(directory, one.file))
        return found

    def read_all_at(self, directory: MemoryDirectory, at: float) -> list[Stored]:
        """Every topic file at an earlier time, from the history; `modified` is its time then."""
        found = self._versions.as_of(directory.path, at)
        return [
            Stored(
                directory,
                file,
                decoded(then.data),
                version_of(then.data),
                then.since,
                then.data,
            )
            for file, then in sorted(found.items())
        ]

    def recorded(self, directory: MemoryDirectory, file: str) -> Stored:
        """As `read`, with the version's number; a change found on disk is recorded first."""
        stored = self.read(directory, file)
        if retirement.is_in_retired(file):
            number = self._retired.version_number(directory, file, stored.version)
            return msgspec.structs.replace(stored, number=number)
        newest = self._versions.newest(directory.path, file)
        if newest is not None and newest.sha256 == stored.version:
            return msgspec.structs.replace(stored, number=newest.version)
        with self._locked(directory):  # one of our writers may be between file and version
            stored = self.read(directory, file)
            number = self._record(directory, file, stored.data, "outside", "")
        return msgspec.structs.replace(stored, number=number)

    def save(
        self, directory: MemoryDirectory, topic: Topic, *, cause: Cause, session_id: str = ""
    ) -> Stored:
        """Saves a new memory under a new name, with its line in the index."""
        check_savable(topic)
        # First of all: the file name and the index line are made from it.
        topic = cleaned(topic)
        with self._locked(directory):
            retired = {one.file for one in self.retired(directory)}
            taken = {one.file for one in self.scan(directory)} | {INDEX_FILE}
            for old in topic.supersedes:
                if old not in taken | retired:
                    raise NotFound(f"there is no {old} to supersede", hint="see memoryd list")
            # Its history is kept under that name.
            taken |= {retirement.name_when_current(file) for file in retired}
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
                    # The name was taken after the scan, or by something that a scan skips.
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
        """Writes a whole topic file: a new one (`over` None) or over the version that was read."""
        if retirement.is_in_retired(file):
            raise Refused(f"{file} is retired", hint=f"first: memoryd restore {file}")
        if over is None and not _NEW_NAME.fullmatch(file):
            raise Refused(
                f"{file!r} is not a valid name for a memory",
                hint="use lower-case letters, digits, - and _, and end in .md",
            )
        if len(text.encode("utf-8", "replace")) > TOPIC_LIMIT_BYTES:
            raise InvalidInput(f"a memory may have at most {TOPIC_LIMIT_BYTES} bytes")
        clean = presentable(text)
        with self._locked(directory), open_folder(directory, create=True) as folder:
            before = folder.current(file)
            if before is not None:
                # What is replaced must be restorable, even if it came from outside.
                self._record(directory, file, before.data, "outside", "")
            moves = self._superseded_by(directory, folder, file, topics.parse(clean))
            clean = retirement.with_links(clean, {one.file: one.to for one in moves})
            try:
                self._retired.copy(folder, moves)
                version = folder.write(file, clean.encode(), over=over)
            except BaseException as error:
                self._retired.drop(folder, moves)
                if isinstance(error, Conflict):
                    self._record(directory, file, clean.encode(), "refused", session_id)
                raise
            topic = topics.parse(clean)
            line = pointer_of(file, topic)
            is_reworded = before is not None and line != pointer_of(
                file, topics.parse(decoded(before.data))
            )
            number = 0
            changes = [MemoryChanged(directory, file, version, cause, session_id, topic.type)]
            with _repaired_later(directory, file):
                number = self._record(directory, file, clean.encode(), cause, session_id)
                changes += self._retired.finish(
                    directory, folder, moves, cause=cause, session_id=session_id
                )
                self._index(folder, directory, {file: line} if is_reworded else {})
        self._post(changes)
        return Stored(directory, file, clean, version, self._now(), clean.encode(), number)

    def retire(
        self,
        directory: MemoryDirectory,
        file: str,
        *,
        cause: Cause,
        superseded_by: str = "",
        session_id: str = "",
    ) -> str:
        """Moves a memory into `.retired/`; returns its name there. NotFound if it is gone."""
        with self._locked(directory), open_folder(directory) as folder:
            moves = self._retired.plan(folder, [file], superseded_by=superseded_by)
            if not moves:
                raise NotFound(f"there is no {file} to retire", hint="see memoryd list")
            self._retired.copy(folder, moves)
            changes = self._retired.finish(
                directory, folder, moves, cause=cause, session_id=session_id
            )
            with _repaired_later(directory, file):
                self._index(folder, directory, {})
        self._post(changes)
        return moves[0].to

    def bring_back(self, directory: MemoryDirectory, file: str) -> Stored:
        """Moves a memory out of `.retired/`, byte for byte; never over another file."""
        with self._locked(directory), open_folder(directory) as folder:
            taken = frozenset(one.file for one in self.scan(directory))
            name = self._retired.bring_back(directory, folder, file, taken)
            with _repaired_later(directory, name):
                self._index(folder, directory, {})
            stored = self.recorded(directory, name)
        version, type_ = stored.version, stored.topic.type
        self._notices.post(MemoryChanged(directory, name, version, "restore", "", type_))
        return stored

    def _superseded_by(
        self, directory: MemoryDirectory, folder: Folder, file: str, topic: Topic
    ) -> list[RetiringMemory]:
        if not topic.supersedes:
            return []
        current = {one.file: one.topic for one in self.scan(directory)}
        files = retirement.superseded_in_place(topic, current, file)
        return self._retired.plan(folder, files, superseded_by=file)

    def forget(
        self,
        directory: MemoryDirectory,
        file: str,
        *,
        cause: Cause,
        over: str | None = None,
        session_id: str = "",
    ) -> int:
        """Removes a memory and its line; returns the number of the version that was removed."""
        name = retirement.name_when_current(file)
        with self._locked(directory), open_folder(directory) as folder:
            before = folder.read(file)
            number = self._record(directory, name, before.data, "outside", "")
            folder.remove(file, over=over or before.version)
            with _repaired_later(directory, file):
                if name == file or folder.current(name) is None:
                    self._record(directory, name, None, cause, session_id)
                self._index(folder, directory, {})
        self._notices.post(MemoryChanged(directory, file, "", cause, session_id))
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
        """Writes exactly these bytes (None: removes the file) over the version that was read.

        Nothing is masked, and the index is not updated: it may be the file that is put back.
        """
        with self._locked(directory), open_folder(directory, create=True) as folder:
            before = folder.current(file)
            if before is not None:
                self._record(directory, file, before.data, "outside", "")
            if data is not None:
                folder.write(file, data, over=over, modified=modified)
            elif over is not None:
                folder.remove(file, over=over)
            is_retired, recorded = False, data
            if data is None and before is not None:
                recorded = self._retired.copy_of(folder, file, before.data)
                is_retired = recorded is not None
            with _repaired_later(directory, file):
                self._record(directory, file, recorded, cause, "")
        if file != INDEX_FILE and not retirement.is_in_retired(file):
            version = "" if data is None else version_of(data)
            to = f"{retirement.RETIRED_FOLDER}/{file}" if is_retired else ""
            self._notices.post(MemoryChanged(directory, file, version, cause, retired_to=to))

    def restore(
        self, directory: MemoryDirectory, file: str, data: bytes, *, over: str | None
    ) -> Stored:
        """Writes an earlier version byte for byte, under its old name, with its index line."""
        with self._locked(directory):
            self.put_back(directory, file, data, over=over, cause="restore")
            with open_folder(directory) as folder, _repaired_later(directory, file):
                self._index(folder, directory, {})
            return self.recorded(directory, file)

    def clear_leftovers(self, directory: MemoryDirectory) -> None:
        """Removes what a killed writer left behind; to be called before the first write."""
        with self._locked(directory), suppress(NotFound), open_folder(directory) as folder:
            folder.remove_temporaries()

    def find_changes(self, directory: MemoryDirectory) -> Iterator[list[MemoryChanged]]:
        """Finds what other programs changed since the last call; records and posts each change.

        In batches, so that the lock is held only briefly and the caller can let others run.
        """
        for changes in self._outside.find(directory, self._locked):
            self._post(changes)
            yield changes

    def repair(self, directory: MemoryDirectory) -> bool:
        """Cleans up after a crash and corrects the index; returns whether anything changed."""
        with self._locked(directory):
            try:
                with open_folder(directory) as folder:
                    leftovers = folder.remove_temporaries()
                    moves, changes = self._retired.finish_interrupted(directory, folder)
                    self._post(changes)
                    return self._index(folder, directory, {}) or leftovers + moves > 0
            except NotFound:
                return False

    def _index(self, folder: Folder, directory: MemoryDirectory, changed: dict[str, str]) -> bool:
        if self._skip_index:
            return False
        return match_index(folder, lambda: self.scan(directory), changed)

    def _post(self, changes: Iterable[MemoryChanged]) -> None:
        for change in changes:
            self._notices.post(change)

    def _record(
        self,
        directory: MemoryDirectory,
        file: str,
        data: bytes | None,
        cause: Cause,
        session_id: str,
    ) -> int:
        if file == INDEX_FILE or retirement.is_in_retired(file):
            return 0
        return self._versions.record(
            directory.path, file, data, at=self._now(), cause=cause, session_id=session_id
        )

    @contextmanager
    def _locked(self, directory: MemoryDirectory) -> Iterator[None]:
        with self._guard:
            lock = self._locks.setdefault(directory.path, threading.RLock())
        with lock:
            yield


@contextmanager
def _repaired_later(directory: MemoryDirectory, file: str) -> Iterator[None]:
    """The file itself is safe: an error in its index or history is logged and fixed later."""
    try:
        yield
    except MemorydError as error:
        log.warning("index-or-history-behind", folder=directory.path, file=file, error=str(error))
