"""Extraction without a model: what a person explicitly asked to keep is saved, once.

Rules
- Only a person's own words count, and of these only what is explicit beyond doubt.
- What the agent saved itself in the turn, by what it wrote and by the memories changed since, is
  not saved again; what else was said in that turn is.
- Each statement is saved once, in place of what it corrects (`saver`), in the scope where it holds
  (`scoped_saver`). What only takes something
  back retires the memory that is meant. Where that is not clear, nothing is retired: a person is
  asked in the inbox, and sees both texts.
- What the code shows or an instruction file says is neither saved nor offered (`exclusions`). What
  is nothing without the secret in it waits, masked, so that nobody believes it was saved.
- What only may be worth keeping waits in the inbox, until it is said again in another session or
  somebody takes it. In review mode everything waits.
- In log mode all sure statements of a task go into today's log, and no memory is touched.
"""

import time
from collections.abc import Callable, Sequence
from contextlib import suppress

import anyio.to_thread
import msgspec

from memoryd.base.config import ExtractionMode, ProjectMode
from memoryd.base.errors import MemorydError
from memoryd.base.timestamps import seconds_of
from memoryd.extraction.attribution import memory_folders
from memoryd.extraction.inbox import Inbox
from memoryd.extraction.known_memories import KnownMemories, KnownMemory
from memoryd.extraction.log_mode import add_to_log, without_logged_turns
from memoryd.extraction.placing import Placing
from memoryd.extraction.rules.agent_writes import is_saved, saved_by_agent
from memoryd.extraction.rules.written_down import WrittenDown
from memoryd.extraction.saver import Contradicted, SourcedStatement, statements_from
from memoryd.extraction.scoped_saver import ScopedSaver, named_in
from memoryd.extraction.task import ExtractionOutcome, ExtractionTask
from memoryd.memories.inbox_table import Candidate, WaitReason
from memoryd.memories.records import Stored
from memoryd.memories.rules.daily_log import LogEntry
from memoryd.memories.rules.topics import Scope
from memoryd.memories.scopes import Project
from memoryd.memories.store import Store
from memoryd.text.masking.mask import presentable
from memoryd.text.private import has_private
from memoryd.text.shorten import cut_middle
from memoryd.transcripts.rules.turns import Turn

AROUND_CHARACTERS = 600
MAY_REPLACE = "This may take back:"


def log_entry_of(sourced: SourcedStatement) -> LogEntry:
    """The statement as a line of the log."""
    text = " ".join(sourced.statement.body.replace("**Why:**", "Why:").split())
    return LogEntry(sourced.at, sourced.statement.type, sourced.trust, text, sourced.session_id)


def candidate_of(sourced: SourcedStatement, project: str, reason: WaitReason) -> Candidate:
    """The statement as it waits in the inbox."""
    from memoryd.extraction.rules.exclusions import savable  # noqa: PLC0415 - its patterns take a while

    statement = sourced.statement
    return Candidate(
        project=project,
        type=statement.type,
        name=presentable(statement.name),
        description=presentable(statement.description),
        body=presentable(statement.body),
        created=sourced.created,
        session_id=sourced.session_id,
        trust=sourced.trust,
        around=cut_middle(presentable(savable(sourced.message)), AROUND_CHARACTERS),
        reason=reason,
    )


class EmbeddedExtractor:
    """Both modes are asked by the project's root."""

    def __init__(
        self,
        store: Store,
        inbox: Inbox,
        mode_of: Callable[[str], ProjectMode] = lambda _: "topics",
        *,
        extraction_mode_of: Callable[[str], ExtractionMode] = lambda _: "auto",
        written_down: Callable[[Project], WrittenDown] = lambda _: WrittenDown(),
        placing: Placing | None = None,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._store = store
        self._memories = KnownMemories(store)
        self._inbox = inbox
        self._written_down = written_down
        self._placing = placing
        self._mode_of = mode_of
        self._extraction_mode_of = extraction_mode_of
        self._now = now

    async def extract(self, task: ExtractionTask) -> ExtractionOutcome:
        root = task.project.root
        if task.agent:  # nobody in it is the person
            return ExtractionOutcome("done", "no-person")
        is_log = self._mode_of(root) == "log" and self._extraction_mode_of(root) == "auto"
        work = self._extract_to_log if is_log else self._extract
        files = await anyio.to_thread.run_sync(work, task)
        return ExtractionOutcome("done", "done", files=files)

    def _extract(self, task: ExtractionTask) -> tuple[str, ...]:
        found = self._worth_keeping(task)
        if not found:
            return ()
        saver = ScopedSaver(
            self._store,
            task.project,
            self._placing,
            again=task.is_repeated,
            memories=self._memories,
        )
        if self._extraction_mode_of(task.project.root) == "review":
            for one in found:
                self._offer_for_review(task, saver, one)
            return ()
        saved = [stored for one in found if (stored := self._save_or_offer(task, saver, one))]
        return tuple(dict.fromkeys(named_in(one.directory, one.file) for one in saved))

    def _worth_keeping(self, task: ExtractionTask) -> list[SourcedStatement]:
        """What was stated, without what no door would save."""
        found = self._unsaved(task)
        if not found:
            return []
        from memoryd.extraction.rules.exclusions import exclusion_of  # noqa: PLC0415 - as its statements

        known = self._written_down(task.project)
        kept: list[SourcedStatement] = []
        for one in found:
            refused = (
                None if one.statement.only_forgets else exclusion_of(one.statement.body, known)
            )
            if refused is None:
                kept.append(one)
            elif refused.kind == "secret" and one.is_sure:
                self._inbox.offer(task.project, candidate_of(one, task.project.root, "secret"))
        return kept

    def _unsaved(self, task: ExtractionTask) -> list[SourcedStatement]:
        """What was stated, without what the agent saved itself in the same turn."""
        found: list[SourcedStatement] = []
        for turn in task.turns:
            stated = list(statements_from([turn]))
            saved = self._saved_by_agent(task, turn) if stated else []
            found += [
                one
                for one in stated
                if not is_saved(one.core, saved) and not has_private(one.statement.body)
            ]
        return found

    def _saved_by_agent(self, task: ExtractionTask, turn: Turn) -> list[str]:
        writes = saved_by_agent(turn, memory_folders(task.project))
        if not writes:
            return []
        since = seconds_of(turn.started) or task.began
        texts = [write.text for write in writes]
        for memory in (task.project.memory, task.project.user):
            for one in self._store.scan(memory):
                is_ours = one.topic.trust == "user-said"
                if one.modified >= since and not one.retired and not is_ours:
                    with suppress(MemorydError):  # removed since the scan, or not a regular file
                        texts.append(self._store.read(memory, one.file).text)
        return texts

    def _save_or_offer(
        self, task: ExtractionTask, saver: ScopedSaver, one: SourcedStatement
    ) -> Stored | None:
        contradicted = saver.contradicted(one)
        if one.statement.only_forgets:
            if contradicted.one:
                saver.retire(one, contradicted.one)
            else:
                self._ask(task, one, contradicted.in_doubt)
            return None
        candidate = candidate_of(one, task.project.root, _why_it_waits(one))
        is_meant = one.is_sure or self._inbox.was_said_before(task.project, candidate)
        corrects = one.statement.correction is not None or one.statement.is_marked
        if is_meant or (corrects and contradicted.one):
            stored = saver.save(one)
            self._inbox.was_saved(task.project, candidate)
            if stored is not None:
                self._ask(task, one, contradicted.in_doubt, stored)
            return stored
        self._offer_maybe(task, saver, one, candidate, contradicted)
        return None

    def _offer_maybe(
        self,
        task: ExtractionTask,
        saver: ScopedSaver,
        one: SourcedStatement,
        candidate: Candidate,
        contradicted: Contradicted,
    ) -> None:
        """What is not sure waits; a correction only if there is something to correct."""
        relation, file = saver.relation_to_known(one)
        scope, files = _in_one_scope(contradicted.in_doubt)
        if not files and relation == "reverses":
            files = (file,)
        if files:
            candidate = msgspec.structs.replace(
                candidate,
                reason="contradicts",
                contradicts=files[0],
                may_contradict=files,
                scope=scope,
            )
        if relation != "same" and (files or one.statement.certainty != "correction"):
            self._inbox.offer(task.project, candidate)

    def _ask(
        self,
        task: ExtractionTask,
        one: SourcedStatement,
        in_doubt: Sequence[KnownMemory],
        successor: Stored | None = None,
    ) -> None:
        """Asks about each memory that may be meant; nothing is retired until somebody agrees."""
        for memory in in_doubt:
            candidate = candidate_of(one, task.project.root, "contradicts")
            old, directory = presentable(memory.core), memory.stored.directory
            is_beside = successor is not None and successor.directory == directory
            self._inbox.offer(
                task.project,
                msgspec.structs.replace(
                    candidate,
                    body=f"{candidate.body.strip()}\n\n{MAY_REPLACE} {old}\n",
                    contradicts=memory.stored.file,
                    retires=memory.stored.file,
                    successor=successor.file if successor and is_beside else "",
                    scope=directory.scope,
                ),
            )

    def _offer_for_review(
        self, task: ExtractionTask, saver: ScopedSaver, one: SourcedStatement
    ) -> None:
        contradicted = saver.contradicted(one)
        meant = [*([contradicted.one] if contradicted.one else []), *contradicted.in_doubt]
        if one.statement.only_forgets:
            self._ask(task, one, meant)
            return
        reason: WaitReason = "review" if one.is_sure else _why_it_waits(one)
        candidate = candidate_of(one, task.project.root, reason)
        self._offer_maybe(task, saver, one, candidate, Contradicted(unsure=tuple(meant)))

    def _extract_to_log(self, task: ExtractionTask) -> tuple[str, ...]:
        task = without_logged_turns(task)
        entries = [log_entry_of(one) for one in self._worth_keeping(task) if one.is_sure]
        return add_to_log(task, entries, self._now())


def _in_one_scope(memories: Sequence[KnownMemory]) -> tuple[Scope, tuple[str, ...]]:
    """The files of the scope that the first one is in: a candidate waits in one directory."""
    if not memories:
        return "project", ()
    scope = memories[0].stored.directory.scope
    return scope, tuple(one.stored.file for one in memories if one.stored.directory.scope == scope)


def _why_it_waits(one: SourcedStatement) -> WaitReason:
    return "long-message" if one.statement.certainty == "likely" else "may-last"
