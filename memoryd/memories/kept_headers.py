"""The headers of a large memory directory on disk, so that a restart reads only what changed.

- They count only if the same code made them, for the same directory and scope; `KeptFiles` throws
  away what is not exactly as it was written.
- Each counts only while its file has the stamp with which it was read: the caller compares. One
  that was too young to be trusted is not kept.
- A header is what a list shows: masked, without the text below it.
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager

import msgspec

from memoryd.base.file_stamp import FileStamp
from memoryd.memories.kept_files import KeptFiles, identity_of_code
from memoryd.memories.records import Listed, MemoryDirectory
from memoryd.memories.rules.topics import Topic


class _KeptHeader(msgspec.Struct, frozen=True, array_like=True, gc=False):
    file: str
    stamp: FileStamp
    modified: float
    topic: Topic


class _HeaderFile(msgspec.Struct, frozen=True):
    maker: str
    folder: str
    scope: str
    headers: list[_KeptHeader]


class KeptHeaders:
    """Methods block, and none raises for a disk that is full, read-only or damaged."""

    def __init__(self, files: KeptFiles) -> None:
        self._files = files
        self._maker = ""

    def load(
        self, directory: MemoryDirectory, stamps: Mapping[str, FileStamp]
    ) -> dict[str, Listed]:
        """The headers as they were kept, by file; none if there are none, or in any doubt.

        Stamps that are among those known already are the same objects.
        """
        body = self._files.read(directory.path, "headers")
        if body is None:
            return {}
        try:
            kept = msgspec.msgpack.decode(body, type=_HeaderFile)
        except ValueError:  # msgspec's own errors are ValueErrors
            kept = None
        about = self._made_by(), directory.path, directory.scope
        if kept is None or (kept.maker, kept.folder, kept.scope) != about:
            self._files.discard(directory.path, "headers")
            return {}
        found: dict[str, Listed] = {}
        for one in kept.headers:
            file, size = one.file, one.stamp.size
            known = stamps.get(file)
            stamp = known if known == one.stamp else one.stamp
            found[file] = Listed(directory, file, one.topic, one.modified, size, stamp=stamp)
        return found

    @contextmanager
    def begun(self) -> Iterator[str]:
        """A file to fill; to be entered before what is kept is looked at."""
        temporary = self._files.begin() or ""
        try:
            yield temporary
        finally:
            if temporary:
                self._files.give_up(temporary)  # unless it was put in place

    def put(self, temporary: str, directory: MemoryDirectory, found: Iterable[Listed]) -> None:
        """Keeps these headers of a directory."""
        if not temporary:
            return
        headers = [
            _KeptHeader(one.file, one.stamp, one.modified, one.topic)
            for one in found
            if one.stamp is not None
        ]
        about = self._made_by(), directory.path, directory.scope
        try:
            body = msgspec.msgpack.encode(_HeaderFile(*about, headers))
        except ValueError:  # the path of the directory is not UTF-8
            return
        if self._files.fill(temporary, body):
            self._files.put_in_place(temporary, directory.path, "headers")

    def _made_by(self) -> str:
        self._maker = self._maker or identity_of_code("text", "memories")
        return self._maker
