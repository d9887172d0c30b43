"""What every dream does to its working copy, with a model or without: blocking."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress

import msgspec

from memoryd.base.errors import MemorydError, NotFound
from memoryd.dreams.evidence import Evidence, MemoryUse
from memoryd.dreams.rules import plan
from memoryd.dreams.rules.index_fit import IndexedMemory, fitted
from memoryd.dreams.rules.plan import BelievedMemory, PastText
from memoryd.dreams.run import DreamRun
from memoryd.dreams.working_copy import WorkingCopy
from memoryd.extraction.rules.restatement import core_of
from memoryd.memories.index_file import pointer_of
from memoryd.memories.records import MemoryDirectory
from memoryd.memories.rules.topics import INDEX_FILE
from memoryd.memories.version_table import VersionTable
from memoryd.system.cancellation import cancellable


class Housekeeping:
    """The last phase of a dream: the index is complete, short and small enough."""

    def __init__(self, evidence: Evidence, now: Callable[[], float]) -> None:
        self._evidence = evidence
        self._now = now

    def tidy(self, run: DreamRun, copy: WorkingCopy) -> None:
        run.progress.enter("prune and index")
        move_retired(copy)
        copy.store.repair(copy.directory)
        try:
            stored = copy.store.read(copy.directory, INDEX_FILE)
        except MemorydError:  # no memories, or the settings say no index
            return
        text = fitted(stored.text, self._indexed(run, copy), copy.made_at)
        if text != stored.text:
            copy.store.put_back(
                copy.directory, INDEX_FILE, text.encode(), over=stored.version, cause="dream"
            )

    def _indexed(self, run: DreamRun, copy: WorkingCopy) -> list[IndexedMemory]:
        uses = self._evidence.uses(run.target.directory)
        known = self._evidence.written_down(run.target)
        bodies = {one.file: core_of(one.topic.body) for one in believed_memories(copy)}
        return [
            IndexedMemory(
                file=one.file,
                line=pointer_of(one.file, one.topic),
                type=one.topic.type,
                modified=one.modified,
                uses=uses.get(one.file, MemoryUse()).uses,
                is_in_instructions=bool(known.line_saying(bodies.get(one.file, ""))),
            )
            for one in copy.store.scan(copy.directory)
            if not one.retired
        ]


def believed_memories(copy: WorkingCopy) -> list[BelievedMemory]:
    scanned = {one.file: one for one in copy.store.scan(copy.directory)}
    return [
        BelievedMemory(file, stored.text, stored.modified)
        for file, stored in copy.after().items()
        if file in scanned and not scanned[file].retired
    ]


def replace_dates(copy: WorkingCopy, source: MemoryDirectory, versions: VersionTable) -> None:
    memories = with_versions(believed_memories(copy), source, versions)
    dated = [(memory, plan.with_dates(memory)) for memory in memories]
    write_memories(copy, [after for before, after in dated if after.text != before.text])


def with_versions(
    memories: Iterable[BelievedMemory], source: MemoryDirectory, versions: VersionTable
) -> Iterator[BelievedMemory]:
    """The memories; those with relative dates get their past versions, which tell the day."""
    for memory in cancellable(memories):
        if memory.topic.type == "project" and plan.has_relative_dates(memory.text):
            past = _past_texts(memory.file, source, versions)
            yield msgspec.structs.replace(memory, past=past)
        else:
            yield memory


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
    for memory in memories:
        over = copy.store.read(copy.directory, memory.file).version
        copy.store.write(copy.directory, memory.file, memory.text, over=over, cause="dream")
        copy.backdate(memory.file, memory.modified)


def move_retired(copy: WorkingCopy) -> None:
    """Moves what older stores, people and agents left beside the memories that replaced it."""
    found = {one.file: one for one in copy.store.scan(copy.directory)}
    for one in found.values():
        if not found.keys().isdisjoint(one.topic.supersedes):
            # Writing a memory retires what it supersedes; some may be gone by now.
            with suppress(NotFound):
                stored = copy.store.read(copy.directory, one.file)
                write_memories(copy, [BelievedMemory(one.file, stored.text, stored.modified)])
    for one in copy.store.scan(copy.directory):
        if one.topic.retired:
            copy.store.retire(
                copy.directory, one.file, superseded_by=one.topic.superseded_by, cause="dream"
            )
