"""Finds the first commit of a repository in its files. Git itself is never run.

- A repository's files are a stranger's: everything is read within limits of size, number and depth,
  through `system/plain_file`, and what is odd is unknown. Nothing is written, no path in it is
  followed.
- The first parents are followed from HEAD. A shallow clone, a repository with other hashes, and one
  that borrows its objects have no first commit that we could know.
"""

import os
import struct
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Final

from memoryd.memories.rules.git_identity import first_parent, head_in, packed_ref
from memoryd.system.plain_file import opened, read_plain

TEXT_BYTES: Final = 16 * 1024 * 1024
COMMIT_BYTES: Final = 1024 * 1024
MOST_COMMITS: Final = 50_000
MOST_PACKS: Final = 100
DELTA_DEPTH: Final = 60
REF_DEPTH: Final = 5
COMMIT, OFS_DELTA, REF_DELTA = 1, 6, 7


class OddObject(ValueError):
    """Something in a repository is not what it should be, or too large."""


def root_commit(git_dir: str) -> str:
    """The first commit of the branch that is checked out; empty if it cannot be known."""
    git = Path(git_dir)
    if (git / "shallow").exists() or (git / "objects/info/alternates").exists():
        return ""
    try:
        commit = _head(git)
        with ExitStack() as stack:
            objects = _Objects(git / "objects", stack)
            for _ in range(MOST_COMMITS):
                parent = first_parent(objects.commit(commit)) if commit else None
                if not parent:
                    return commit if parent == "" else ""
                commit = parent
    except (OSError, ValueError, KeyError, IndexError, struct.error, zlib.error):
        return ""
    return ""


def _head(git: Path) -> str:
    name = "HEAD"
    for _ in range(REF_DEPTH):
        try:
            text = read_plain(git / name, TEXT_BYTES).decode("utf-8", "replace")
        except FileNotFoundError:
            packed = read_plain(git / "packed-refs", TEXT_BYTES).decode("utf-8", "replace")
            return packed_ref(packed, name)
        commit, name = head_in(text)
        if commit or not name:
            return commit
    return ""


class _Objects:
    """The objects of one repository, loose and packed."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self._folder = folder
        self._stack = stack
        self._packs = sorted((folder / "pack").glob("*.idx"))[:MOST_PACKS]
        self._opened: dict[Path, _Pack] = {}

    def commit(self, name: str) -> bytes:
        with suppress(FileNotFoundError):
            return self._loose(name)
        for pack in self._all():
            offset = pack.offset(bytes.fromhex(name))
            if offset is not None:
                return self._packed(pack, offset)
        raise OddObject(name)

    def _loose(self, name: str) -> bytes:
        data = read_plain(self._folder / name[:2] / name[2:], COMMIT_BYTES)
        plain = _inflated(data, COMMIT_BYTES)
        head, _, body = plain.partition(b"\0")
        if not head.startswith(b"commit "):
            raise OddObject(name)
        return body

    def _all(self) -> Iterator["_Pack"]:
        for path in self._packs:
            if path not in self._opened:
                self._opened[path] = _Pack(path, self._stack)
            yield self._opened[path]

    def _packed(self, pack: "_Pack", offset: int) -> bytes:
        deltas: list[bytes] = []
        for _ in range(DELTA_DEPTH):
            kind, base, data = pack.entry(offset)
            if kind == COMMIT:
                for delta in reversed(deltas):
                    data = _applied(data, delta)
                return data
            deltas.append(data)
            if kind == OFS_DELTA and isinstance(base, int) and 0 < base < offset:
                offset = base
            elif kind == REF_DELTA and isinstance(base, bytes):
                found = pack.offset(base)
                if found is None:
                    raise OddObject(base.hex())
                offset = found
            else:
                raise OddObject(str(kind))
        raise OddObject("deltas")


class _Pack:
    """A pack and its index (version 2)."""

    def __init__(self, index: Path, stack: ExitStack) -> None:
        self._index = _FileBytes(index, stack)
        self._data = _FileBytes(index.with_suffix(".pack"), stack)
        if self._index[0:8] != b"\377tOc\0\0\0\2" or self._data[0:4] != b"PACK":
            raise OddObject(str(index))
        self._count = self._fanout(255)

    def _fanout(self, byte: int) -> int:
        return int.from_bytes(self._index[8 + 4 * byte : 12 + 4 * byte])

    def offset(self, name: bytes) -> int | None:
        """Where an object is in the pack."""
        low = self._fanout(name[0] - 1) if name[0] else 0
        high = self._fanout(name[0])
        while low < high:
            middle = (low + high) // 2
            at = 1032 + 20 * middle
            found = self._index[at : at + 20]
            if found == name:
                return self._offset_at(middle)
            low, high = (middle + 1, high) if found < name else (low, middle)
        return None

    def _offset_at(self, number: int) -> int:
        small = 1032 + 24 * self._count
        value = int.from_bytes(self._index[small + 4 * number : small + 4 * number + 4])
        if not value >> 31:
            return value
        large = small + 4 * self._count + 8 * (value & 0x7FFFFFFF)
        return int.from_bytes(self._index[large : large + 8])

    def entry(self, offset: int) -> tuple[int, int | bytes, bytes]:
        """The kind of an entry, what it is based on if it is a delta, and its bytes."""
        byte, at = self._data.byte(offset), offset + 1
        kind, shift, size = byte >> 4 & 7, 4, byte & 15
        while byte & 128:
            byte, at = self._data.byte(at), at + 1
            size |= (byte & 127) << shift
            shift += 7
        if size > COMMIT_BYTES:
            raise OddObject("size")
        base: int | bytes = 0
        if kind == OFS_DELTA:
            byte, at = self._data.byte(at), at + 1
            back = byte & 127
            while byte & 128:
                byte, at = self._data.byte(at), at + 1
                back = ((back + 1) << 7) | (byte & 127)
            base = offset - back
        elif kind == REF_DELTA:
            base, at = self._data[at : at + 20], at + 20
        data = self._data[at : at + size + size // 4 + 1024]
        return kind, base, _inflated(data, size)


class _FileBytes:
    """Slices of a file, read as they are asked for: mapped, a file that shrinks would kill us."""

    def __init__(self, path: Path, stack: ExitStack) -> None:
        self._handle = stack.enter_context(opened(path))

    def __getitem__(self, part: slice) -> bytes:
        return os.pread(self._handle, part.stop - part.start, part.start)

    def byte(self, at: int) -> int:
        return self[at : at + 1][0]


def _inflated(data: bytes, limit_bytes: int) -> bytes:
    return zlib.decompressobj().decompress(data, max(limit_bytes, 1))


def _applied(base: bytes, delta: bytes) -> bytes:
    """A delta: copies from the base and new bytes, in turn."""
    at = _after_size(delta, _after_size(delta, 0))
    parts: list[bytes] = []
    total = 0
    while at < len(delta):
        order, at = delta[at], at + 1
        if order & 128:
            values = [0, 0]
            for number in range(7):
                if order & 1 << number:
                    which, shift = (0, number) if number < 4 else (1, number - 4)
                    values[which] |= delta[at] << 8 * shift
                    at += 1
            first, size = values[0], values[1] or 0x10000
            parts.append(base[first : first + size])
        elif order:
            parts.append(delta[at : at + order])
            at += order
        else:
            raise OddObject("delta")
        total += len(parts[-1])
        if total > COMMIT_BYTES:
            raise OddObject("delta")
    return b"".join(parts)


def _after_size(delta: bytes, at: int) -> int:
    while delta[at] & 128:
        at += 1
    return at + 1
