"""One scan of the whole projects folder, by stat alone: it finds everything that events miss.

Only `folder/session.jsonl` counts, and only regular files in real folders. Links are not followed,
pipes are not opened, and files of other users and names that cannot be stored and shown are
skipped; each of these is an oddity, which the caller logs once.

A folder that has not changed since it was listed is not opened again for some minutes: an opened
folder wakes everybody who watches it, us included. Its files are looked at all the same.
"""

import os
import stat
import time
from collections.abc import Container, Iterator, MutableMapping
from contextlib import contextmanager, suppress
from typing import Final, Literal

import msgspec

from memoryd.base.file_stamp import FileStamp, Identity
from memoryd.system.plain_file import owner_is_trusted
from memoryd.transcripts.rules.assembler import is_session_transcript

NAME_BYTES_MAX: Final = 220  # a project's folder has up to 208, a session's file 42
# Not every network disk says that a folder has changed.
LISTED_AGAIN_SECONDS: Final = 300.0

OddReason = Literal["a link", "not a file", "unusable name", "unreadable", "another user's"]


class Oddity(msgspec.Struct, frozen=True):
    path: str
    reason: OddReason


class TranscriptScan(msgspec.Struct):
    """`files` by path from the root; `unreadable` folders could not be listed this time."""

    root: str
    root_identity: Identity | None = None
    files: dict[str, FileStamp] = {}
    folders: dict[str, Identity] = {}
    unreadable: set[str] = set()
    oddities: list[Oddity] = []


class FolderListing(msgspec.Struct, frozen=True):
    """The transcripts of a folder, by path from the root, when it had this stamp."""

    stamp: FileStamp
    listed_at: float
    files: tuple[str, ...]


Listings = MutableMapping[str, FolderListing]


def scan(
    root: str, known: Container[str] = frozenset(), listings: Listings | None = None
) -> TranscriptScan:
    """What is below `root` now; raises OSError if it exists and cannot be listed.

    The names of `known` files are not checked again, which saves most of the work. `listings` are
    those of earlier scans of this root, and are kept up to date.
    """
    found = TranscriptScan(root)
    listings = {} if listings is None else listings
    try:
        with _opened(root) as handle:
            found.root_identity = FileStamp.of(os.fstat(handle)).identity
            for entry in _entries(handle):
                _visit(entry, handle, found, known, listings)
    except (FileNotFoundError, NotADirectoryError):
        found = TranscriptScan(root)
    for folder in listings.keys() - found.folders.keys():
        del listings[folder]
    return found


def _visit(
    entry: "os.DirEntry[str]",
    root_handle: int,
    found: TranscriptScan,
    known: Container[str],
    listings: Listings,
) -> None:
    if entry.is_symlink():
        found.oddities.append(Oddity(shown(entry.name), "a link"))
    elif not entry.is_dir(follow_symlinks=False):
        return
    elif not name_is_usable(entry.name):
        found.oddities.append(Oddity(shown(entry.name), "unusable name"))
    else:
        try:
            if not _visit_listed(entry, root_handle, found, listings):
                _visit_folder(entry.name, root_handle, found, known, listings)
        except FileNotFoundError:
            return
        except OSError:
            found.unreadable.add(entry.name)
            found.oddities.append(Oddity(entry.name, "unreadable"))


def _visit_listed(
    entry: "os.DirEntry[str]", root_handle: int, found: TranscriptScan, listings: Listings
) -> bool:
    """Looks at the files of a folder that is as it was when it was listed; false if it is not."""
    listing = listings.get(entry.name)
    if listing is None or time.monotonic() - listing.listed_at > LISTED_AGAIN_SECONDS:
        return False
    if not listing.stamp.is_of(entry.stat(follow_symlinks=False)):
        return False
    found.folders[entry.name] = listing.stamp.identity
    for path in listing.files:
        with suppress(FileNotFoundError):
            facts = os.stat(path, dir_fd=root_handle, follow_symlinks=False)
            if stat.S_ISREG(facts.st_mode):
                _take(facts, path, found)
    return True


def _visit_folder(
    folder: str,
    root_handle: int,
    found: TranscriptScan,
    known: Container[str],
    listings: Listings,
) -> None:
    with _opened(folder, os.O_NOFOLLOW, dir_fd=root_handle) as handle:
        stamp, is_settled = _stamp_of(handle)
        found.folders[folder] = stamp.identity
        files = []
        for entry in _entries(handle):
            path = f"{folder}/{entry.name}"
            is_known = path in known and entry.is_file(follow_symlinks=False)
            if is_known or _is_transcript(entry, path, found):
                files.append(path)
                with suppress(FileNotFoundError):
                    _take(entry.stat(follow_symlinks=False), path, found)
    listings.pop(folder, None)
    if is_settled:
        listings[folder] = FolderListing(stamp, time.monotonic(), tuple(files))


def _stamp_of(handle: int) -> tuple[FileStamp, bool]:
    """The stamp of a folder, and whether it would change with the folder from now on."""
    now = time.time()
    stamp = FileStamp.of(os.fstat(handle))
    return stamp, stamp.is_settled(now)


def _take(facts: os.stat_result, path: str, found: TranscriptScan) -> None:
    if owner_is_trusted(facts, f"{found.root}/{path}"):
        found.files[path] = FileStamp.of(facts)
    else:
        found.oddities.append(Oddity(shown(path), "another user's"))


def _is_transcript(entry: "os.DirEntry[str]", path: str, found: TranscriptScan) -> bool:
    if not is_session_transcript(path):
        return False
    if (reason := _what_is_odd(entry)) is not None:
        found.oddities.append(Oddity(shown(path), reason))
    return reason is None


def _what_is_odd(entry: "os.DirEntry[str]") -> OddReason | None:
    if entry.is_file(follow_symlinks=False):
        return None if name_is_usable(entry.name) else "unusable name"
    return "a link" if entry.is_symlink() else "not a file"


def name_is_usable(name: str) -> bool:
    """Whether a name can be stored and shown: UTF-8, printable, and not too long."""
    if not name.isprintable():  # invalid UTF-8 arrives as lone surrogates, which are not printable
        return False
    return len(name if name.isascii() else name.encode()) <= NAME_BYTES_MAX


def shown(name: str) -> str:
    """Any name, made safe for a log."""
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
