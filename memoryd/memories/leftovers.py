"""Removes temporary files that killed writers left behind, at the next start.

The store cleans memory directories itself. This covers the other places where a file is written
under a temporary name: notes beside transcripts, checkpoints, vectors, shelves, the write check
before a model run, and what the client installs. A leftover is known by its name and its age:
only one daemon runs, so a file older than it has no writer any more. A client may be writing right
now, so its files must be older than that.
"""

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from posixpath import dirname
from typing import Final

from memoryd.base.paths import Places
from memoryd.memories.kept_files import FOLDER as SHELVES
from memoryd.text.lazy_regex import late

# A file system's clock is coarser than ours.
TICK_SECONDS: Final = 0.05
CLIENT_SECONDS: Final = 60.0

_OURS = late(r"\.memoryd-[0-9a-f]{16}\.tmp|[0-9a-f]{64}\.[0-9]+")
_CLIENTS = late(r"\.memoryd-[a-z0-9_]{8}")


def clear_leftovers(places: Places, started: float) -> int:
    """Removes files left before `started`; returns how many."""
    leftovers = [
        path
        for folder in _our_folders(places)
        for path in _files(folder, _OURS, started - TICK_SECONDS)
    ] + [
        path
        for folder in _client_folders(places)
        for path in _files(folder, _CLIENTS, started - CLIENT_SECONDS)
    ]
    removed = 0
    for path in leftovers:
        with suppress(OSError):
            os.unlink(path)  # noqa: PTH108 - as it was listed
            removed += 1
    return removed


def _our_folders(places: Places) -> Iterator[str]:
    yield from (places.claude_dir, f"{places.claude_dir}/projects", places.state_dir)
    for project in _folders(f"{places.claude_dir}/projects"):
        yield project
        yield from (f"{session}/session-memory" for session in _folders(project))
    yield f"{places.state_dir}/{SHELVES}"
    for kept in ("checkpoints", "vectors"):
        yield from _folders(f"{places.state_dir}/{kept}")


def _client_folders(places: Places) -> tuple[str, ...]:
    config_home = dirname(dirname(places.config_file))
    units = (f"{config_home}/systemd/user", f"{places.home}/Library/LaunchAgents")
    return (places.home, places.claude_dir, *units)


def _folders(path: str) -> list[str]:
    try:
        with os.scandir(path) as entries:
            return [entry.path for entry in entries if entry.is_dir(follow_symlinks=False)]
    except OSError:
        return []


def _files(folder: str, name: re.Pattern[str], older_than: float) -> Iterator[str]:
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if name.fullmatch(entry.name) and entry.is_file(follow_symlinks=False):
                with suppress(OSError):
                    # Not mtime: a restored file gets the time of its old version.
                    if entry.stat(follow_symlinks=False).st_ctime < older_than:
                        yield entry.path
