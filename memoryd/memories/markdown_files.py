"""The Markdown files below a folder, with a way to read no more than their first lines.

Links, FIFOs, dot files and names that are no text are passed over; nothing here raises for them.
"""

import os
import stat
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from typing import Final

from memoryd.memories.rules.topics import INDEX_FILE, SCAN_LINES
from memoryd.system.cancellation import while_wanted

HEAD_BYTES: Final = 8192
NEVER_TOPICS: Final = frozenset({"logs"})
DEEPEST: Final = 4


def markdown_files(
    handle: int, prefix: str, skipped: frozenset[str]
) -> Iterator[tuple[str, os.stat_result, Callable[[], str | None]]]:
    """Every Markdown file below the handle with its facts and a way to read its first lines."""
    for name, facts in while_wanted(_plain_entries(handle)):
        if stat.S_ISDIR(facts.st_mode):
            if name not in skipped and prefix.count("/") < DEEPEST:
                yield from _below(handle, name, prefix)
        elif stat.S_ISREG(facts.st_mode) and name.endswith(".md") and name != INDEX_FILE:
            yield prefix + name, facts, partial(_head, handle, name)


def folders_below(path: str, skipped: frozenset[str], depth: int = 0) -> Iterator[str]:
    """The folders in which `markdown_files` looks for more, without any that a link leads to."""
    try:
        with os.scandir(path) as entries:
            found = [entry for entry in entries if entry.is_dir(follow_symlinks=False)]
    except OSError:
        return
    for entry in found:
        is_seen = not entry.name.startswith(".") and entry.name not in skipped
        if is_seen and depth < DEEPEST and is_readable_name(entry.name):
            yield entry.path
            yield from folders_below(entry.path, NEVER_TOPICS, depth + 1)


def _plain_entries(handle: int) -> Iterator[tuple[str, os.stat_result]]:
    """What is in a folder, with its facts; what vanishes meanwhile is passed over."""
    try:
        with os.scandir(handle) as entries:
            listed = [entry for entry in entries if not entry.name.startswith(".")]
    except OSError:
        return
    for entry in listed:
        if is_readable_name(entry.name):
            with suppress(OSError):
                yield entry.name, entry.stat(follow_symlinks=False)


def _below(
    handle: int, name: str, prefix: str
) -> Iterator[tuple[str, os.stat_result, Callable[[], str | None]]]:
    try:
        below = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=handle)
    except OSError:  # gone, or made a link, since it was listed
        return
    try:
        yield from markdown_files(below, f"{prefix}{name}/", NEVER_TOPICS)
    finally:
        os.close(below)


def _head(handle: int, name: str) -> str | None:
    """The first lines of a file, or None when it is gone or no plain file any more."""
    try:
        opened = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=handle)
    except OSError:
        return None
    try:
        raw = os.read(opened, HEAD_BYTES)
    except OSError:
        return None
    finally:
        os.close(opened)
    lines = raw.decode("utf-8", "replace").split("\n", SCAN_LINES)
    return "\n".join(lines[:SCAN_LINES]) + "\n"


def is_readable_name(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:  # bytes that are no UTF-8: such a name cannot be served
        return False
    return True
