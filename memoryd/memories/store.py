"""Memory directories: topic files and their index, kept together.

- Saving is one operation: the topic file first, then its line in MEMORY.md. After a crash between
  the two, or if the index cannot be written, `repair` makes the index match the folder.
- A memory that a written one supersedes moves to `.retired/` (`rules/retirement`) in the same
  operation; `repair` finishes that as well.
- Nothing is overwritten that was not read. A text based on an older version is refused: the file
  stays, and the refused text is kept in the history.
- Everything written here is masked, free of invisible characters, and recorded as a version.
- All methods block and are safe from any thread: a directory has one writer, readers never wait.
"""

import threading
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from functools import partial
from typing import Final

import msgspec

from memoryd.base.errors import Conflict, InvalidInput, NotFound, Refused
from memoryd.memories.index_file import IndexKeeper, repaired_later
from memoryd.memories.index_heads import IndexHead
from memoryd.memories.kept_files import KeptFiles
from memoryd.memories.known_index import KnownIndex, KnownIndexes
from memoryd.memories.outside_changes import OutsideChanges
from memoryd.memories.reading import StoreReader
from memoryd.memories.records import MemoryChanged, MemoryDirectory, Stored
from memoryd.memories.repairs import Repairs
from memoryd.memories.retired_files import RetiringMemory
from memoryd.memories.rules import retirement, topics
from memoryd.memories.rules.origins import Origin, origin_after
from memoryd.memories.rules.savable import check_savable, cleaned
from memoryd.memories.rules.topics import INDEX_FILE, Topic
from memoryd.memories.scan import open_folder
from memoryd.memories.taken_names import TakenNames
from memoryd.memories.version_table import Cause, VersionTable
from memoryd.system.batches import Batches
from memoryd.system.folder import Folder, version_of
from memoryd.system.notices import Notices
from memoryd.text.decode import decoded
from memoryd.text.lazy_regex import late
from memoryd.text.masking.mask import presentable

TOPIC_LIMIT_BYTES: Final = 256 * 1024

_NEW_NAME = late(r"(?:[a-z0-9][a-z0-9_-]{0,63}/){0,3}[a-z0-9][a-z0-9_-]{0,63}\.md")


class Store(StoreReader):
    def __init__(
        self,
        versions: VersionTable,
        *,
        now: Callable[[], float],
        skip_index: bool = False,
        notices: Notices | None = None,
        on_create: Callable[[MemoryDirectory], None] = lambda _: None,
        kept: KeptFiles | None = None,
    ) -> None:
        super().__init__(versions, now, kept)
        self._on_create = on_create
        self._notices = notices or Notices()
        self._indexes = IndexKeeper(versions.origins, self.scan, now, skip=skip_index)
        self._known_indexes = KnownIndexes(self.read_each, self.origins_of)
        self._repairs = Repairs(self._scanner, self._retired, self._indexes, now, self._post, kept)
        self._outside = OutsideChanges(self._scanner, versions, self._retired, now, kept)
        self._locks: dict[str, threading.RLock] = {}
        self._saves = Batches[Stored]()
        self._guard = threading.Lock()

    @property
    def skips_index(self) -> bool:
        return self._indexes.skip

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
        """Saves a new memory under a new name, with its line in the index.

        Those that wait for the same directory are saved together, and the index is written once.
        """
        check_savable(topic)
        save = partial(self._save_one, directory, cleaned(topic), cause, session_id)
        lock, batch = self._locked(directory), self._indexes.once(directory)
        return self._saves.run(directory.path, save, lock=lock, batch=batch)

    def _save_one(
        self, directory: MemoryDirectory, topic: Topic, cause: Cause, session_id: str
    ) -> Stored:
        for old in topic.supersedes:
            if not self._has(directory, old):
                raise NotFound(f"there is no {old} to supersede", hint="see memoryd list")
        taken = TakenNames(directory, self._versions, self._retired)
        text = topics.render(topic)
        while True:
            file = topics.file_name_for(topic.type or "project", topic.name, taken)
            try:
                return self.write(
                    directory, file, text, over=None, cause=cause, session_id=session_id
                )
            except Conflict:
                # The name was taken meanwhile.
                if len(taken.more) > 10_000:
                    raise
                taken.more.add(file)

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
            self._on_create(directory)
            before = folder.current(file)
            if before is not None:
                # What is replaced must be restorable, even if it came from outside.
                self._record(directory, file, before.data, "outside", "")
            topic = topics.parse(clean)
            moves = self._superseded_by(directory, folder, file, topic)
            if moves:
                clean = retirement.with_links(clean, {one.file: one.to for one in moves})
                topic = topics.parse(clean)
            data = clean.encode()
            self._note_origin(data, topic, before.version if before else None, cause)
            try:
                self._retired.copy(folder, moves)
                version = folder.write(file, data, over=over)
            except BaseException as error:
                self._retired.drop(folder, moves)
                if isinstance(error, Conflict):
                    self._record(directory, file, data, "refused", session_id)
                raise
            old = topics.parse(decoded(before.data)) if before else None
            number = 0
            changes = [MemoryChanged(directory, file, version, cause, session_id, topic.type)]
            with repaired_later(directory, file):
                number = self._record(directory, file, data, cause, session_id)
                changes += self._retired.finish(
                    directory, folder, moves, cause=cause, session_id=session_id
                )
                self._indexes.changed(
                    folder, directory, file, old, topic, [one.file for one in moves]
                )
        self._post(changes)
        origin = self._versions.origins.of(version)
        return Stored(directory, file, clean, version, self._now(), data, number, origin=origin)

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
            with repaired_later(directory, file):
                old = topics.parse(decoded(moves[0].before.data))
                self._indexes.changed(folder, directory, file, old, None)
        self._post(changes)
        return moves[0].to

    def bring_back(self, directory: MemoryDirectory, file: str) -> Stored:
        """Moves a memory out of `.retired/`, byte for byte; never over another file."""
        with self._locked(directory), open_folder(directory) as folder:
            taken = frozenset(one.file for one in self.scan(directory))
            name = self._retired.bring_back(directory, folder, file, taken)
            with repaired_later(directory, name):
                self._indexes.matched(folder, directory)
            stored = self.recorded(directory, name)
        version, type_ = stored.version, stored.topic.type
        self._notices.post(MemoryChanged(directory, name, version, "restore", "", type_))
        return stored

    def _note_origin(self, data: bytes, topic: Topic, before: str | None, cause: Cause) -> None:
        """Before the file is there: no reader may take our own text for a stranger's."""
        origins = self._versions.origins
        old = origins.of(before) if before else None
        after = origin_after(cause, old, topic.trust)
        if after == "team" and before:
            origins.inherit_hash(before, version_of(data))
        else:
            origins.note(data, after)

    def _superseded_by(
        self, directory: MemoryDirectory, folder: Folder, file: str, topic: Topic
    ) -> list[RetiringMemory]:
        if not topic.supersedes:
            return []

        def current(name: str) -> Topic | None:
            one = self.listed(directory, name)
            return None if one is None else one.topic

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
            with repaired_later(directory, file):
                if name == file or folder.current(name) is None:
                    self._record(directory, name, None, cause, session_id)
                if name == file:
                    old = topics.parse(decoded(before.data))
                    self._indexes.changed(folder, directory, file, old, None)
        self._notices.post(MemoryChanged(directory, file, "", cause, session_id))
        return number

    def take_out(self, directory: MemoryDirectory, file: str, *, over: str) -> None:
        """Removes a file whose history has gone elsewhere: nothing is recorded here."""
        with self._locked(directory), open_folder(directory) as folder:
            self._repairs.doubt(directory)
            folder.remove(file, over=over)
        if not retirement.is_in_retired(file):
            self._notices.post(MemoryChanged(directory, file, "", "adopted"))

    def put_back(
        self,
        directory: MemoryDirectory,
        file: str,
        data: bytes | None,
        *,
        over: str | None,
        cause: Cause,
        modified: float | None = None,
        origin: Origin | None = None,
    ) -> None:
        """Writes exactly these bytes (None: removes the file) over the version that was read.

        Nothing is masked, and the index is not updated: it may be the file that is put back.
        `origin` is who wrote them, if that is known and not recorded yet.
        """
        with self._locked(directory), open_folder(directory, create=True) as folder:
            self._on_create(directory)
            self._repairs.doubt(directory)
            before = folder.current(file)
            if before is not None:
                self._record(directory, file, before.data, "outside", "")
            if data is not None:
                if origin is not None and origin != "found":
                    self._versions.origins.note(data, origin)
                version = folder.write(file, data, over=over, modified=modified)
                if file == INDEX_FILE:
                    was = before.version if before else None
                    self._indexes.own(directory).follow(was, version)
            elif over is not None:
                folder.remove(file, over=over)
            is_retired, recorded = False, data
            if data is None and before is not None:
                recorded = self._retired.copy_of(folder, file, before.data)
                is_retired = recorded is not None
            with repaired_later(directory, file):
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
            with open_folder(directory) as folder, repaired_later(directory, file):
                self._indexes.matched(folder, directory)
            return self.recorded(directory, file)

    def clear_leftovers(self, directory: MemoryDirectory) -> None:
        """Removes what a killed writer left behind; to be called before the first write."""
        with self._locked(directory), suppress(NotFound), open_folder(directory) as folder:
            folder.remove_temporaries()

    def find_changes(
        self, directory: MemoryDirectory, files: Collection[str] | None = None
    ) -> Iterator[list[MemoryChanged]]:
        """Finds what other programs changed since the last call; records and posts each change.

        In batches, so that the lock is held only briefly and the caller can let others run. With
        `files`, only these are looked at.
        """
        for changes in self._outside.find(directory, self._locked, files):
            self._post(changes)
            yield changes

    def repair(self, directory: MemoryDirectory) -> bool:
        """Cleans up after a crash and corrects the index; returns whether anything changed."""
        with suppress(NotFound):
            return self._repairs.repair(directory, self._locked(directory))
        self._repairs.forget(directory)
        return False

    @contextmanager
    def together(self, *directories: MemoryDirectory) -> Iterator[None]:
        """No other writer of these directories runs; always taken in the same order."""
        with ExitStack() as held:
            for one in sorted({one.path: one for one in directories}.items()):
                held.enter_context(self._locked(one[1]))
            yield

    def directory_opened(self, directory: MemoryDirectory) -> None:
        """Somebody is about to write into a directory, which may be new."""
        self._on_create(directory)

    def update_index(self, directory: MemoryDirectory) -> None:
        """Makes the index match the folder; an error is logged and fixed later."""
        with repaired_later(directory, INDEX_FILE), open_folder(directory) as folder:
            self._indexes.matched(folder, directory)

    def index_later(self, directory: MemoryDirectory) -> AbstractContextManager[dict[str, str]]:
        """Leaves the index as it is inside (`IndexKeeper.later`)."""
        return self._indexes.later(directory)

    def known_index(self, head: IndexHead) -> KnownIndex:
        """What a session may be told of an index without being asked."""
        return self._known_indexes.of(self._indexes.own(head.directory), head)

    def _has(self, directory: MemoryDirectory, file: str) -> bool:
        """Whether there is a memory of this name, retired or not."""
        if retirement.is_in_retired(file):
            return any(one.file == file for one in self.retired(directory))
        return file == INDEX_FILE or self.listed(directory, file) is not None

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
