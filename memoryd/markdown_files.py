"""The Markdown files below a folder, with a way to read no more than their first lines.

Links, FIFOs, dot files and names that are no text are passed over; nothing here raises for them.
"""

import os
from collections.abc import Callable, Iterator
from typing import Final

from memoryd.topics import INDEX_FILE, SCAN_LINES

HEAD_BYTES: Final = 8192
NEVER_TOPICS: Final = frozenset({"logs"})
DEEPEST: Final = 4


def markdown_files(
    handle: int, prefix: str, skipped: frozenset[str]
) -> Iterator[tuple[str, os.stat_result, Callable[[], str | None]]]:
    """Every Markdown file below the handle with its facts and a way to read its first lines."""
    with os.scandir(handle) as entries:
        for entry in entries:
            if entry.name.startswith(".") or not _is_readable_name(entry.name):
                continue
            if entry.is_dir(follow_symlinks=False):
                if entry.name not in skipped and prefix.count("/") < DEEPEST:
                    yield from _below(handle, entry.name, prefix)
            elif (
                entry.name.endswith(".md")
                and entry.name != INDEX_FILE
                and entry.is_file(follow_symlinks=False)
            ):
                name = entry.name
                facts = entry.stat(follow_symlinks=False)
                yield prefix + name, facts, lambda name=name: _head(handle, name)  # type: ignore[misc]


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


def _is_readable_name(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:  # bytes that are no UTF-8: such a name cannot be served
        return False
    return True
