"""What every dream does to its working copy, with a model or without: blocking."""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress

import msgspec

from memoryd.base.errors import NotFound
from memoryd.base.timestamps import iso_time
from memoryd.dreams.citation_check import CitationCheck
from memoryd.dreams.evidence import Evidence, MemoryUse
from memoryd.dreams.rules import plan
from memoryd.dreams.rules.citations import with_check
from memoryd.dreams.rules.index_fit import IndexedMemory, fitted
from memoryd.dreams.rules.plan import BelievedMemory, Flag, PastText
from memoryd.dreams.run import DreamRun
from memoryd.dreams.target import DreamTarget
from memoryd.dreams.working_copy import WorkingCopy
from memoryd.extraction.embedded import MAY_REPLACE
from memoryd.memories.inbox_table import Candidate
from memoryd.memories.index_file import pointer_of
from memoryd.memories.records import MemoryDirectory
from memoryd.memories.rules import index
from memoryd.memories.rules.expiry import has_ended, review_day
from memoryd.memories.rules.topics import INDEX_FILE
from memoryd.memories.version_table import VersionTable
from memoryd.system.cancellation import cancellable
from memoryd.text.masking.mask import presentable


class Housekeeping:
    """What ends, what is contradicted, and an index that is complete and small enough."""

    def __init__(self, evidence: Evidence, now: Callable[[], float]) -> None:
        self._evidence = evidence
        self._now = now

    def settle(self, run: DreamRun, copy: WorkingCopy) -> None:
        """Retires what is surely contradicted; notes what to ask about."""
        from memoryd.dreams.rules.conflicts import conflicts, superseding, with_end  # noqa: PLC0415 - its tables take a while

        memories = copy.believed()
        ending = [(one, with_end(one)) for one in cancellable(memories)]
        write_memories(copy, [after for before, after in ending if after.text != before.text])
        current = {one.file: one for _, one in ending}
        today = iso_time(self._now())[:10]
        run.ended_files = {file for file, one in current.items() if has_ended(one.topic, today)}
        replaced: dict[str, list[str]] = defaultdict(list)
        for one in conflicts(list(current.values()), run.since, cancellable):
            if one.is_sure:
                replaced[one.new].append(one.old)
            else:
                run.questions.append(question(current[one.old], current[one.new], run.target))
        write_memories(copy, [superseding(current[new], old) for new, old in replaced.items()])

    def due(self, run: DreamRun, copy: WorkingCopy) -> tuple[Flag, ...]:
        """The memories that somebody should look at."""
        today = iso_time(self._now())[:10]
        uses = self._evidence.uses(run.target.directory)
        return tuple(
            Flag(one.file, "due for review")
            for one in cancellable(copy.believed())
            if "" < review_day(one.topic, one.modified, use_of(uses, one.file)) <= today
        )

    def tidy(self, run: DreamRun, copy: WorkingCopy, reworded: Mapping[str, str]) -> None:
        """The last phase; `reworded` are lines of the index that say something else now."""
        run.progress.enter("prune and index")
        move_retired(copy)
        self._retire_ended(copy)
        self._check_citations(run, copy)
        self.match_index(run, copy, reworded)

    def match_index(self, run: DreamRun, copy: WorkingCopy, reworded: Mapping[str, str]) -> None:
        """The index is complete, right and within its limits."""
        stored = copy.after().get(INDEX_FILE)
        if stored is None and copy.has_no_index:
            return
        before = stored.text if stored else ""
        current = index.with_pointers(before, reworded)
        text = fitted(current, self._indexed(run, copy), copy.made_at)
        if text != before:
            copy.write_index(text, stored.version if stored else None)

    def _retire_ended(self, copy: WorkingCopy) -> None:
        today = iso_time(self._now())[:10]
        for one in copy.memories():
            if has_ended(one.topic, today):
                copy.retire(one.file)

    def _check_citations(self, run: DreamRun, copy: WorkingCopy) -> None:
        """Looks in the project for what memories cite; only projects have something to look at."""
        root = run.target.project
        if not root:
            return
        today, check = iso_time(self._now())[:10], CitationCheck(root)
        before = copy.believed()
        after = [with_check(one, root, today, check.is_there) for one in cancellable(before)]
        write_memories(
            copy, [new for old, new in zip(before, after, strict=True) if new.text != old.text]
        )

    def _indexed(self, run: DreamRun, copy: WorkingCopy) -> list[IndexedMemory]:
        uses = self._evidence.uses(run.target.directory)
        known = self._evidence.written_down(run.target)
        bodies = {one.file: one.core for one in cancellable(copy.believed())}
        return [
            IndexedMemory(
                file=one.file,
                line=pointer_of(one.file, one.topic),
                type=one.topic.type,
                modified=one.modified,
                uses=uses.get(one.file, MemoryUse()).uses,
                is_in_instructions=bool(known.line_saying(bodies.get(one.file, ""))),
            )
            for one in cancellable(copy.listed())
        ]


def use_of(uses: Mapping[str, MemoryUse], file: str) -> float:
    """When a session last built on it."""
    return uses.get(file, MemoryUse()).last_used


def question(old: BelievedMemory, new: BelievedMemory, target: DreamTarget) -> Candidate:
    """Whether a memory takes the place of another, for the inbox, with both texts."""
    topic = new.topic
    body = f"{new.core}\n\n{MAY_REPLACE} {old.core}\n"
    return Candidate(
        project=target.project,
        scope=target.directory.scope,
        type=topic.type or "project",
        name=presentable(topic.name),
        description=presentable(topic.description),
        body=presentable(body),
        created=topic.created or iso_time(new.modified),
        session_id=topic.source,
        trust="user-said" if topic.trust == "user-said" else "agent-concluded",
        reason="contradicts",
        contradicts=old.file,
        retires=old.file,
        successor=new.file,
    )


def replace_dates(
    copy: WorkingCopy, source: MemoryDirectory, versions: VersionTable, since: float
) -> None:
    """Makes relative dates absolute; what was there at our last dream has none any more."""
    changed = [one for one in copy.believed() if copy.is_news(one, since)]
    news = [one for one in changed if one.topic.type == "project"]
    relative = [one for one in cancellable(news) if plan.has_relative_dates(one)]
    dated = [plan.with_dates(with_versions(one, source, versions)) for one in relative]
    write_memories(
        copy,
        [after for before, after in zip(relative, dated, strict=True) if after.text != before.text],
    )


def with_versions(
    memory: BelievedMemory, source: MemoryDirectory, versions: VersionTable
) -> BelievedMemory:
    """The memory with its past versions, which tell on which day a line was written."""
    return msgspec.structs.replace(memory, past=_past_texts(memory.file, source, versions))


def _past_texts(file: str, source: MemoryDirectory, versions: VersionTable) -> tuple[PastText, ...]:
    found = [one for one in versions.versions(source.path, file) if one.sha256]
    return tuple(
        PastText(
            one.at, versions.content(source.path, file, one.version).decode("utf-8", "replace")
        )
        for one in reversed(found)
        if one.cause != "refused"
    )


def write_memories(copy: WorkingCopy, memories: Sequence[BelievedMemory]) -> None:
    """Writing a memory retires what it supersedes, which may be one of those that follow."""
    for memory in memories:
        with suppress(NotFound):
            copy.write(memory)


def move_retired(copy: WorkingCopy) -> None:
    """Moves what older stores, people and agents left beside the memories that replaced it."""
    found = {one.file: one for one in copy.memories()}
    for one in found.values():
        if not found.keys().isdisjoint(one.topic.supersedes):
            write_memories(copy, [one])
    for one in copy.memories():
        if one.topic.retired:
            copy.retire(one.file, superseded_by=one.topic.superseded_by)
