"""What recall answers: the memories, why each is among them, and what did not fit."""

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

import msgspec

from memoryd.base.timestamps import iso_time
from memoryd.memories.rules import expiry, topics
from memoryd.recall.rules import rendering as recall_text
from memoryd.recall.rules.rendering import Recalled

if TYPE_CHECKING:
    from memoryd.recall.rules.search import Hit  # numpy loads slowly
    from memoryd.recall.shelf import Row


class MatchReason(msgspec.Struct, frozen=True):
    """Why a memory is in the answer: how much each word counted, and how much its meaning."""

    path: str
    words: float
    meaning: float
    terms: dict[str, float]


class LeftOut(msgspec.Struct, frozen=True):
    path: str
    budget: str


class RecallAnswer(msgspec.Struct, frozen=True, kw_only=True):
    memories: list[Recalled]
    text: str
    selector: Literal["model", "embedded"]
    elapsed_ms: float
    session_bytes: int
    why: list[MatchReason]
    left_out: list[LeftOut]


def shown(hit: "Hit", row: "Row", now: float) -> Recalled:
    """A memory as it is shown at this moment."""
    until = row.topic.valid_until
    return Recalled(
        path=row.path,
        name=topics.title_of(row.topic, row.file),
        description=row.topic.description,
        type=row.topic.type,
        scope=row.directory.scope,
        score=round(hit.score, 4),
        age=topics.age_in_words(row.modified, now),
        stale=topics.is_stale(row.modified, now),
        content=row.content,
        truncated=row.truncated,
        modified=row.modified,
        trust=row.topic.trust if row.topic.trust in topics.SHOWN_TRUSTS else "",
        author=row.topic.author,
        ended=until if until and expiry.has_ended(row.topic, iso_time(now)[:10]) else "",
        gone=row.topic.gone,
    )


def answer_of(
    memories: list[Recalled],
    hits: "Sequence[Hit]",
    selector: Literal["model", "embedded"],
    began: float,
    session_bytes: int,
    left_out: list[LeftOut] | None = None,
) -> RecallAnswer:
    """The whole answer; `began` is when the query came, by `time.perf_counter`."""
    why = [
        MatchReason(
            hit.key,
            round(hit.words, 4),
            round(hit.meaning, 4),
            {term: round(share, 4) for term, share in hit.terms.items()},
        )
        for hit in hits
    ]
    return RecallAnswer(
        memories=memories,
        text=recall_text.text_of(memories),
        selector=selector,
        elapsed_ms=round((time.perf_counter() - began) * 1000, 3),
        session_bytes=session_bytes,
        why=why,
        left_out=left_out or [],
    )
