"""Recall: the few memories that matter for a query, within their budgets, in about a millisecond.

The ranking answers by itself. If there is a model, it may choose instead, but only until the
deadline. What a session was given is not given again until it is compacted.
"""

import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Final, Literal

import anyio.to_thread
import msgspec

from memoryd.base.errors import MemorydError
from memoryd.base.paths import Places
from memoryd.base.timestamps import iso_time, moment
from memoryd.memories.agents import agent_directories
from memoryd.memories.kept_files import KeptFiles
from memoryd.memories.records import MemoryChanged, MemoryDirectory, MemoryTrusted
from memoryd.memories.rules import expiry, topics
from memoryd.memories.rules.topics import INDEX_FILE, MANIFEST_LIMIT
from memoryd.memories.scopes import Project, Scopes
from memoryd.memories.store import Store
from memoryd.recall.calibration import Calibration
from memoryd.recall.candidates import candidates_of, listed_name
from memoryd.recall.embeddings import Embeddings
from memoryd.recall.indexer import Indexer
from memoryd.recall.keeping import ShelfKeeper
from memoryd.recall.kept_shelf import maker_of
from memoryd.recall.known import SessionHas
from memoryd.recall.past_search import search_as_of
from memoryd.recall.recall_answer import LeftOut, RecallAnswer, answer_of, shown
from memoryd.recall.rules import rendering as recall_text
from memoryd.recall.rules import search as ranking
from memoryd.recall.rules.query import RecallQuery
from memoryd.recall.rules.rendering import Recalled
from memoryd.recall.rules.said_in_index import files_said_whole
from memoryd.recall.rules.search import Hit
from memoryd.recall.rules.tool_notes import is_usage_of
from memoryd.recall.selector import MOST_CHOSEN, ModelSelector
from memoryd.recall.shelf import Row, Shelf
from memoryd.recall.shelves import Shelves
from memoryd.recall.surfaced import Surfaced
from memoryd.system.background import Soon
from memoryd.system.later_log import LaterLog

MOST_MEMORIES: Final = 50
QUERY_CHARACTERS: Final = 8_000
LATE_MS: Final = 10_000.0
MOST_FITTING: Final = 20
SMALL_TALK_CHARACTERS: Final = 40
# Cutting a longer query into word pieces may take several milliseconds: that needs a thread.
LONG_QUERY_CHARACTERS: Final = 1_000


class Recall:
    def __init__(
        self,
        *,
        places: Places,
        scopes: Scopes,
        store: Store,
        surfaced: Surfaced,
        embeddings: Embeddings,
        calibration: Calibration,
        selector: ModelSelector | None,
        limit: int,
        deadline_ms: float,
        answer_log: LaterLog,
        run_soon: Soon,
        now: Callable[[], float],
    ) -> None:
        self._places = places
        self._scopes = scopes
        self._store = store
        self._surfaced = surfaced
        self._embeddings = embeddings
        self._selector = selector
        self._limit = limit
        self._deadline_ms = deadline_ms
        self._log = answer_log
        self._now = now
        self._background = calibration.background
        maker = maker_of(embeddings)  # of the code as it was loaded: an update may replace it
        keeper = ShelfKeeper(KeptFiles(places.state_dir), maker)
        indexer = Indexer(places.state_dir, maker, store.all_origins)
        self._shelves = Shelves(
            store, embeddings, calibration, run_soon, keeper=keeper, indexer=indexer
        )

    async def answer(self, request: RecallQuery, *, has: SessionHas | None = None) -> RecallAnswer:
        """The memories for a query.

        `has` is what the session has already, for a query that nobody asked: only what is worth
        showing is given. None if somebody asked, and wants it all.
        """
        began = time.perf_counter()
        session_id = request.session_id or ""
        project = await self._scopes.find(request.cwd)
        surfaced = await self._surfaced.of(session_id)
        spent = sum(surfaced.values())
        if not project.switch.enabled:
            return answer_of([], [], "embedded", began, spent)
        if request.as_of is not None:
            return await self._answer_as_of(request, moment(request.as_of), project, began)
        shelves = await self._shelves_for(request, project)
        excluded = set(surfaced)
        if has is not None:
            excluded |= has.paths | _of_session(session_id, shelves)
        may_ask = has is None or self.model_answers_within(request.deadline_ms)
        selector = self._selector if may_ask else None
        hits, chosen_by = await self._chosen(
            request, project, shelves, excluded, selector, unasked=has is not None
        )
        found = await self._recalled(hits, shelves)
        if has is not None:
            fitting = [one for one in found if not _is_usage_of(has.tools, one)]
            found = [recall_text.excerpted(one, request.query) for one in fitting]
        served = recall_text.within_budgets(found, spent)
        self._surfaced.add(session_id, served.sizes)
        left_out = [LeftOut(path, budget) for path, budget in served.left_out]
        total = spent + sum(served.sizes.values()) if session_id else 0
        answer = answer_of(served.memories, hits, chosen_by, began, total, left_out)
        self._log.info(
            "recall",
            memories=len(answer.memories),
            selector=chosen_by,
            ms=answer.elapsed_ms,
            session_id=session_id,
        )
        return answer

    def model_answers_within(self, deadline_ms: float | None) -> bool:
        """Whether a model is there whose answer can be expected in time."""
        seconds = (self._deadline_ms if deadline_ms is None else deadline_ms) / 1000
        return self._selector is not None and self._selector.answers_within(seconds)

    async def choose_late(self, request: RecallQuery, has: SessionHas) -> list[str]:
        """The paths that a model chooses, however long it takes; empty if there is no room left."""
        session_id = request.session_id or ""
        project = await self._scopes.find(request.cwd)
        surfaced = await self._surfaced.of(session_id)
        if self._selector is None or sum(surfaced.values()) >= recall_text.SESSION_BYTES:
            return []
        late = msgspec.structs.replace(request, deadline_ms=LATE_MS)
        shelves = await self._shelves_for(late, project)
        excluded = set(surfaced) | has.paths | _of_session(session_id, shelves)
        hits, chosen_by = await self._chosen(
            late, project, shelves, excluded, self._selector, unasked=True
        )
        return [hit.key for hit in hits] if chosen_by == "model" else []

    async def served(self, cwd: str, session_id: str, paths: Sequence[str]) -> list[Recalled]:
        """These memories as they are now, within the session's budget, less what it was given."""
        project = await self._scopes.find(cwd)
        surfaced = await self._surfaced.of(session_id)
        shelves = self._shelves.present(project.directories)
        hits = [Hit(path, 0.0, 0.0, 0.0, {}) for path in paths if path not in surfaced]
        found = await self._recalled(hits, shelves)
        kept = recall_text.within_budgets(found, sum(surfaced.values()))
        self._surfaced.add(session_id, kept.sizes)
        return kept.memories

    async def still_fit(self, request: RecallQuery, paths: Sequence[str]) -> list[str]:
        """Those that the ranking finds for another query too."""
        if not paths:
            return []
        shelves = self._shelves.present((await self._scopes.find(request.cwd)).directories)
        question = await self._question(request.query[:QUERY_CHARACTERS])
        parts = [shelf.index for shelf in shelves]
        hits = ranking.search(parts, question, limit=MOST_FITTING, now=self._now())
        return [path for path in paths if path in {hit.key for hit in hits}]

    @property
    def problems(self) -> list[str]:
        return self._embeddings.problems

    @property
    def asks_a_model(self) -> bool:
        return self._selector is not None

    def is_substantial(self, query: str) -> bool:
        """Whether a text says enough to be about a memory; takes microseconds."""
        return len(query) > SMALL_TALK_CHARACTERS or self._embeddings.is_substantial(query)

    async def warm(self, cwd: str) -> None:
        """Builds the shelves that a session in this directory will need."""
        await self._shelves.get((await self._scopes.find(cwd)).directories)

    async def said_in_index(self, cwd: str) -> set[str]:
        """The paths of the project's memories that MEMORY.md says whole."""
        memory = (await self._scopes.find(cwd)).memory
        (shelf,) = await self._shelves.get([memory])
        contents = {row.file: row.content for row in shelf.rows.values()}
        files = await anyio.to_thread.run_sync(self._files_said_whole, memory, contents)
        return {f"{memory.path}/{file}" for file in files}

    def _files_said_whole(self, memory: MemoryDirectory, contents: dict[str, str]) -> set[str]:
        try:
            text = self._store.read(memory, INDEX_FILE).text
        except MemorydError:  # no index, or none that can be read: the client loads none
            return set()
        return files_said_whole(text, contents)

    async def feedback_within(self, cwd: str, deadline_ms: float) -> tuple[str, list[Row]]:
        """The project's root, and what is indexed by then of its feedback that still holds."""
        project = await self._scopes.find(cwd)
        if not project.switch.enabled:
            return project.root, []
        shelves = await self._shelves.get_within(project.directories, deadline_ms / 1000)
        today = iso_time(self._now())[:10]
        rows = [
            row
            for shelf in shelves
            for key, row in shelf.rows.items()
            if row.topic.type == "feedback" and key not in shelf.retired()
            if not expiry.has_ended(row.topic, today)
        ]
        return project.root, rows

    def changed(self, change: MemoryChanged) -> None:
        """A file was added, changed or removed; the next answer reflects it."""
        self._shelves.update_soon(change.directory, change.file)

    def trusted(self, notice: MemoryTrusted) -> None:
        """Who wrote a file has become known; the next answer says so."""
        self._shelves.update_soon(notice.directory, notice.file)

    async def _shelves_for(self, request: RecallQuery, project: Project) -> list[Shelf]:
        """The shelves to search; with a deadline, only those that are built by then."""
        wanted = [*project.directories, *self._agent_directories(request.agent or "", project)]
        if request.deadline_ms is None:
            return await self._shelves.get(wanted)
        return await self._shelves.get_within(wanted, request.deadline_ms / 1000)

    def _agent_directories(self, agent: str, project: Project) -> list[MemoryDirectory]:
        if not agent:
            return []
        return list(agent_directories(self._places, project.root, agent).values())

    async def _chosen(
        self,
        request: RecallQuery,
        project: Project,
        shelves: Sequence[Shelf],
        excluded: set[str],
        selector: ModelSelector | None,
        *,
        unasked: bool,
    ) -> tuple[list[Hit], Literal["model", "embedded"]]:
        for shelf in shelves:
            excluded |= shelf.retired()
        query = request.query[:QUERY_CHARACTERS]
        question = await self._question(query)
        parts = [shelf.index for shelf in shelves]
        limit = max(1, min(request.limit or self._limit, MOST_MEMORIES))
        if selector is not None and any(shelf.rows for shelf in shelves):
            best = ranking.search(
                parts, question, limit=MANIFEST_LIMIT // 2, now=self._now(), excluded=excluded
            )
            chosen = await self._by_model(selector, request, project, shelves, best, excluded)
            if chosen is not None:
                return chosen[:limit], "model"
        if unasked:
            return ranking.search_unasked(
                parts, question, self._background, limit=limit, now=self._now(), excluded=excluded
            ), "embedded"
        hits = ranking.search(parts, question, limit=limit, now=self._now(), excluded=excluded)
        return hits, "embedded"

    async def _question(self, query: str) -> ranking.Question:
        if self._embeddings.encoder is None and len(query) <= LONG_QUERY_CHARACTERS:
            return self._embeddings.question(query)
        return await anyio.to_thread.run_sync(self._embeddings.question, query)

    async def _by_model(
        self,
        selector: ModelSelector,
        request: RecallQuery,
        project: Project,
        shelves: Sequence[Shelf],
        best: Sequence[Hit],
        excluded: set[str],
    ) -> list[Hit] | None:
        rows = {key: row for shelf in shelves for key, row in shelf.rows.items()}
        candidates = candidates_of(rows, best, excluded)
        names = {listed_name(row): key for key, row in candidates.items()}
        deadline = request.deadline_ms if request.deadline_ms is not None else self._deadline_ms
        chosen = await selector.choose(
            request.query[:QUERY_CHARACTERS],
            [
                topics.manifest_line(name, rows[key].topic, rows[key].modified)
                for name, key in names.items()
            ],
            recent_tools=request.recent_tools or (),
            session_id=request.session_id or "",
            project=project.root,
            deadline_seconds=deadline / 1000,
        )
        if chosen is None:
            return None
        scores = {hit.key: hit for hit in best}
        known = [names[name] for name in chosen if name in names][:MOST_CHOSEN]
        return [scores.get(key) or Hit(key, 0.0, 0.0, 0.0, {}) for key in known]

    async def _answer_as_of(
        self, request: RecallQuery, at: float, project: Project, began: float
    ) -> RecallAnswer:
        """The answer from the memories as they were at that moment, ranked by words alone."""
        limit = max(1, min(request.limit or self._limit, MOST_MEMORIES))
        query = request.query[:QUERY_CHARACTERS]
        past = partial(search_as_of, self._store, project.directories, query, at, limit)
        best = await anyio.to_thread.run_sync(past)
        found = [shown(hit, row, self._now()) for hit, row in best]
        return answer_of(found, [hit for hit, _ in best], "embedded", began, 0)

    async def _recalled(self, hits: Sequence[Hit], shelves: Sequence[Shelf]) -> list[Recalled]:
        """The memories as they are on disk now, without those that were removed."""
        found = []
        for hit in hits:
            for shelf in shelves:
                if hit.key in shelf.rows:
                    row = await self._shelves.fresh_row(shelf, hit.key)
                    found += [] if row is None else [shown(hit, row, self._now())]
                    break
        return found


def _of_session(session_id: str, shelves: Sequence[Shelf]) -> set[str]:
    """What was extracted from a session: it said so itself."""
    if not session_id:
        return set()
    return {
        key
        for shelf in shelves
        for key, row in shelf.rows.items()
        if row.topic.source == session_id
    }


def _is_usage_of(tools: Sequence[str], one: Recalled) -> bool:
    return is_usage_of(tools, one.name, one.description, one.content)
