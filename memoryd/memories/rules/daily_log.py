"""What stands in a daily log, and how: the lines that extraction adds and a dream reads back.

    # 2026-11-16

    <!-- memoryd 2026-11-16T01:00:03Z session=0a1b turns=5f3e9c01d2aa entries=1 -->
    - 01:00 (feedback, user-said) Always use tabs in Makefiles. Why: make insists on them.

Rules
- An entry is one line: when it was said, its type, how far it can be trusted, and what was said. A
  day stands before the time where it is not the log's own.
- What one extraction adds is a section: a mark that names the session, the turns and the number of
  entries, and the entries below it. So a section is known again after a crash, and its entries have
  an origin.
- Others write here too, in the same form or in any other. An entry without a mark above it has no
  session, and nobody vouches for it: it counts as concluded by an agent, whatever it claims.
- A log is only added to. What was read up to some byte need not be read again.
"""

import re
from collections.abc import Iterator, Sequence
from datetime import date, datetime, time
from hashlib import blake2b
from typing import get_args

import msgspec

from memoryd.memories.rules.topics import TYPES, TopicType, Trust
from memoryd.text.shorten import one_line

_TYPES = "|".join(TYPES)
_MARK = re.compile(
    r"<!-- memoryd \S+ session=(?P<session>\S*) turns=(?P<turns>[0-9a-f,]*) entries=(?P<n>\d+) -->"
)
_ENTRY = re.compile(
    rf"[-*] (?:(?P<day>\d{{4}}-\d\d-\d\d) )?(?P<hour>\d\d?):(?P<minute>\d\d)"
    rf" \((?P<type>{_TYPES})(?:, (?P<trust>{'|'.join(get_args(Trust))}))?\) (?P<text>\S.*)"
)
_BULLET = re.compile(r"[-*]\s+")
_DRAFT = re.compile(
    rf"(?:\d\d?:\d\d\s+)?[\[(]?(?P<type>{_TYPES})[\])]?\s*:\s*(?P<text>\S.*)", re.IGNORECASE
)
_WHY = re.compile(r"\s(?:\*\*)?Why:(?:\*\*)?\s+")
_NOT_AN_ID = re.compile(r"[^\w.:-]")


class LogEntry(msgspec.Struct, frozen=True):
    """One thing worth keeping; `session_id` is empty where nobody vouches for it."""

    at: datetime
    type: TopicType
    trust: Trust
    text: str
    session_id: str = ""

    @property
    def why(self) -> str:
        """The reason that was given, if one was."""
        _, *reasons = _WHY.split(self.text, maxsplit=1)
        return reasons[0] if reasons else ""


class LogSection(msgspec.Struct, frozen=True):
    """What one extraction adds: entries from some turns of one session."""

    session_id: str
    turn_ids: tuple[str, ...]
    entries: tuple[LogEntry, ...]


def heading(day: date) -> str:
    return f"# {day.isoformat()}\n"


def rendered(section: LogSection, day: date, written: str) -> str:
    """The lines of a section in the log of a day."""
    session = _NOT_AN_ID.sub("-", section.session_id)
    turns = ",".join(map(turn_mark, section.turn_ids))
    mark = (
        f"<!-- memoryd {written} session={session} turns={turns} entries={len(section.entries)} -->"
    )
    return "\n".join([mark, *(_line(entry, day) for entry in section.entries)]) + "\n"


def turn_mark(turn_id: str) -> str:
    """What stands for a turn in a mark."""
    return blake2b(turn_id.encode("utf-8", "surrogatepass"), digest_size=6).hexdigest()


def turn_marks_in(text: str) -> frozenset[str]:
    """The turns that sections of this text were made from."""
    found = (match["turns"].split(",") for match in _marks(text))
    return frozenset(turn for turns in found for turn in turns)


def entries_in(text: str, day: date) -> list[LogEntry]:
    """Every line that is an entry, with the origin that a mark gives it."""
    found: list[LogEntry] = []
    session, vouched = "", 0
    for line in text.splitlines():
        if mark := _MARK.fullmatch(line.strip()):
            session, vouched = mark["session"], int(mark["n"])
            continue
        match = _ENTRY.fullmatch(line.strip())
        entry = _entry(match, day, session if vouched > 0 else "") if match else None
        # Whatever else stands in between, the lines of a section are over.
        vouched = vouched - 1 if entry else 0
        if entry:
            found.append(entry)
    return found


def drafts_in(text: str) -> list[tuple[TopicType, str]] | None:
    """The lines that somebody wants added, `- type: text`; None when one is something else."""
    found: list[tuple[TopicType, str]] = []
    for bullet in _bullets(text):
        match = _DRAFT.fullmatch(bullet)
        type_ = next((one for one in TYPES if match and one == match["type"].lower()), None)
        if match is None or type_ is None:
            return None
        found.append((type_, match["text"]))
    return found or None


def rule_of(text: str) -> str:
    """What an entry says, without the reason for it."""
    return _WHY.split(text, maxsplit=1)[0]


def _bullets(text: str) -> Iterator[str]:
    """The bullets of a text, each on one line; lines below one go on with it."""
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
