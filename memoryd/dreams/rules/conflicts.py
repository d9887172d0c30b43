"""Which memories contradict each other, without a model: the sure cases, and what to ask about.

Rules
- Surely: opposite orders on one subject, another value in the same place, "no longer"; how that is
  told is in `contradiction`, as for what a person says just now.
- The newer word of the person wins over an older one, and over an agent's. An agent's newer one
  never wins over a person's: that is a question, and so is whatever fits only in part.
- A number that says which one is meant is not a value: "the part 4", "ticket 4", "phase 4".
- What ends something must fit one memory alone, with every word that counts; if it fits several, or
  in part, each is a question.
- Only short memories are compared: a longer one says more than one thing.
- Pairs come from an index of rare words, so that the work grows with the store, not its square.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from datetime import datetime
from functools import cached_property
from typing import Final

import msgspec

from memoryd.base.pacing import Pace, at_once
from memoryd.base.timestamps import seconds_of
from memoryd.dreams.rules.plan import BelievedMemory
from memoryd.extraction.rules.contradiction import Verdict, content_of, verdict_on
from memoryd.extraction.rules.corrections import Correction, correction_in
from memoryd.memories.rules import headers
from memoryd.memories.rules.expiry import end_of
from memoryd.text.lazy_regex import late
from memoryd.text.prose import matchable

LONGEST_CORE: Final = 300
RARE_TERMS: Final = 3
MOST_WITH_A_TERM: Final = 60
LEAST_SHARED: Final = 0.4


_NUMBERED: Final = late(
    r"\b(?:(?:the|our|this|that) (?P<noun>[a-z-]{3,})|(?P<kind>ticket|issue|bug|pr|step|phase|stage"
    r"|test|case|page|shard|room|floor|part|team|sprint|milestone|chapter|rule|item|task|story|epic|batch"
    r"|worker|slot|level|tier|region|zone|build|job|customer|tenant|site)s?) #?(?P<number>\d+)\b"
)


class Conflict(msgspec.Struct, frozen=True):
    """`new` takes the place of `old`: surely, or a person is asked."""

    old: str
    new: str
    is_sure: bool


class _Compared(msgspec.Struct, frozen=True, dict=True):
    file: str
    core: str
    plain: str
    terms: frozenset[str]
    numbered: frozenset[str]
    at: float
    is_persons: bool

    @cached_property
    def correction(self) -> Correction | None:
        return correction_in(self.plain)


def conflicts(
    memories: Sequence[BelievedMemory], touched_since: float = 0.0, pace: Pace = at_once
) -> list[Conflict]:
    """What is to be retired or asked; questions only about what changed since the last dream."""
    compared = [one for memory in pace(memories) if (one := _compared(memory)) is not None]
    touched = {one.file for one in memories if one.modified > touched_since}
    found: dict[str, list[tuple[_Compared, Verdict]]] = defaultdict(list)
    for newer, older in _pairs(compared, pace):
        verdict = verdict_on(newer.core, older.core, newer.correction, is_stated=True)
        if verdict == "sure" and not _is_beyond_doubt(newer, older):
            verdict = "unsure"
        if verdict != "none":
            found[newer.file].append((older, verdict))
    by_file = {one.file: one for one in compared}
    settled: list[Conflict] = []
    gone: set[str] = set()
    for file in sorted(found, key=lambda file: (-by_file[file].at, file)):
        for conflict in _judged(by_file[file], found[file]):
            is_news = not touched.isdisjoint({conflict.old, conflict.new})
            if conflict.old in gone or file in gone or not (conflict.is_sure or is_news):
                continue
            if conflict.is_sure:
                gone.add(conflict.old)
            settled.append(conflict)
    return settled


def with_end(memory: BelievedMemory) -> BelievedMemory:
    """The memory with the day on which it ends, if its statement says one."""
    topic = memory.topic
    if topic.type != "project" or topic.valid_until:
        return memory
    written = seconds_of(topic.created) or memory.modified
    end = end_of(memory.core, datetime.fromtimestamp(written).astimezone().date())
    if not end:
        return memory
    return msgspec.structs.replace(memory, text=headers.change(memory.text, {"valid_until": end}))


def superseding(new: BelievedMemory, old: Sequence[str]) -> BelievedMemory:
    """The newer memory, which says what it replaced."""
    names = tuple(dict.fromkeys((*new.topic.supersedes, *old)))
    text = headers.change(new.text, {"supersedes": ", ".join(names)})
    return msgspec.structs.replace(new, text=text)


def _is_beyond_doubt(newer: _Compared, older: _Compared) -> bool:
    """A dream asks nobody: an agent's word, or a missing word, is only a question."""
    if older.is_persons and not newer.is_persons:
        return False
    correction = newer.correction
    if correction is None or correction.kind not in {"ends", "forgets"}:
        return True
    return content_of(correction.about) <= older.terms


def _judged(newer: _Compared, against: Sequence[tuple[_Compared, Verdict]]) -> Iterator[Conflict]:
    sure = [older for older, verdict in against if verdict == "sure"]
    ends = newer.correction is not None and newer.correction.kind in {"ends", "forgets"}
    is_clear = len(sure) == 1 or not ends
    for older, verdict in against:
        yield Conflict(older.file, newer.file, verdict == "sure" and is_clear)


def _compared(memory: BelievedMemory) -> _Compared | None:
    topic, core = memory.topic, memory.core
    if not core or len(core) > LONGEST_CORE or not topic.type:
        return None
    plain = matchable(core)
    return _Compared(
        file=memory.file,
        core=core,
        plain=plain,
        terms=content_of(plain),
        numbered=frozenset(hit["number"] for hit in _NUMBERED.finditer(plain)),
        at=seconds_of(topic.created) or memory.modified,
        is_persons=topic.trust == "user-said",
    )


def _pairs(compared: Sequence[_Compared], pace: Pace) -> Iterator[tuple[_Compared, _Compared]]:
    """Pairs, newer first, that share a rare word and enough others."""
    by_age = sorted(compared, key=lambda one: (one.at, one.file))
    age_of = {one.file: age for age, one in enumerate(by_age)}
    by_term: dict[str, list[int]] = defaultdict(list)
    for one in compared:
        age = age_of[one.file]
        for term in one.terms:
            by_term[term].append(age)
    seen: set[tuple[int, int]] = set()
    for one in pace(compared):
        age = age_of[one.file]
        rare = sorted([(len(by_term[term]), term) for term in one.terms])[:RARE_TERMS]
        for count, term in rare:
            for other in by_term[term] if count <= MOST_WITH_A_TERM else ():
                pair = (age, other) if age > other else (other, age)
                if age != other and pair not in seen:
                    seen.add(pair)
                    newer, older = by_age[pair[0]], by_age[pair[1]]
                    if _may_conflict(newer, older):
                        yield newer, older


def _may_conflict(newer: _Compared, older: _Compared) -> bool:
    if newer.at <= older.at or newer.numbered != older.numbered:
        return False
    shared = len(newer.terms & older.terms)
    return shared >= LEAST_SHARED * min(len(newer.terms), len(older.terms))
