"""Recall for the rest of the daemon: it answers once the index is loaded in the background.

Numpy and the vectors take longer to load than everything else together, so the daemon serves
before they are ready. A query that arrives meanwhile waits for them. They also take a quarter of
the daemon's memory: where there is nothing to recall yet, they are loaded when somebody asks.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Final

import anyio
import anyio.to_thread
import msgspec
import structlog

from memoryd.base.errors import StorageError
from memoryd.memories.records import MemoryChanged, MemoryMoved, MemoryTrusted
from memoryd.recall.known import SessionHas, SessionKnowledge
from memoryd.recall.late_choices import LateChoices
from memoryd.recall.outcome_table import OutcomeTable
from memoryd.recall.outcome_tracker import OutcomeTracker
from memoryd.recall.reminders import Reminders, call_of, calls_of
from memoryd.recall.rule_table import RuleTable
from memoryd.recall.rules import rendering
from memoryd.recall.rules.ignore_memory import asks_to_ignore_memory
from memoryd.recall.rules.outcomes import Outcome
from memoryd.recall.rules.query import RecallQuery
from memoryd.recall.surfaced import Surfaced
from memoryd.recall.usage import MemoryUsage
from memoryd.system.background import Soon
from memoryd.system.later_log import LaterLog
from memoryd.text.private import public_part
from memoryd.transcripts.rules.turns import Turn

if TYPE_CHECKING:
    from memoryd.recall.answer import Recall
    from memoryd.recall.recall_answer import RecallAnswer

AT_TOOL_MS: Final = 15.0
MOST_SILENT: Final = 1000

log = structlog.get_logger(__name__)


class RecallService:
    def __init__(
        self,
        load: "Callable[[], Recall]",
        has_memories: Callable[[], bool],
        surfaced: Surfaced,
        answer_log: LaterLog,
        rules: RuleTable,
        outcomes: OutcomeTable,
        *,
        usage: MemoryUsage,
        at_tools: bool,
        run_soon: Soon,
        now: Callable[[], float],
    ) -> None:
        self._load = load
        self._answer_log = answer_log
        self._has_memories = has_memories
        self._is_wanted = anyio.Event()
        self._rules = rules
        self._outcomes = outcomes
        self._tracker = OutcomeTracker()
        self._late = LateChoices()
        self._silent: set[str] = set()
        self._never_used: frozenset[str] = frozenset()
        self._usage = usage
        self._at_tools = at_tools
        self._run_soon = run_soon
        self._now = now
        self._reminders = Reminders()
        self._surfaced = surfaced
        self._known = SessionKnowledge()
        self._recall: Recall | None = None
        self._is_loaded = anyio.Event()

    async def run(self) -> None:
        """Loads what recall needs, and saves what sessions are given, until cancelled."""
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._surfaced.run)
            tasks.start_soon(self._answer_log.run)
            await self._read_never_used()
            if not await anyio.to_thread.run_sync(self._has_memories):
                await self._is_wanted.wait()
            self._recall = await anyio.to_thread.run_sync(self._load, abandon_on_cancel=True)
            self._is_loaded.set()
            log.info("recall-ready")

    async def answer(self, query: RecallQuery) -> "RecallAnswer":
        """The memories for somebody who asks."""
        public = msgspec.structs.replace(query, query=public_part(query.query))
        return await (await self._ready()).answer(public)

    def prompt_given(self, session_id: str, prompt: str) -> bool:
        """Whether this prompt may be given anything, and with it the tool calls that follow."""
        if not asks_to_ignore_memory(prompt):
            self._silent.discard(session_id)
            return True
        self._late.forget(session_id)
        if len(self._silent) >= MOST_SILENT:
            self._silent.clear()
        self._silent.add(session_id)
        return False

    async def for_hook(self, query: RecallQuery, limit_units: int) -> str:
        """What is worth injecting though nobody asked, and what the session has not already."""
        recall, session_id = await self._ready(), query.session_id or ""
        has = self._known.of(session_id)
        has = msgspec.structs.replace(has, paths=has.paths | self._never_used)
        late = await recall.still_fit(query, self._late.take(session_id))
        answer = await recall.answer(query, has=has)
        memories = [*answer.memories, *await recall.served(query.cwd, session_id, late)]
        self._tracker.injected(session_id, query.query, memories)
        if recall.asks_a_model and not recall.model_answers_within(query.deadline_ms):
            self._ask_late(query, has)
        return rendering.hook_text(memories, limit_units)

    def _ask_late(self, query: RecallQuery, has: SessionHas) -> None:
        session_id = query.session_id or ""
        if session_id and self._late.begin(session_id, query.query):
            self._run_soon("late choice", partial(self._choose_late, query, has))

    async def _choose_late(self, query: RecallQuery, has: SessionHas) -> None:
        paths = await (await self._ready()).choose_late(query, has)
        self._late.arrived(query.session_id or "", query.query, paths)

    async def at_tool(self, session_id: str, cwd: str, tool: str, given: object) -> str:
        """What a call that is about to be made should know; empty before recall is ready.

        That is the person's rules about it, and what a model chose for the prompt meanwhile.
        """
        if self._recall is None or not session_id or session_id in self._silent:
            return ""
        rules = await self._rules_for(self._recall, session_id, cwd, tool, given)
        late = await self._recall.served(cwd, session_id, self._late.take(session_id))
        return "\n".join(text for text in (rules, rendering.hook_text(late)) if text)

    async def _rules_for(
        self, recall: "Recall", session_id: str, cwd: str, tool: str, given: object
    ) -> str:
        if not self._at_tools:
            return ""
        root, rows = await recall.feedback_within(cwd, AT_TOOL_MS)
        reminder = self._reminders.for_call(session_id, call_of(tool, given, root), rows)
        if reminder.paths:
            sizes = {path: len(reminder.text) // len(reminder.paths) for path in reminder.paths}
            self._surfaced.add(session_id, sizes)
            self._write_soon(lambda: self._count_given(reminder.paths))
            log.info("rules-given", tool=tool, rules=len(reminder.paths), session_id=session_id)
        return reminder.text

    def _count_given(self, paths: Sequence[str]) -> None:
        for path in paths:
            self._rules.was_given(path, self._now())

    async def _record(self, outcomes: Sequence[tuple[str, Outcome]]) -> None:
        def write() -> None:
            for path, outcome in outcomes:
                self._outcomes.add(path, outcome, self._now())

        await anyio.to_thread.run_sync(write)
        await self._read_never_used()

    async def _read_never_used(self) -> None:
        try:
            self._never_used = frozenset(await anyio.to_thread.run_sync(self._outcomes.never_used))
        except StorageError as error:  # then nothing is held back
            log.warning("outcomes-not-read", reason=error.message)

    def _write_soon(self, write: Callable[[], object]) -> None:
        self._run_soon("rules", lambda: anyio.to_thread.run_sync(write))

    @property
    def problems(self) -> list[str]:
        """For `status`: word vectors or an encoder that cannot be used."""
        return [] if self._recall is None else self._recall.problems

    def is_worth_asking(self, prompt: str) -> bool:
        """False before the ranking is loaded, and for a prompt like "yes" or "go on"."""
        return self._recall is not None and self._recall.is_substantial(prompt)

    @property
    def asks_a_model(self) -> bool:
        return self._recall is not None and self._recall.asks_a_model

    async def session_began(self, session_id: str, cwd: str) -> None:
        """Builds what the session will need, and notes what its client has loaded."""
        recall = await self._ready()
        await recall.warm(cwd)
        self._known.loaded(session_id, await recall.said_in_index(cwd))

    def turn_ended(self, turn: Turn, root: str) -> None:
        calls = calls_of(turn, root)
        self._known.turn_ended(turn)
        self._known.tools_used(turn.session_id, calls)
        if outcomes := self._tracker.turn_ended(turn, calls):
            self._run_soon("outcomes", partial(self._record, outcomes))
        for path, verdict in self._reminders.turn_ended(turn, root):
            self._write_soon(partial(self._rules.was_kept, path, verdict))

    def trusted(self, notice: MemoryTrusted) -> None:
        if self._recall is not None:
            self._recall.trusted(notice)

    def changed(self, change: MemoryChanged) -> None:
        path = f"{change.directory.path}/{change.file}"
        if path in self._never_used:
            self._never_used -= {path}
            self._write_soon(partial(self._outcomes.forget, path))
        self._is_wanted.set()
        if self._recall is not None:
            self._recall.changed(change)

    def moved(self, notice: MemoryMoved) -> None:
        """What is known of a memory by its path goes on under the new one."""
        self._surfaced.moved(notice.old_path, notice.new_path)
        if notice.old_path in self._never_used:
            self._never_used = self._never_used - {notice.old_path} | {notice.new_path}
        self._write_soon(partial(self._usage.moved, notice.old_path, notice.new_path))

    def forget_session(self, session_id: str) -> None:
        """After a compaction, a session may be given again what it was given before."""
        self._surfaced.forget(session_id)
        self._known.forget(session_id)
        self._reminders.forget(session_id)
        self._late.forget(session_id)

    async def given_to(self, session_id: str) -> int:
        """How many memories a session was given since its last compaction."""
        return len(await self._surfaced.of(session_id))

    async def _ready(self) -> "Recall":
        self._is_wanted.set()
        while self._recall is None:
            await self._is_loaded.wait()
        return self._recall
