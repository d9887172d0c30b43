"""Recall: the few memories that matter for a query, within their budgets, in about a millisecond.

The ranking answers by itself. Where there is a model, it may choose in its place, but only until
the deadline: nobody waits. What a session was given is not given again until it is compacted.
"""

import time
from collections.abc import Callable, Sequence
from typing import Final, Literal

import anyio.to_thread
import msgspec
import structlog

from memoryd.base import paths
from memoryd.base.paths import Places
from memoryd.base.timestamps import moment
from memoryd.memories.records import MemoryChanged, MemoryDirectory
from memoryd.memories.rules import topics
from memoryd.memories.rules.topics import MANIFEST_LIMIT
from memoryd.memories.scopes import Project, Scopes
from memoryd.memories.store import Store
from memoryd.recall.embeddings import Embeddings
from memoryd.recall.rules import rendering as recall_text
from memoryd.recall.rules import search as ranking
from memoryd.recall.rules.index import Index
from memoryd.recall.rules.query import RecallQuery
from memoryd.recall.rules.rendering import Recalled
from memoryd.recall.rules.search import Hit
from memoryd.recall.selector import MOST_CHOSEN, ModelSelector
from memoryd.recall.shelf import Row, Shelf, document_of, row_of, shown_topic
from memoryd.recall.shelves import Shelves
from memoryd.recall.surfaced import Surfaced
from memoryd.system.background import Soon

MOST_MEMORIES: Final = 50
QUERY_CHARACTERS: Final = 8_000
SMALL_TALK_CHARACTERS: Final = 40

log = structlog.get_logger(__name__)


class MatchReason(msgspec.Struct, frozen=True):
    """Why a memory is in the answer: which words counted how much, and how much its meaning."""

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


class Recall:
    def __init__(
        self,
        *,
        places: Places,
        scopes: Scopes,
        store: Store,
        surfaced: Surfaced,
        meaning: Embeddings,
        selector: ModelSelector | None,
        limit: int,
        deadline_ms: float,
        soon: Soon,
        now: Callable[[], float],
    ) -> None:
        self._places = places
        self._scopes = scopes
        self._store = store
        self._surfaced = surfaced
        self._meaning = meaning
        self._selector = selector
        self._limit = limit
        self._deadline_ms = deadline_ms
        self._now = now
        self._shelves = Shelves(store, meaning, soon)

    async def answer(self, asked: RecallQuery) -> RecallAnswer:
        began = time.perf_counter()
        session_id = asked.session_id or ""
        project = await self._scopes.find(asked.cwd)
        given = await self._surfaced.of(session_id)
        spent = sum(given.values())
        if not project.switch.enabled:
            return self._answered([], [], "embedded", began, spent)
        if asked.as_of is not None:
            return await self._answer_then(asked, moment(asked.as_of), project, began)
        shelves = await self._on_hand(asked, project)
        hits, chosen_by = await self._chosen(asked, project, shelves, set(given))
        found = [one for hit in hits if (one := await self._recalled(hit, shelves))]
        served = recall_text.within_budgets(found, spent)
        self._surfaced.add(session_id, served.sizes)
        left_out = [LeftOut(path, budget) for path, budget in served.left_out]
        total = spent + sum(served.sizes.values()) if session_id else 0
        answer = self._answered(served.memories, hits, chosen_by, began, total, left_out)
        log.info(
            "recall",
            memories=len(answer.memories),
            selector=chosen_by,
            ms=answer.elapsed_ms,
            session_id=session_id,
        )
        return answer

    @property
    def problems(self) -> list[str]:
        return self._meaning.problems

    @property
    def asks_a_model(self) -> bool:
        return self._selector is not None

    def is_asked_something(self, query: str) -> bool:
        """Whether a text says enough to be about a memory; a few microseconds for a short one."""
        return len(query) > SMALL_TALK_CHARACTERS or self._meaning.is_telling(query)

    async def warm(self, cwd: str) -> None:
        """Builds what a session in this directory will soon ask for."""
        await self._shelves.get((await self._scopes.find(cwd)).directories)

    def changed(self, change: MemoryChanged) -> None:
        """A file came, changed or went; the next answer knows."""
        self._shelves.update_soon(change.directory, change.file)

    async def _on_hand(self, asked: RecallQuery, project: Project) -> list[Shelf]:
        """The shelves to search. With a deadline, those that are built by then."""
        wanted = [*project.directories, *self._agent_directories(asked.agent or "", project)]
        if asked.deadline_ms is None:
            return await self._shelves.get(wanted)
        return await self._shelves.get_within(wanted, asked.deadline_ms / 1000)

    def _agent_directories(self, agent: str, project: Project) -> list[MemoryDirectory]:
        if not agent:
            return []
        scopes: tuple[paths.AgentScope, ...] = ("user", "project", "local")
        return [
            MemoryDirectory(
                paths.agent_memory(self._places, project.root, agent, scope),
                "agent",
                beneath=None if scope == "user" else project.root,
            )
            for scope in scopes
        ]

    async def _chosen(
        self, asked: RecallQuery, project: Project, shelves: Sequence[Shelf], excluded: set[str]
    ) -> tuple[list[Hit], Literal["model", "embedded"]]:
        today = topics.iso_time(self._now())[:10]
        for shelf in shelves:
            excluded |= shelf.retired(today)
        query = asked.query[:QUERY_CHARACTERS]
        question = await self._question(query)
        parts = [shelf.index for shelf in shelves]
        limit = max(1, min(asked.limit or self._limit, MOST_MEMORIES))
        if self._selector is not None and any(shelf.rows for shelf in shelves):
            best = ranking.search(
                parts, question, limit=MANIFEST_LIMIT // 2, now=self._now(), excluded=excluded
            )
            chosen = await self._by_model(self._selector, asked, project, shelves, best, excluded)
            if chosen is not None:
                return chosen[:limit], "model"
        hits = ranking.search(parts, question, limit=limit, now=self._now(), excluded=excluded)
        return hits, "embedded"

    async def _question(self, query: str) -> ranking.Question:
        if self._meaning.encoder is None:
            return self._meaning.question(query)
        return await anyio.to_thread.run_sync(self._meaning.question, query)

    async def _by_model(
        self,
        selector: ModelSelector,
        asked: RecallQuery,
        project: Project,
        shelves: Sequence[Shelf],
        best: Sequence[Hit],
        excluded: set[str],
    ) -> list[Hit] | None:
        rows = {key: row for shelf in shelves for key, row in shelf.rows.items()}
        candidates = _candidates(rows, best, excluded)
        names = {_listed_name(row): key for key, row in candidates.items()}
        deadline = asked.deadline_ms if asked.deadline_ms is not None else self._deadline_ms
        chosen = await selector.choose(
            asked.query[:QUERY_CHARACTERS],
            [
                topics.manifest_line(name, rows[key].topic, rows[key].modified)
                for name, key in names.items()
            ],
            recent_tools=asked.recent_tools or (),
            session_id=asked.session_id or "",
            project=project.root,
            deadline_seconds=deadline / 1000,
        )
        if chosen is None:
            return None
        scores = {hit.key: hit for hit in best}
        known = [names[name] for name in chosen if name in names][:MOST_CHOSEN]
        return [scores.get(key) or Hit(key, 0.0, 0.0, 0.0, ()) for key in known]

    async def _answer_then(
        self, asked: RecallQuery, at: float, project: Project, began: float
    ) -> RecallAnswer:
        """What would have been answered from what was believed at that moment, by words alone."""
        limit = max(1, min(asked.limit or self._limit, MOST_MEMORIES))
        hits, rows = await anyio.to_thread.run_sync(
            self._found_then, asked.query[:QUERY_CHARACTERS], project, at, limit
        )
        found = [self._shown(hit, rows[hit.key]) for hit in hits]
        return self._answered(found, hits, "embedded", began, 0)

    def _found_then(
        self, query: str, project: Project, at: float, limit: int
    ) -> tuple[list[Hit], dict[str, Row]]:
        index, rows = Index(), {}
        for directory in project.directories:
            retired = {one.file for one in self._store.scan_at(directory, at) if one.retired}
            for one in self._store.read_all_at(directory, at):
                if one.file not in retired:
                    topic = shown_topic(one)
                    index.put(document_of(one, topic))
                    rows[one.path] = row_of(one, topic)
        return ranking.search([index], ranking.Question(query), limit=limit, now=at), rows

    async def _recalled(self, hit: Hit, shelves: Sequence[Shelf]) -> Recalled | None:
        """The memory as it is on disk now; None when it is gone."""
        for shelf in shelves:
            if hit.key in shelf.rows:
                row = await self._shelves.fresh_row(shelf, hit.key)
                return None if row is None else self._shown(hit, row)
        return None

    def _shown(self, hit: Hit, row: Row) -> Recalled:
        return Recalled(
            path=row.path,
            name=topics.title_of(row.topic, row.file),
            description=row.topic.description,
            type=row.topic.type,
            scope=row.directory.scope,
            score=round(hit.score, 4),
            age=topics.age_in_words(row.modified, self._now()),
            stale=topics.is_stale(row.modified, self._now()),
            content=row.content,
            truncated=row.truncated,
            modified=row.modified,
            trust=row.topic.trust if row.topic.trust in topics.TRUSTS else "",
        )

    def _answered(
        self,
        memories: list[Recalled],
        hits: Sequence[Hit],
        selector: Literal["model", "embedded"],
        began: float,
        session_bytes: int,
        left_out: list[LeftOut] | None = None,
    ) -> RecallAnswer:
        why = [
            MatchReason(
                hit.key,
                round(hit.words, 4),
                round(hit.meaning, 4),
                {share.term: round(share.share, 4) for share in hit.terms},
            )
            for hit in hits
        ]
        return RecallAnswer(
            memories=memories,
            text=recall_text.text_of(memories, self._now()),
            selector=selector,
            elapsed_ms=round((time.perf_counter() - began) * 1000, 3),
            session_bytes=session_bytes,
            why=why,
            left_out=left_out or [],
        )


def _candidates(rows: dict[str, Row], best: Sequence[Hit], excluded: set[str]) -> dict[str, Row]:
    """All memories when a manifest holds them, else the best and then the newest."""
    open_ = {key: row for key, row in rows.items() if key not in excluded}
    newest = sorted(open_, key=lambda key: -open_[key].modified)
    if len(open_) > MANIFEST_LIMIT:
        ranked = [hit.key for hit in best if hit.key in open_]
        newest = list(dict.fromkeys([*ranked, *newest]))[:MANIFEST_LIMIT]
    return {key: open_[key] for key in newest}


def _listed_name(row: Row) -> str:
    """The file's name, which a model can repeat; with its scope where that is not the project's."""
    return row.file if row.directory.scope == "project" else f"{row.directory.scope}/{row.file}"
