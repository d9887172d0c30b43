"""Which files of a memory directory are topics, and what may be shown of them.

- Links, FIFOs, dot files and names that are not UTF-8 are skipped. Nothing here raises for them,
  or for what vanishes during a scan.
"""

import os
import stat
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import lru_cache, partial
from itertools import islice
from typing import Final, NamedTuple

import msgspec

from memoryd.base.errors import MemorydError
from memoryd.memories.records import Listed, MemoryDirectory
from memoryd.memories.rules import topics
from memoryd.memories.rules.topics import INDEX_FILE, SCAN_LINES, Scope, Topic
from memoryd.system.cancellation import cancellable
from memoryd.system.folder import Folder, make_folder
from memoryd.text.decode import decoded
from memoryd.text.invisible import strip_invisible
from memoryd.text.lazy_regex import late
from memoryd.text.masking.mask import find_secrets, mask_each, presentable

HEAD_BYTES: Final = 8192
NAMES_REMEMBERED: Final = 4_096
DEEPEST: Final = 4
# Fewer files are looked at in a few milliseconds.
LARGE: Final = 500
NOT_TOPICS: Final = frozenset({"logs"})
_SUSPECT: Final = late(r"\w{16}|\d{8}|(?i:pass|pw|secret|token|key|pin|auth)|[=:@]")
_NOT_PROJECT_TOPICS: Final = frozenset({"logs", "team"})


class MarkdownFile(NamedTuple):
    """A file below a folder; `head` reads its first lines, None if it is gone or not a file."""

    path: str
    stat: os.stat_result
    head: Callable[[], str | None]


def shown(read: Sequence[Topic]) -> list[Topic]:
    """The topics as lists show them: without bodies, and masked, for anyone may write a file."""
    if not read:
        return []  # masking makes its tables when it is first asked
    words = iter(mask_each([words for topic in read for words in (topic.name, topic.description)]))
    return [
        msgspec.structs.replace(topic, name=next(words), description=next(words), body="")
        for topic in read
    ]


def with_retired(found: Sequence[Listed], today: str) -> list[Listed]:
    """The same memories, marked as retired where they are by that day."""
    superseded = frozenset(old for one in found for old in one.topic.supersedes)
    return [
        msgspec.structs.replace(one, retired=True)
        if topics.is_retired(one.file, one.topic, superseded, today)
        else one
        for one in found
    ]


def without_supersedes(one: Listed) -> Listed:
    return msgspec.structs.replace(one, topic=msgspec.structs.replace(one.topic, supersedes=()))


def open_folder(directory: MemoryDirectory, *, create: bool = False) -> Folder:
    if create and directory.scope == "team" and directory.beneath is not None:
        make_folder(directory.beneath)  # the project's own folder, which may have no memory yet
    return Folder.open(directory.path, beneath=directory.beneath, create=create)


def has_many(folder: Folder) -> bool:
    """Whether a directory is large, by its names alone."""
    with suppress(OSError), os.scandir(folder.handle) as entries:
        names = (one.name for one in entries if one.name.endswith(".md"))
        return any(islice(names, LARGE - 1, None))
    return False


def oddities(directory: MemoryDirectory) -> list[tuple[str, str]]:
    """Files that are not served, or not written, and why; for the person, so names are masked."""
    found: list[tuple[str, str]] = []
    try:
        with open_folder(directory) as folder, os.scandir(folder.handle) as entries:
            for entry in entries:
                if entry.name.endswith(".md") and not entry.name.startswith("."):
                    with suppress(OSError):
                        facts = entry.stat(follow_symlinks=False)
                        is_shared = directory.beneath is not None
                        if odd := _oddity(entry.name, facts, is_shared=is_shared):
                            found.append((presentable(ascii(entry.name)[1:-1]), odd))
    except (MemorydError, OSError):
        return []
    return found


def _oddity(name: str, facts: os.stat_result, *, is_shared: bool) -> str:
    if stat.S_ISLNK(facts.st_mode):
        return "it is a link, and not served"
    if not is_readable_name(name) or not is_shown_name(name):
        return "its name cannot be shown, so it is not served"
    if is_shared and facts.st_uid not in {0, os.geteuid()}:
        return "it belongs to another user, and is not served"
    if stat.S_ISREG(facts.st_mode) and facts.st_nlink > 1:
        return "it has a second name (a backup with hard links?), so it is not updated"
    return ""


def skipped_folders(scope: Scope) -> frozenset[str]:
    """Folders at the top of a memory directory that hold no topics of this scope."""
    return _NOT_PROJECT_TOPICS if scope == "project" else NOT_TOPICS


def is_topic_name(directory: MemoryDirectory, file: str) -> bool:
    """Whether a scan would list a file of this name."""
    *folders, name = file.split("/")
    is_listed = name.endswith(".md") and file != INDEX_FILE and len(folders) <= DEEPEST
    if folders and folders[0] in skipped_folders(directory.scope):
        return False
    return is_listed and all(
        not part.startswith(".") and is_readable_name(part) and is_shown_name(part)
        for part in (*folders, name)
    )


def markdown_files(
    handle: int, skipped: frozenset[str] = NOT_TOPICS, prefix: str = ""
) -> Iterator[MarkdownFile]:
    """Every Markdown file below an open folder, the index excepted."""
    for name, facts in cancellable(_entries(handle)):
        if stat.S_ISDIR(facts.st_mode):
            if name not in skipped and prefix.count("/") < DEEPEST:
                yield from _files_in(handle, name, prefix)
        elif stat.S_ISREG(facts.st_mode) and name.endswith(".md") and name != INDEX_FILE:
            yield MarkdownFile(prefix + name, facts, partial(head_of, handle, name))


def folders_below(path: str, skipped: frozenset[str] = NOT_TOPICS, depth: int = 0) -> Iterator[str]:
    """The folders that `markdown_files` enters, links excluded."""
    try:
        with os.scandir(path) as entries:
            found = [entry for entry in entries if entry.is_dir(follow_symlinks=False)]
    except OSError:
        return
    for entry in found:
        is_entered = not entry.name.startswith(".") and entry.name not in skipped
        if is_entered and depth < DEEPEST and is_readable_name(entry.name):
            yield entry.path
            yield from folders_below(entry.path, depth=depth + 1)


def is_readable_name(name: str) -> bool:
    """Whether a name is UTF-8; any other cannot be served."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


@lru_cache(NAMES_REMEMBERED)
def is_shown_name(name: str) -> bool:
    """Whether a name can stand in a list: one visible line, without a secret."""
    may_hold_one = _SUSPECT.search(name) is not None  # most names are plain words
    return (
        name.isprintable()
        and strip_invisible(name) == name
        and not (may_hold_one and find_secrets(name))
    )


def _entries(handle: int) -> Iterator[tuple[str, os.stat_result]]:
    try:
        with os.scandir(handle) as entries:
            listed = [entry for entry in entries if not entry.name.startswith(".")]
    except OSError:
        return
    for entry in listed:
        if is_readable_name(entry.name) and is_shown_name(entry.name):
            with suppress(OSError):
                yield entry.name, entry.stat(follow_symlinks=False)


def _files_in(handle: int, name: str, prefix: str) -> Iterator[MarkdownFile]:
    try:
        below = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=handle)
    except OSError:  # gone, or replaced by a link, since it was listed
        return
    try:
        yield from markdown_files(below, prefix=f"{prefix}{name}/")
    finally:
        os.close(below)


def head_of(handle: int, name: str) -> str | None:
    """The first lines of a file in an open folder; None if it is gone or not a file."""
    try:
        return read_head(handle, name)
    except OSError:
        return None


def read_head(handle: int, name: str) -> str:
    """As `head_of`; OSError if it cannot be read."""
    opened = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=handle)
    try:
        raw = os.read(opened, HEAD_BYTES)
    finally:
        os.close(opened)
    lines = decoded(raw).split("\n", SCAN_LINES)
    return "\n".join(lines[:SCAN_LINES]) + "\n"
