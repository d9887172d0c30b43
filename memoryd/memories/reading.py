"""Reading memory directories: lists, whole files, and what they were at an earlier time.

- Who wrote a file is looked up by its bytes, and its topic says so (`rules/origins`).
- A file that nobody is known to have written retires no other, whatever it says it supersedes.
- All methods block and are safe from any thread; none waits for a writer.
"""

from collections.abc import Callable, Collection, Container, Iterable
from contextlib import suppress
from operator import attrgetter
from typing import NamedTuple
from weakref import WeakKeyDictionary

from memoryd.base.errors import MemorydError, NotFound
from memoryd.base.file_stamp import FileStamp
from memoryd.base.timestamps import iso_time
from memoryd.memories.index_heads import IndexHead, IndexHeads
from memoryd.memories.kept_files import KeptFiles
from memoryd.memories.kept_headers import KeptHeaders
from memoryd.memories.origin_table import OriginRow
from memoryd.memories.records import Listed, MemoryDirectory, Stored
from memoryd.memories.retired_files import RetiredFiles
from memoryd.memories.rules import index
from memoryd.memories.rules.origins import Origin
from memoryd.memories.rules.topics import INDEX_FILE
from memoryd.memories.scan import open_folder, shown, with_retired, without_supersedes
from memoryd.memories.scanner import Scanner, Snapshot
from memoryd.memories.version_table import VersionTable
from memoryd.system.cancellation import cancellable
from memoryd.system.folder import READ_LIMIT_BYTES, Content, version_of
from memoryd.text.decode import decoded

_FILE = attrgetter("file")
_MODIFIED = attrgetter("modified")


class _KeptScan(NamedTuple):
    """What a scan made of a snapshot, for as long as that is held and the day is the same."""

    today: str
    found: list[Listed]


class StoreReader:
    def __init__(
        self, versions: VersionTable, now: Callable[[], float], kept: KeptFiles | None = None
    ) -> None:
        self._versions = versions
        self._now = now
        self._scanner = Scanner(None if kept is None else KeptHeaders(kept))
        self._retired = RetiredFiles(versions, now)
        self._heads = IndexHeads(self._content)
        self._scans = WeakKeyDictionary[Snapshot, _KeptScan]()

    def scan(self, directory: MemoryDirectory) -> list[Listed]:
        """All memories of a directory, newest first; none if it does not exist."""
        snapshot, today = self._scanner.snapshot(directory), iso_time(self._now())[:10]
        kept = self._scans.get(snapshot)
        if kept is not None and kept.today == today:
            return list(kept.found)
        found = list(snapshot.files.values())
        if not snapshot.names_no_other:
            found = self._without_claims(found)
        marked = with_retired(found, today)
        marked.sort(key=_FILE)
        marked.sort(key=_MODIFIED, reverse=True)  # those of one moment stay in their order
        if snapshot.names_no_other:  # else it matters who wrote them, which may change
            self._scans[snapshot] = _KeptScan(today, list(marked))
        return marked

    def stamps(
        self, directory: MemoryDirectory, known: Container[str] = ()
    ) -> dict[str, FileStamp]:
        """Every topic file with its stamp, unread; `known` names are not checked again."""
        return self._scanner.stamps(directory, known)

    def origins_of(self, versions: Collection[str]) -> dict[str, Origin]:
        """Who wrote these versions; those that nobody is known to have written are left out."""
        return self._versions.origins.of_each(versions)

    def all_origins(self) -> list[OriginRow]:
        """Who wrote what, of everything that anybody is known to have written."""
        return self._versions.origins.all()

    def listed(self, directory: MemoryDirectory, file: str) -> Listed | None:
        """One memory as `scan` lists it, but for being superseded; None if it is not there."""
        one = self._scanner.look_at(directory, file)
        if one is not None and one.topic.supersedes and self._is_found(one):
            return without_supersedes(one)
        return one

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
        content = self._content(directory, file)
        return self._stored(directory, file, content, self._versions.origins.of(content.version))

    def index_head(self, directory: MemoryDirectory) -> IndexHead:
        """The part of the index that a session may load."""
        return self._heads.of(directory)

    def read_each(self, directory: MemoryDirectory, files: Iterable[str]) -> list[Stored]:
        """As `read`, for many: the journal is asked once. Skips those that cannot be read."""
        contents: dict[str, Content] = {}
        with suppress(MemorydError), open_folder(directory) as folder:
            for file in cancellable(files):
                with suppress(MemorydError):
                    contents[file] = folder.read(file, may_be_linked=directory.beneath is None)
        origins = self.origins_of([one.version for one in contents.values()])
        return [
            self._stored(directory, file, one, origins.get(one.version, "found"))
            for file, one in contents.items()
        ]

    def read_all(self, directory: MemoryDirectory) -> list[Stored]:
        """Every topic file with its body; skips those that vanish or cannot be read."""
        return self.read_each(directory, [one.file for one in self.scan(directory)])

    def _content(self, directory: MemoryDirectory, file: str) -> Content:
        limit_bytes = index.FILE_LIMIT_BYTES if file == INDEX_FILE else READ_LIMIT_BYTES
        with open_folder(directory) as folder:
            # Not in a repository, which could name a file of the person twice.
            return folder.read(file, limit_bytes, may_be_linked=directory.beneath is None)

    def _stored(
        self, directory: MemoryDirectory, file: str, content: Content, origin: Origin
    ) -> Stored:
        is_teams = origin == "team"
        return Stored(
            directory,
            file,
            decoded(content.data),
            content.version,
            content.modified,
            content.data,
            stamp=content.stamp,
            origin=origin,
            author=self._versions.origins.author_of(content.version) if is_teams else "",
        )

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
                origin=self._versions.origins.of(version_of(then.data)),
            )
            for file, then in sorted(found.items())
        ]

    def _without_claims(self, found: list[Listed]) -> list[Listed]:
        """The memories, where a file that nobody is known to have written retires no other."""
        files = {one.file for one in found}
        return [
            without_supersedes(one)
            if one.topic.supersedes
            and not files.isdisjoint(one.topic.supersedes)
            and self._is_found(one)
            else one
            for one in found
        ]

    def _is_found(self, one: Listed) -> bool:
        try:
            return self.read(one.directory, one.file).origin == "found"
        except MemorydError:  # gone since the scan, or not a regular file
            return True
