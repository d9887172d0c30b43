"""The format of a daily log: the lines that extraction appends and a dream reads back.

    # 2026-11-16

    <!-- memoryd 2026-11-16T01:00:03Z session=0a1b turns=5f3e9c01d2aa entries=1 -->
    - 01:00 (feedback, user-said) Always use tabs in Makefiles. Why: make insists on them.

Rules
- An entry is one line: when it was said, its type, its trust, and what was said. The day precedes
  the time if it is not the log's own.
- One extraction appends a section: a mark with the session, the turns and the number of entries,
  and the entries below it. A section is recognised after a crash, and its entries have an origin.
- Others write here too, in this form or any other. An entry without a mark above it has no session
  and no known origin: it counts as concluded by an agent, whatever it claims.
- A log only grows: what was read need not be read again.
"""

import re
from collections.abc import Iterator, Sequence
from datetime import date, datetime, time
from hashlib import blake2b
from typing import get_args

import msgspec

from memoryd.memories.rules.topics import TYPES, TopicType, Trust
from memoryd.text.lazy_regex import late
from memoryd.text.shorten import one_line

_TYPES = "|".join(TYPES)
_MARK = late(
    r"<!-- memoryd \S+ session=(?P<session>\S*) turns=(?P<turns>[0-9a-f,]*) entries=(?P<n>\d+) -->"
)
_ENTRY = late(
    rf"[-*] (?:(?P<day>\d{{4}}-\d\d-\d\d) )?(?P<hour>\d\d?):(?P<minute>\d\d)"
    rf" \((?P<type>{_TYPES})(?:, (?P<trust>{'|'.join(get_args(Trust))}))?\) (?P<text>\S.*)"
)
_BULLET = late(r"[-*]\s+")
_DRAFT = late(
    rf"(?:\d\d?:\d\d\s+)?[\[(]?(?P<type>{_TYPES})[\])]?\s*:\s*(?P<text>\S.*)", re.IGNORECASE
)
_WHY = late(r"\s(?:\*\*)?Why:(?:\*\*)?\s+")
_NOT_AN_ID = late(r"[^\w.:-]")


class LogEntry(msgspec.Struct, frozen=True):
    """One thing worth keeping; `session_id` is empty if its origin is unknown."""

    at: datetime
    type: TopicType
    trust: Trust
    text: str
    session_id: str = ""

    @property
    def why(self) -> str:
        """The reason that was given, if any."""
        _, *reasons = _WHY.split(self.text, maxsplit=1)
        return reasons[0] if reasons else ""


class LogSection(msgspec.Struct, frozen=True):
    """What one extraction appends: entries from some turns of one session."""

    session_id: str
    turn_ids: tuple[str, ...]
    entries: tuple[LogEntry, ...]


def heading(day: date) -> str:
    return f"# {day.isoformat()}\n"


def rendered(section: LogSection, day: date, written: str) -> str:
    """The lines of a section in a day's log."""
    session = _NOT_AN_ID.sub("-", section.session_id)
    turns = ",".join(map(turn_mark, section.turn_ids))
    mark = (
        f"<!-- memoryd {written} session={session} turns={turns} entries={len(section.entries)} -->"
    )
    return "\n".join([mark, *(_line(entry, day) for entry in section.entries)]) + "\n"


def turn_mark(turn_id: str) -> str:
    """The short form of a turn's id in a mark."""
    return blake2b(turn_id.encode("utf-8", "surrogatepass"), digest_size=6).hexdigest()


def turn_marks_in(text: str) -> frozenset[str]:
    """The turns that have a section in this text."""
    found = (match["turns"].split(",") for match in _marks(text))
    return frozenset(turn for turns in found for turn in turns)


def entries_in(text: str, day: date) -> list[LogEntry]:
    """Every line that is an entry, with the origin from the mark above it."""
    found: list[LogEntry] = []
    session, covered = "", 0
    for line in text.splitlines():
        if mark := _MARK.fullmatch(line.strip()):
            session, covered = mark["session"], int(mark["n"])
            continue
        match = _ENTRY.fullmatch(line.strip())
        entry = _entry(match, day, session if covered > 0 else "") if match else None
        # Any other line ends the section.
        covered = covered - 1 if entry else 0
        if entry:
            found.append(entry)
    return found


def drafts_in(text: str) -> list[tuple[TopicType, str]] | None:
    """Lines to be appended, as `- type: text`; None if any line has another form."""
    found: list[tuple[TopicType, str]] = []
    for bullet in _bullets(text):
        match = _DRAFT.fullmatch(bullet)
        type_ = next((one for one in TYPES if match and one == match["type"].lower()), None)
        if match is None or type_ is None:
            return None
        found.append((type_, match["text"]))
    return found or None


def rule_of(text: str) -> str:
    """What an entry says, without its reason."""
    return _WHY.split(text, maxsplit=1)[0]


def _bullets(text: str) -> Iterator[str]:
    """The bullets of a text, each joined with its continuation lines."""
    current: list[str] = []
    for line in filter(None, map(str.strip, text.splitlines())):
        if _BULLET.match(line) and current:
            yield " ".join(current)
            current = []
        current.append(_BULLET.sub("", line, count=1) if not current else line)
    if current:
        yield " ".join(current)


def _marks(text: str) -> Sequence[re.Match[str]]:
    return [mark for line in text.splitlines() if (mark := _MARK.fullmatch(line.strip()))]


def _line(entry: LogEntry, day: date) -> str:
    said_on = "" if entry.at.date() == day else f"{entry.at:%Y-%m-%d} "
    text = one_line(entry.text)
    return f"- {said_on}{entry.at:%H:%M} ({entry.type}, {entry.trust}) {text}"


def _entry(match: re.Match[str], day: date, session_id: str) -> LogEntry | None:
    try:
        said_on = date.fromisoformat(match["day"]) if match["day"] else day
        at = datetime.combine(said_on, time(int(match["hour"]), int(match["minute"])))
    except ValueError:
        return None
    type_ = next(one for one in TYPES if one == match["type"])
    is_said = bool(session_id) and match["trust"] == "user-said"
    return LogEntry(
        at.astimezone(),
        type_,
        "user-said" if is_said else "agent-concluded",
        match["text"],
        session_id,
    )
