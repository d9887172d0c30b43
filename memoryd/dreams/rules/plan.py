"""What a dream without a model changes, decided from the texts alone.

Only changes that are certain, so that a second dream right after the first changes nothing:

- Relative dates in `project` memories become dates, counted from the day their line first appeared.
  A line older than the known versions of its memory, and younger than the memory, stays: its day
  is unknown. Quoted text and code stay as well.
- Memories that say the same are merged. The richer one is kept (what a person said before what an
  agent concluded, then the newer), gets the lines that only the other has, and supersedes the
  other, which is moved to `.retired/` and can be restored. Nothing is deleted.
- A merge or a date is not a new observation: a memory keeps the time of its newest source.
- What only a person or a model can fix (empty, too long, no type) is flagged.
"""

import re
from collections.abc import Iterable, Sequence
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING, Final, Literal

import msgspec

from memoryd.base.pacing import Pace, at_once
from memoryd.base.remembered import remembered
from memoryd.dreams.rules.near_memories import NearMemories
from memoryd.dreams.rules.similarity import (
    ComparedMemory,
    Similarity,
    are_same,
    content_terms,
    meaning_of,
)
from memoryd.extraction.rules.restatement import core_of
from memoryd.memories.rules import headers, index, topics
from memoryd.memories.rules.topics import RECALL_LIMIT_BYTES, Topic
from memoryd.text.lazy_regex import late

if TYPE_CHECKING:
    from memoryd.text.dates import DateMention

Concern = Literal[
    "empty", "too long for recall", "without a type", "index is cut", "due for review"
]

SURE_SECONDS: Final = 86_400.0
_REMEMBERED_TEXTS: Final = 8192

_QUOTED = late(r"```.*?(?:```|\Z)|`[^`\n]*`|\"[^\"\n]*\"|“[^”\n]*”", re.DOTALL)
_LETTER = late(r"[^\n]")


topic_of = remembered(_REMEMBERED_TEXTS)(topics.parse)
"""A dream asks for the same texts again when it writes, reviews and applies."""


class PastText(msgspec.Struct, frozen=True):
    """The text of a file at an earlier time."""

    at: float
    text: str


class BelievedMemory(msgspec.Struct, frozen=True, dict=True):
    """A memory that is not retired; `past` holds its known versions, oldest first."""

    file: str
    text: str
    modified: float
    past: tuple[PastText, ...] = ()

    @cached_property
    def topic(self) -> Topic:
        return topic_of(self.text)

    @cached_property
    def core(self) -> str:
        """What it says, on one line."""
        return core_of(self.topic.body)


class Flag(msgspec.Struct, frozen=True):
    file: str
    concern: Concern


def merges(
    memories: Iterable[BelievedMemory],
    similarity: Similarity | None = None,
    pace: Pace = at_once,
) -> list[BelievedMemory]:
    """The memories that get others merged into them, with their new texts."""
    old = {memory.file: memory for memory in memories}
    kept = merge_all(list(old.values()), similarity, pace)
    return [memory for memory in kept if memory.text != old[memory.file].text]


# --- dates --------------------------------------------------------------------------------------


def with_dates(memory: BelievedMemory) -> BelievedMemory:
    """A project memory with its relative dates made absolute; others as they are."""
    topic = memory.topic
    if topic.type != "project":
        return memory
    text = _dated(memory.text, memory, from_=_body_start(memory.text))
    description = _dated(topic.description, memory)
    if description != topic.description:
        text = headers.change(text, {"description": description})
    return msgspec.structs.replace(memory, text=text)


def _dates_in(text: str, said_at: datetime) -> "list[DateMention]":
    from memoryd.text.dates import dates_in  # noqa: PLC0415 - its patterns take a while

    return dates_in(text, said_at)


def has_relative_dates(memory: BelievedMemory) -> bool:
    from memoryd.text.dates import has_dates  # noqa: PLC0415 - its patterns take a while

    text = f"{memory.topic.description}\n\n{memory.topic.body}"
    return has_dates(_without_quoted(text), datetime(2000, 1, 1))  # noqa: DTZ001 - any day does


def _dated(text: str, memory: BelievedMemory, from_: int = 0) -> str:
    lines = text[from_:].split("\n")
    hidden = _without_quoted(text[from_:]).split("\n")
    return text[:from_] + "\n".join(map(_dated_line, lines, hidden, [memory] * len(lines)))


def _dated_line(line: str, hidden: str, memory: BelievedMemory) -> str:
    said_at = _said_at(line, memory)
    pieces, position = [], 0
    for mention in _dates_in(hidden, said_at) if said_at is not None else []:
        pieces += [line[position : mention.start], mention.iso]
        position = mention.end
    return "".join([*pieces, line[position:]])


def _said_at(line: str, memory: BelievedMemory) -> datetime | None:
    """When a line first appeared, or the memory was created; None if unknown."""
    first = next((n for n, past in enumerate(memory.past) if line in past.text), 0)
    if first > 0:
        return _moment(memory.past[first].at)
    earliest = min([memory.modified, *(past.at for past in memory.past[:1])])
    try:
        created = datetime.fromisoformat(memory.topic.created).astimezone()
    except ValueError:
        return _moment(earliest)
    return created if abs(earliest - created.timestamp()) <= SURE_SECONDS else None


def _moment(at: float) -> datetime:
    return datetime.fromtimestamp(at).astimezone()


def _without_quoted(text: str) -> str:
    return _QUOTED.sub(lambda hit: _LETTER.sub("¤", hit[0]), text)


def _body_start(text: str) -> int:
    parts = headers.sections(text)
    if parts.block is None:
        return 0
    closing = parts.rest.partition("\n")[0]
    return len(parts.before) + len(parts.block) + len(closing)


# --- merging ------------------------------------------------------------------------------------


def merge_all(
    memories: Sequence[BelievedMemory], similarity: Similarity | None, pace: Pace = at_once
) -> list[BelievedMemory]:
    """The memories that remain when all that say the same are merged.

    A merged memory may match a third one, so those are compared again until nothing matches.
    """
    left = {memory.file: memory for memory in memories}
    compared = {
        memory.file: ComparedMemory(memory.file, memory.topic)
        for memory in pace(memories)
        if memory.topic.type
    }
    near = NearMemories(pace(compared.values()))
    pairs = near.pairs(pace)
    while pairs:
        merged: list[ComparedMemory] = []
        for one, other in pace(pairs):
            is_current = compared.get(one.file) is one and compared.get(other.file) is other
            if not is_current or not are_same(one, other, similarity):
                continue
            saver, retired = _richer_first(left[one.file], left[other.file])
            if (united := unite(saver, retired)) is None:
                continue
            left[saver.file] = united
            compared[saver.file] = ComparedMemory(saver.file, united.topic)
            del left[retired.file], compared[retired.file]
            merged.append(compared[saver.file])
        news = [one for one in merged if compared.get(one.file) is one]
        pairs = near.pairs_with(news, compared, pace) if news else []
    return list(left.values())


def _richer_first(
    one: BelievedMemory, other: BelievedMemory
) -> tuple[BelievedMemory, BelievedMemory]:
    def worth(memory: BelievedMemory) -> tuple[bool, int, float, str]:
        topic = memory.topic
        return (
            topic.trust == "user-said",
            len(content_terms(topic.body)),
            memory.modified,
            memory.file,
        )

    return (one, other) if worth(one) > worth(other) else (other, one)


def unite(saver: BelievedMemory, other: BelievedMemory) -> BelievedMemory | None:
    """The saver with the lines that only the other has; None if they must not be merged."""
    missing = _lines_missing(saver.topic.body, other.topic.body)
    if missing and saver.topic.trust != other.topic.trust:
        return None  # an agent's conclusions must not look like a person's words
    # What the other superseded a moment ago is only in its new text, which is never written.
    supersedes = (*saver.topic.supersedes, other.file, *other.topic.supersedes)
    supersedes = tuple(dict.fromkeys(supersedes))
    text = headers.change(saver.text, {"supersedes": ", ".join(supersedes)})
    if missing:
        text = text.rstrip("\n") + "\n\n" + missing + "\n"
    after = topic_of(text)
    if (after.supersedes, after.name, after.type) != (
        supersedes,
        saver.topic.name,
        saver.topic.type,
    ):
        return None
    return BelievedMemory(saver.file, text, max(saver.modified, other.modified), saver.past)


def _lines_missing(body: str, other: str) -> str:
    known = {meaning_of(line) for line in body.splitlines()} | {meaning_of("")}
    lines = [line.rstrip() for line in other.strip().splitlines()]
    missing = [line for line in lines if meaning_of(line) not in known]
    return other.strip() if missing and "```" in other else "\n".join(missing)


# --- flags --------------------------------------------------------------------------------------


def flags(memories: Sequence[BelievedMemory], index_text: str) -> tuple[Flag, ...]:
    found = [Flag(topics.INDEX_FILE, "index is cut")] if index.loaded(index_text).is_cut else []
    for memory in memories:
        topic = memory.topic
        if not topic.body.strip():
            found.append(Flag(memory.file, "empty"))
        elif len(topic.body.encode("utf-8", "replace")) > RECALL_LIMIT_BYTES:
            found.append(Flag(memory.file, "too long for recall"))
        if topic.type is None:
            found.append(Flag(memory.file, "without a type"))
    return tuple(found)
