"""One transcript, open for reading: inside the projects folder, no links followed, no waiting."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import blake2b
from typing import Final

from memoryd.base.file_stamp import FileStamp
from memoryd.system.cancellation import stop_if_cancelled
from memoryd.system.plain_file import opened_beneath
from memoryd.transcripts.rules.cursor import HEAD_BYTES, TAIL_BYTES, Cursor, Fingerprint

CHUNK_BYTES: Final = 1024 * 1024
ALL_BYTES: Final = 1 << 62


class TranscriptFile:
    def __init__(self, handle: int) -> None:
        self._handle = handle

    def stamp(self) -> FileStamp:
        return FileStamp.of(os.fstat(self._handle))

    def chunks(self, offset: int, limit_bytes: int) -> Iterator[bytes]:
        """The bytes from `offset` on, a chunk at a time, up to the limit or the end."""
        end = offset + limit_bytes
        while offset < end:
            stop_if_cancelled()
            chunk = os.pread(self._handle, min(CHUNK_BYTES, end - offset), offset)
            if not chunk:
                return
            offset += len(chunk)
            yield chunk

    def fingerprint(self, offset: int) -> Fingerprint:
        """Of a file that has been read up to `offset`."""
        head_bytes = min(HEAD_BYTES, offset)
        return Fingerprint(head_bytes, self._hash(0, head_bytes), self._tail(offset))

    def matches(self, cursor: Cursor) -> bool:
        """Whether the file still holds what the cursor has read, by its fingerprint.

        A cursor without a fingerprint, made when the file could not be opened, always matches.
        """
        known = cursor.fingerprint
        return self.stamp().size >= cursor.offset and (
            known == Fingerprint()
            or (
                self._hash(0, known.head_bytes) == known.head
                and self._tail(cursor.offset) == known.tail
            )
        )

    def line_ends_at(self, offset: int) -> bool:
        return os.pread(self._handle, 1, offset - 1) == b"\n" if offset else True

    def _tail(self, offset: int) -> bytes:
        length = min(TAIL_BYTES, offset)
        return self._hash(offset - length, length)

    def _hash(self, offset: int, length: int) -> bytes:
        if not length:
            return b""
        return blake2b(os.pread(self._handle, length, offset), digest_size=16).digest()


@contextmanager
def open_transcript(root: str, path: str) -> Iterator[TranscriptFile]:
    """The file `path` below `root`; raises OSError if it is missing, foreign or not a file."""
    with opened_beneath(root, path) as handle:
        yield TranscriptFile(handle)
