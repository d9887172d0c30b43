"""An archive of a project's memories: one tar.gz, readable without us, and read with suspicion.

Nothing is unpacked to disk. An archive is read as a stream, within limits (`rules/archive_names`):
a compressed bomb ends at the limit, and no link or device is looked at twice. All of it blocks.
"""

import gzip
import io
import tarfile
import zlib
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec

from memoryd.base.errors import MemorydError, Refused
from memoryd.base.timestamps import iso_time
from memoryd.memories.records import MemoryDirectory
from memoryd.memories.rules import archive_names
from memoryd.memories.rules.archive_names import Kind, Manifest, VersionRecord
from memoryd.memories.store import Store
from memoryd.memories.version_table import VersionTable
from memoryd.system.folder import Folder
from memoryd.system.plain_file import read_plain
from memoryd.text.decode import decoded

_BAD: Final = (tarfile.TarError, EOFError, OSError, zlib.error, ValueError, RecursionError)


class ArchivedFile(msgspec.Struct, frozen=True):
    """A file of an archive, by what it is; `name` is where it was in the memory directory."""

    kind: Kind
    name: str
    data: bytes


class OpenedArchive(msgspec.Struct, frozen=True):
    manifest: Manifest
    files: tuple[ArchivedFile, ...]
    passed_over: int


class ArchiveWriter:
    def __init__(self, store: Store, versions: VersionTable) -> None:
        self._store = store
        self._versions = versions

    def packed(
        self, directory: MemoryDirectory, manifest: Manifest, checkpoints: Iterable[tuple[str, str]]
    ) -> bytes:
        """The whole archive; Refused if it is too large to be handed over."""
        buffer = io.BytesIO()
        with tarfile.open(fileobj=buffer, mode="w:gz", format=tarfile.PAX_FORMAT) as archive:
            _add(archive, archive_names.README, archive_names.MADE_OF.encode())
            _add(
                archive, archive_names.MANIFEST, msgspec.json.format(msgspec.json.encode(manifest))
            )
            for name, data, modified in self._markdown(directory):
                _add(archive, f"memory/{name}", data, modified)
            _add(archive, archive_names.HISTORY, b"".join(self._history(directory)))
            for name, text in checkpoints:
                _add(archive, f"checkpoints/{name}.md", text.encode())
        data = buffer.getvalue()
        if len(data) > archive_names.ARCHIVE_BYTES:
            raise Refused(f"the archive would have {len(data)} bytes, which is too large")
        return data

    def _markdown(self, directory: MemoryDirectory) -> Iterator[tuple[str, bytes, float]]:
        root = Path(directory.path)
        names = [one.file for one in self._store.scan(directory)]
        names += [one.file for one in self._store.retired(directory)]
        names += ["MEMORY.md"]
        names += [str(one.relative_to(root)) for one in root.glob("logs/[0-9]*/[0-9]*/*.md")]
        for name in sorted(set(names)):
            with suppress(MemorydError), Folder.open(directory.path) as folder:
                content = folder.read(name, archive_names.FILE_BYTES)
                yield name, content.data, content.modified

    def _history(self, directory: MemoryDirectory) -> Iterator[bytes]:
        for file in sorted(self._versions.files(directory.path)):
            for one in reversed(self._versions.versions(directory.path, file)):
                content = None
                if one.sha256:
                    data = self._versions.content(directory.path, file, one.version)
                    content = decoded(data)
                yield (
                    msgspec.json.encode(
                        VersionRecord(
                            file=file,
                            version=one.version,
                            at=iso_time(one.at),
                            cause=one.cause,
                            session_id=one.session_id,
                            sha256=one.sha256,
                            content=content,
                        )
                    )
                    + b"\n"
                )


def opened_archive(path: str) -> OpenedArchive:
    """What is in an archive; Refused with a clear word for anything that is not one of ours."""
    try:
        data = read_plain(path, archive_names.ARCHIVE_BYTES)
    except OSError as error:
        raise Refused(f"{path} cannot be read: {error.strerror or error}") from error
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(data)) as plain:
            limited = _Limited(plain)
            with tarfile.open(fileobj=limited, mode="r|") as archive:
                return _opened(archive)
    except _BAD as error:
        raise Refused(
            "the archive is refused: it cannot be read", hint="memoryd export makes one that can"
        ) from error


def _opened(archive: tarfile.TarFile) -> OpenedArchive:
    manifest: Manifest | None = None
    found: dict[str, ArchivedFile] = {}
    passed_over = 0
    for count, member in enumerate(archive):
        if count >= archive_names.MOST_FILES:
            raise Refused(f"the archive is refused: over {archive_names.MOST_FILES} files")
        kind, name = archive_names.kind_of(member.name)
        if member.isdir():
            continue
        if not member.isreg() or member.issparse():
            what = "a link" if member.issym() or member.islnk() else "not a plain file"
            raise Refused(f"the archive is refused: {member.name[:100]!r} is {what}")
        if kind == "other":
            passed_over += 1
            continue
        if member.size > archive_names.FILE_BYTES:
            raise Refused(f"the archive is refused: {member.name[:100]!r} is too large")
        if member.name in found:
            raise Refused(f"the archive is refused: it has {member.name[:100]!r} twice")
        content = archive.extractfile(member)
        data = content.read() if content else b""
        if kind == "manifest":
            manifest = _manifest(data)
        found[member.name] = ArchivedFile(kind, name, data)
    if manifest is None:
        raise Refused("the archive is refused: it has no manifest of memoryd")
    files = tuple(one for one in found.values() if one.kind != "manifest")
    # The README and the history are for people.
    return OpenedArchive(manifest, files, max(passed_over - 2, 0))


def _manifest(data: bytes) -> Manifest:
    manifest = msgspec.json.decode(data, type=Manifest)
    if manifest.format > archive_names.FORMAT:
        raise Refused("the archive was made by a newer memoryd", hint="upgrade memoryd")
    return manifest


class _Limited(io.RawIOBase):
    """A stream that ends with an error when more comes out of it than an archive may hold."""

    def __init__(self, stream: gzip.GzipFile) -> None:
        self._stream = stream
        self._left = archive_names.TOTAL_BYTES

    def read(self, size: int = -1) -> bytes:
        data = self._stream.read(min(max(size, 0) or self._left, self._left + 1))
        self._left -= len(data)
        if self._left < 0:
            raise Refused(
                f"the archive is refused: it unpacks to over {archive_names.TOTAL_BYTES} bytes"
            )
        return data


def _add(archive: tarfile.TarFile, name: str, data: bytes, modified: float = 0.0) -> None:
    member = tarfile.TarInfo(name)
    member.size, member.mtime, member.mode = len(data), int(modified), 0o600
    archive.addfile(member, io.BytesIO(data))
