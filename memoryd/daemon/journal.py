"""The log in the journal of systemd: the lines that people read, each with its priority.

- The journal is used when systemd connected the error output to it, which `JOURNAL_STREAM` says by
  device and inode. Otherwise nothing is written here.
- A line begins with `<N>`, the priority of syslog; the journal takes it off. A text of several
  lines, such as a traceback, gets it on each line.
- Lines about dreams are sentences, as in `memoryd logs`; any other is its event and its fields.
"""

import os
from collections.abc import Mapping
from typing import Final, TextIO

import msgspec
from structlog.typing import EventDict, WrappedLogger

from memoryd.dreams.rules.story import told

PRIORITIES: Final = {"debug": 7, "info": 6, "warning": 4, "error": 3, "critical": 2}
_NOT_FIELDS: Final = frozenset({"event", "level", "timestamp", "exception"})


def journal_for(env: Mapping[str, str], stream: TextIO) -> TextIO | None:
    """The stream if it ends in the journal."""
    device, _, inode = env.get("JOURNAL_STREAM", "").partition(":")
    try:
        found = os.fstat(stream.fileno())
    except (OSError, ValueError):
        return None
    is_journal = (device, inode) == (str(found.st_dev), str(found.st_ino))
    return stream if is_journal else None


def journal_lines(_: WrappedLogger, __: str, event: EventDict) -> str:
    """One line for the journal; more only for a traceback."""
    prefix = f"<{PRIORITIES.get(str(event.get('level', 'info')), 6)}>"
    kind = str(event.get("event", ""))
    text = told(kind, event) or " ".join([kind, *_fields(event)])
    lines = [_flat(text), *str(event.get("exception", "")).splitlines()]
    return "\n".join(f"{prefix}{line}" for line in lines if line)


def _fields(event: EventDict) -> list[str]:
    named = {key: value for key, value in event.items() if key not in _NOT_FIELDS}
    return [f"{key}={_plain(value)}" for key, value in named.items()]


def _plain(value: object) -> str:
    """A value, quoted only where it has blanks."""
    is_word = isinstance(value, str) and value.split() == [value]
    return value if isinstance(value, str) and is_word else _as_json(value)


def _as_json(value: object) -> str:
    return msgspec.json.encode(value, enc_hook=repr).decode()


def _flat(text: str) -> str:
    return " ".join(text.split())
