"""What a dream without a model changes, decided from the texts alone.

Only what can be done surely, so that a second dream right after changes nothing:

- Relative dates in `project` memories become dates, counted from the day their line was first seen.
  A line that is older than what is known of its memory, and younger than the memory, stays: nobody
  can tell its day. What stands in quotation marks or code is nobody's date.
- Memories that say the same become one. The richer keeps (what a person said before what an agent
  concluded, then the newer), lines that only the other has are added at its end, and it supersedes
  the other, which stays on disk and can be restored. Nothing is erased.
- A merge or a date is no new observation: a memory keeps the time of the newest it is made of.
- Index lines that grew too long are cut back to what their file's header says; links to a part of a
  file and what stands in fences or comments are a person's and stay. The order is only touched
  where the index does not fit any more and holds nothing but pointers, since it may be a person's;
  then the newest come first.
- What only a person or a model can mend (empty, too long, no type) is flagged.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Final, Literal

import msgspec

from memoryd.base.timestamps import local_time
from memoryd.dreams.rules.similarity import (
    ComparedMemory,
    Similarity,
    are_same,
    content_terms,
    meaning_of,
)
from memoryd.memories.rules import headers, index, topics
from memoryd.memories.rules.topics import RECALL_LIMIT_BYTES, Topic

if TYPE_CHECKING:
    from memoryd.text.dates import DateMention

Concern = Literal["empty", "too long for recall", "without a type", "index is cut"]

SURE_SECONDS: Final = 86_400.0
LONGEST_LINE: Final = index.HOOK_LINE_CHARACTERS + 20

_QUOTED = re.compile(r"```.*?(?:```|\Z)|`[^`\n]*`|\"[^\"\n]*\"|“[^”\n]*”", re.DOTALL)
_LETTER = re.compile(r"[^\n]")


class Past(msgspec.Struct, frozen=True):
    """What a file said at some time."""

    at: float
    text: str


class BelievedMemory(msgspec.Struct, frozen=True):
    """A memory that is believed now; `past` holds its versions, oldest first, as far as known."""

    file: str
    text: str
    modified: float
    past: tuple[Past, ...] = ()

    @property
    def topic(self) -> Topic:
        return topics.parse(self.text)


class Flag(msgspec.Struct, frozen=True):
    file: str
    concern: Concern


def plan(
    notes: Iterable[BelievedMemory], similarity: Similarity | None = None
) -> list[BelievedMemory]:
    """The new texts of what a dream changes among these memories, none of which is retired."""
    old, dated = {}, []
    for note in notes:
        old[note.file] = note.text
        dated.append(with_dates(note))
    kept = merge_all(dated, similarity)
    return [note for note in kept if note.text != old[note.file]]


# --- dates --------------------------------------------------------------------------------------


def with_dates(note: BelievedMemory) -> BelievedMemory:
    """The note with its relative dates made absolute, if it is of a type that has them."""
    topic = note.topic
    if topic.type != "project":
        return note
    text = _dated(note.text, note, from_=_body_start(note.text))
    description = _dated(topic.description, note)
    if description != topic.description:
        text = headers.change(text, {"description": description})
    return msgspec.structs.replace(note, text=text)


def _dates_in(text: str, said_at: datetime) -> "list[DateMention]":
    from memoryd.text.dates import dates_in  # noqa: PLC0415 - its patterns take a while

    return dates_in(text, said_at)


def has_relative_dates(text: str) -> bool:
    return bool(_dates_in(_without_quoted(text), datetime(2000, 1, 1)))  # noqa: DTZ001 - any day does


def _dated(text: str, note: BelievedMemory, from_: int = 0) -> str:
    lines = text[from_:].split("\n")
    hidden = _without_quoted(text[from_:]).split("\n")
    return text[:from_] + "\n".join(map(_dated_line, lines, hidden, [note] * len(lines)))


def _dated_line(line: str, hidden: str, note: BelievedMemory) -> str:
    said_at = _said_at(line, note)
    pieces, position = [], 0
    for mention in _dates_in(hidden, said_at) if said_at is not None else []:
        pieces += [line[position : mention.start], mention.iso]
        position = mention.end
    return "".join([*pieces, line[position:]])


def _said_at(line: str, note: BelievedMemory) -> datetime | None:
    """The day from which a line counts: when it was first there, or when the memory was made."""
    first = next((n for n, past in enumerate(note.past) if line in past.text), 0)
    if first > 0:
        return _moment(note.past[first].at)
    earliest = min([note.modified, *(past.at for past in note.past[:1])])
    created = local_time(note.topic.created)
    if created is None:
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
    notes: Sequence[BelievedMemory], similarity: Similarity | None
) -> list[BelievedMemory]:
    """The notes that are left when all that say the same are one.

    One that took something in may now fit a third: it goes on until nothing fits any more.
    """
    left = {note.file: note for note in notes}
    readings = {
        note.file: ComparedMemory(note.file, note.topic) for note in notes if note.topic.type
    }
    is_settled = False
    while not is_settled:
        is_settled = True
        for one, other in _candidates(list(readings.values())):
            is_fresh = readings.get(one.file) is one and readings.get(other.file) is other
            if not is_fresh or not are_same(one, other, similarity):
                continue
            keeper, retired = _in_order_of_worth(left[one.file], left[other.file])
            if (united := unite(keeper, retired)) is None:
                continue
            is_settled = False
            left[keeper.file] = united
            readings[keeper.file] = ComparedMemory(keeper.file, united.topic)
            del left[retired.file], readings[retired.file]
    return list(left.values())


def _candidates(readings: Sequence[ComparedMemory]) -> list[tuple[ComparedMemory, ComparedMemory]]:
    """Pairs that share the rarest term of one of them, or have the same body: all that can fit."""
    by_term: dict[str, list[ComparedMemory]] = defaultdict(list)
    by_body: dict[str, list[ComparedMemory]] = defaultdict(list)
    for reading in readings:
        by_body[reading.bare].append(reading)
        for term in reading.terms:
            by_term[term].append(reading)
    pairs: dict[tuple[str, str], tuple[ComparedMemory, ComparedMemory]] = {}
    for reading in readings:
        rarest = min((by_term[term] for term in reading.terms), key=len, default=[])
        for other in (*by_body[reading.bare], *rarest):
            one, two = sorted((reading, other), key=lambda each: each.file)
            if one.file != two.file:
                pairs[one.file, two.file] = (one, two)
    return [pairs[key] for key in sorted(pairs)]


def _in_order_of_worth(
    one: BelievedMemory, other: BelievedMemory
) -> tuple[BelievedMemory, BelievedMemory]:
    def worth(note: BelievedMemory) -> tuple[bool, int, float, str]:
        topic = note.topic
        return topic.trust == "user-said", len(content_terms(topic.body)), note.modified, note.file

    return (one, other) if worth(one) > worth(other) else (other, one)


def unite(keeper: BelievedMemory, other: BelievedMemory) -> BelievedMemory | None:
    """The keeper with what only the other says; None where the header has no room for that."""
    missing = _lines_missing(keeper.topic.body, other.topic.body)
    if missing and keeper.topic.trust != other.topic.trust:
        return None  # what an agent concluded must not pass for what a person said
    # What the other took in a moment ago is only in its new text, which nobody will write.
    supersedes = (*keeper.topic.supersedes, other.file, *other.topic.supersedes)
    supersedes = tuple(dict.fromkeys(supersedes))
    text = headers.change(keeper.text, {"supersedes": ", ".join(supersedes)})
    if missing:
        text = text.rstrip("\n") + "\n\n" + missing + "\n"
    after = topics.parse(text)
    if (after.supersedes, after.name, after.type) != (
        supersedes,
        keeper.topic.name,
        keeper.topic.type,
    ):
        return None
    return BelievedMemory(keeper.file, text, max(keeper.modified, other.modified), keeper.past)


def _lines_missing(body: str, other: str) -> str:
    known = {meaning_of(line) for line in body.splitlines()} | {meaning_of("")}
    lines = [line.rstrip() for line in other.strip().splitlines()]
    missing = [line for line in lines if meaning_of(line) not in known]
    return other.strip() if missing and "```" in other else "\n".join(missing)


# --- index and flags ----------------------------------------------------------------------------


def tidy_index(text: str, pointers: Mapping[str, str], newest_first: Sequence[str]) -> str:
    """The index with its long lines cut, and in order where it has to be; it is true already."""
    lines = text.split("\n")
    whole = index.whole_pointers(lines)
    for at, file in whole.items():
        own = pointers.get(file, lines[at])
        if len(lines[at]) > LONGEST_LINE and len(own) < len(lines[at]):
            lines[at] = own
    tidied = "\n".join(lines)
    holds_more = any(line for at, line in enumerate(lines) if at not in whole)
    if not index.loaded(tidied).is_cut or holds_more or set(whole.values()) != set(newest_first):
        return tidied
    place = {file: number for number, file in enumerate(newest_first)}
    ours = sorted(whole, key=lambda at: place[whole[at]])
    return "\n".join(lines[at] for at in ours) + "\n"


def flags(notes: Sequence[BelievedMemory], index_text: str) -> tuple[Flag, ...]:
    found = [Flag(topics.INDEX_FILE, "index is cut")] if index.loaded(index_text).is_cut else []
    for note in notes:
        topic = note.topic
        if not topic.body.strip():
            found.append(Flag(note.file, "empty"))
        elif len(topic.body.encode("utf-8", "replace")) > RECALL_LIMIT_BYTES:
            found.append(Flag(note.file, "too long for recall"))
        if topic.type is None:
            found.append(Flag(note.file, "without a type"))
    return tuple(found)
