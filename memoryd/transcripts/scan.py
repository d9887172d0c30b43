"""One look at the whole projects folder, by stat alone: what finds everything that events miss.

Only `folder/session.jsonl` counts, and only real files in real folders. A link is not followed, a
pipe not opened, a name that no program of ours could say back to a person is passed over; each such
thing is an oddity for the caller to mention once.
"""

import os
from collections.abc import Container, Iterator
from contextlib import contextmanager
from typing import Final, Literal

import msgspec

from memoryd.base.file_stamp import FileStamp, Identity
from memoryd.transcripts.rules.assembler import is_session_transcript

NAME_BYTES_MAX: Final = 220  # a project's folder has up to 208, a session's file 42

OddReason = Literal["a link", "no file", "a strange name", "unreadable"]


class Oddity(msgspec.Struct, frozen=True):
    path: str
    reason: OddReason


class TranscriptScan(msgspec.Struct):
    """`folders` are those that can be watched; of `unread` ones nothing is known this time."""

    root: str
    root_identity: Identity | None = None
    sighted: dict[str, FileStamp] = {}
    folders: dict[str, Identity] = {}
    unread: set[str] = set()
    oddities: list[Oddity] = []


def sweep(root: str, familiar: Container[str] = frozenset()) -> TranscriptScan:
    """What lies below `root` now; raises OSError where it is there and cannot be listed.

    Names that are `familiar` are not judged again, which is most of the work with many files.
    """
    found = TranscriptScan(root)
    try:
        with _opened(root) as handle:
            found.root_identity = facts_of(os.fstat(handle)).identity
            for entry in _entries(handle):
                _visit(entry, handle, found, familiar)
    except (FileNotFoundError, NotADirectoryError):
        return TranscriptScan(root)
    return found


def facts_of(told: os.stat_result) -> FileStamp:
    return FileStamp.of(told)


def _visit(
    entry: "os.DirEntry[str]", root_handle: int, found: TranscriptScan, familiar: Container[str]
) -> None:
    if entry.is_symlink():
        found.oddities.append(Oddity(shown(entry.name), "a link"))
    elif not entry.is_dir(follow_symlinks=False):
        return
    elif not name_is_usable(entry.name):
        found.oddities.append(Oddity(shown(entry.name), "a strange name"))
    else:
        try:
            _visit_folder(entry.name, root_handle, found, familiar)
        except FileNotFoundError:
            return
        except OSError:
            found.unread.add(entry.name)
            found.oddities.append(Oddity(entry.name, "unreadable"))


def _visit_folder(
    folder: str, root_handle: int, found: TranscriptScan, familiar: Container[str]
) -> None:
    with _opened(folder, os.O_NOFOLLOW, dir_fd=root_handle) as handle:
        found.folders[folder] = facts_of(os.fstat(handle)).identity
        for entry in _entries(handle):
            path = f"{folder}/{entry.name}"
            is_familiar = path in familiar and entry.is_file(follow_symlinks=False)
            if is_familiar or _is_transcript(entry, path, found):
                try:
                    found.sighted[path] = facts_of(entry.stat(follow_symlinks=False))
                except FileNotFoundError:
                    continue


def _is_transcript(entry: "os.DirEntry[str]", path: str, found: TranscriptScan) -> bool:
    if not is_session_transcript(path):
        return False
    if (reason := _what_is_odd(entry)) is not None:
        found.oddities.append(Oddity(shown(path), reason))
    return reason is None


def _what_is_odd(entry: "os.DirEntry[str]") -> OddReason | None:
    if entry.is_file(follow_symlinks=False):
        return None if name_is_usable(entry.name) else "a strange name"
    return "a link" if entry.is_symlink() else "no file"


def name_is_usable(name: str) -> bool:
    """Whether a name can be stored and shown: UTF-8, printable, and not monstrous."""
    if not name.isprintable():  # bytes that are no UTF-8 come as lone surrogates, which are not
        return False
    return len(name if name.isascii() else name.encode()) <= NAME_BYTES_MAX


def shown(name: str) -> str:
    """A name that may be anything, as a log can hold it."""
    return name.encode("utf-8", "backslashreplace").decode()[:NAME_BYTES_MAX]


def _entries(handle: int) -> Iterator["os.DirEntry[str]"]:
    with os.scandir(handle) as entries:
        yield from entries


@contextmanager
def _opened(path: str, flags: int = 0, dir_fd: int | None = None) -> Iterator[int]:
    handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC | flags, dir_fd=dir_fd)
    try:
        yield handle
    finally:
        os.close(handle)
