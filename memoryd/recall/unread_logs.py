"""Daily logs as recall serves them until a dream has made memories of them.

Rules
- A log that was written after the last dream is one memory: "Log of DATE", its entries with the
  newest first. The last dream is the time of `.consolidate-lock`, so midnight and a changed time
  zone make no difference; the days around today are looked at, whatever the mode is now.
- A dream touches the lock when it starts. Until RUNNING_SECONDS later it may still be at work, and
  what was written in the day before it is served as well: rather twice than not at all.
- Only entries in the log's own form are served, as what an agent noted: others can write there too.
  A log is not a rule, and is not in the index.
- Which logs there are is asked at every query, by a few lstat calls.
"""

import os
from contextlib import suppress
from datetime import date, datetime, timedelta
from math import inf
from typing import Final

import msgspec

from memoryd.base import paths
from memoryd.base.errors import MemorydError
from memoryd.base.file_stamp import FileStamp
from memoryd.memories.daily_logs import file_of
from memoryd.memories.records import MemoryDirectory, Stored
from memoryd.memories.rules import daily_log, topics
from memoryd.memories.rules.topics import Topic
from memoryd.memories.store import Store

DAYS_BACK: Final = 14
RUNNING_SECONDS: Final = 3600.0
SECONDS_A_DAY: Final = 86_400.0
LOGS_FOLDER: Final = "logs/"


def unread_logs(directory: MemoryDirectory, now: float) -> dict[str, FileStamp]:
    """The logs that no dream has read yet, by file name."""
    if directory.scope != "project" or not os.path.lexists(f"{directory.path}/logs"):
        return {}
    since = -inf
    with suppress(OSError):
        since = os.lstat(paths.consolidate_lock(directory.path)).st_mtime
        if 0 <= now - since < RUNNING_SECONDS:
            since -= SECONDS_A_DAY
    today = datetime.fromtimestamp(now).astimezone().date()
    found: dict[str, FileStamp] = {}
    for back in range(-1, DAYS_BACK):  # a day ahead: the clock may have been further east
        file = file_of(today - timedelta(days=back))
        with suppress(OSError):
            facts = os.lstat(f"{directory.path}/{file}")
            if facts.st_mtime > since:
                found[file] = FileStamp.of(facts)
    return found


def read_log(store: Store, directory: MemoryDirectory, file: str) -> Stored | None:
    """A log as a memory; None if it has no entry, is gone or cannot be read."""
    with suppress(MemorydError, ValueError):
        stored = store.read(directory, file)
        day = date.fromisoformat(file.rpartition("/")[2].removesuffix(".md"))
        entries = daily_log.entries_in(stored.text, day)
        if entries:
            lines = [f"- {one.at:%H:%M} ({one.type}) {one.text}" for one in reversed(entries)]
            topic = Topic(
                name=f"Log of {day.isoformat()}",
                description=f"noted on {day.isoformat()}, not yet made into memories",
                type="project",
                trust="agent-concluded",
                body="\n".join(lines) + "\n",
            )
            return msgspec.structs.replace(stored, text=topics.render(topic), origin=None)
    return None


def is_log(file: str) -> bool:
    return file.startswith(LOGS_FOLDER)
