"""The daily logs of a memory directory on disk: appended to durably, and read incrementally.

- Appending replaces the file (temporary file, fsync, rename): after a crash a section is whole or
  absent. Existing bytes stay, and a concurrent change is not overwritten but appended to.
- A log is opened through a handle on the memory directory, and links are not followed.
"""

import os
import re
from collections.abc import Mapping
from contextlib import suppress
from datetime import date, datetime, timedelta
from typing import Final

import msgspec

from memoryd.base import paths
from memoryd.base.errors import Conflict, MemorydError
from memoryd.base.timestamps import iso_time
from memoryd.memories.records import MemoryDirectory
from memoryd.memories.rules import daily_log
from memoryd.memories.rules.daily_log import LogEntry, LogSection
from memoryd.system.folder import Content, Folder, version_of
from memoryd.text.decode import decoded
from memoryd.text.lazy_regex import late
from memoryd.text.masking.mask import presentable

TRIES: Final = 5
# How far a log was read is kept for this many; older ones count as read.
REMEMBERED_LOGS: Final = 60

_YEAR = late(r"\d{4}")
_MONTH = late(r"\d\d")
_DAY = late(r"\d{4}-\d\d-\d\d\.md")


class LogMark(msgspec.Struct, frozen=True):
    """How far a log was read: the number of bytes, and their hash."""

    bytes: int
    sha256: str


class UnreadLogs(msgspec.Struct, frozen=True):
    """New entries, and how far each log is read after them."""

    entries: tuple[LogEntry, ...]
    marks: dict[str, LogMark]


def add(directory: MemoryDirectory, section: LogSection, now: float) -> str:
    """Appends a section to today's log; returns the log's name in the directory."""
    day = datetime.fromtimestamp(now).astimezone().date()
    file = file_of(day)
    entries = tuple(
        msgspec.structs.replace(one, text=presentable(one.text)) for one in section.entries
    )
    section = msgspec.structs.replace(section, entries=entries)
    text = daily_log.rendered(section, day, iso_time(now))
    for tries_left in reversed(range(TRIES)):
        with Folder.open(directory.path, beneath=directory.beneath, create=True) as folder:
            current = folder.current(file)
            before = current.data if current else daily_log.heading(day).encode()
            gap = b"\n" if before.endswith(b"\n") else b"\n\n"
            over = current.version if current else None
            try:
                folder.write(file, before + gap + text.encode(), over=over)
            except Conflict:
                if not tries_left:
                    raise
            else:
                break
    return file


def turn_marks_since(directory: MemoryDirectory, moment: float) -> frozenset[str]:
    """The turns with a section in the logs since a moment."""
    first = datetime.fromtimestamp(moment).astimezone().date() - timedelta(days=1)
    logs = [_read(directory, day) for day in log_days(directory) if day >= first]
    return frozenset().union(*(daily_log.turn_marks_in(decoded(log.data)) for log in logs if log))


def unread(
    directory: MemoryDirectory, marks: Mapping[str, LogMark] | None, since: float
) -> UnreadLogs:
    """What was appended to the logs after `marks`.

    If the marks were lost (None), a log last changed before `since` counts as read.
    """
    days = log_days(directory)
    is_lost, marks = marks is None, marks or {}
    # Only where marks were dropped does a log without one count as read: a clock that was set west
    # since the last dream writes into days before the first mark.
    oldest = min(marks) if len(marks) >= REMEMBERED_LOGS else ""
    entries: list[LogEntry] = []
    reached: dict[str, LogMark] = {}
    for day in days:
        file = file_of(day)
        content = _read(directory, day) if file >= oldest else None
        if content is None:
            continue
        is_old = is_lost and content.modified < since
        start = len(content.data) if is_old else _start(content.data, marks.get(file))
        entries += daily_log.entries_in(decoded(content.data[start:]), day)
        if day in days[-REMEMBERED_LOGS:]:
            reached[file] = LogMark(len(content.data), content.version)
    return UnreadLogs(tuple(entries), reached)


def log_days(directory: MemoryDirectory) -> list[date]:
    """The days with a log, oldest first."""
    found: list[date] = []
    with suppress(MemorydError), Folder.open(directory.path, beneath=directory.beneath) as folder:
        for year in _names(folder, "logs", _YEAR):
            for month in _names(folder, f"logs/{year}", _MONTH):
                for name in _names(folder, f"logs/{year}/{month}", _DAY):
                    with suppress(ValueError):
                        found.append(date.fromisoformat(name.removesuffix(".md")))
    return sorted(found)


def file_of(day: date) -> str:
    """The name of a day's log in the memory directory."""
    return paths.daily_log(".", day).removeprefix("./")


def _names(folder: Folder, below: str, form: re.Pattern[str]) -> list[str]:
    try:
        handle = folder.descend(below)
    except MemorydError:
        return []
    try:
        with os.scandir(handle) as entries:
            return [entry.name for entry in entries if form.fullmatch(entry.name)]
    finally:
        os.close(handle)


def _read(directory: MemoryDirectory, day: date) -> Content | None:
    """The log; None if it is gone or cannot be read."""
    with suppress(MemorydError), Folder.open(directory.path, beneath=directory.beneath) as folder:
        return folder.read(file_of(day))
    return None


def _start(data: bytes, mark: LogMark | None) -> int:
    """Where the unread part begins: at the start if the part already read was changed."""
    if mark is None or version_of(data[: mark.bytes]) != mark.sha256:
        return 0
    return mark.bytes
