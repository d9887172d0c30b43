"""The steps that a dream takes on its working copy, by rules or with a model.

- A model gets the same sandbox as in every other job, with the working copy as its memory
  directory. The real one is closed to it, and transcripts can only be searched.
- A model run that finished by itself or at a limit counts: what it wrote is complete, and is
  reviewed. One that was cut off, refused, late, out of budget or without a server has failed.
- What a model writes is trusted no more than its sources (`provenance`).
- Relative dates are replaced by rules before a model sees them: models count weekdays wrongly.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from datetime import datetime
from functools import cache
from typing import Final, Protocol

import anyio.to_thread
import msgspec
import structlog

from memoryd.agent import loop as agent
from memoryd.agent.loop import AgentJob, AgentReport
from memoryd.agent.rules.limits import RunLimits
from memoryd.agent.toolbox import AgentTools
from memoryd.agent.view import View
from memoryd.agent.writer import MemoryWriter
from memoryd.base.errors import MemorydError, NotFound, Unavailable
from memoryd.base.timestamps import iso_time
from memoryd.dreams.apply import LostLock
from memoryd.dreams.dream_table import How
from memoryd.dreams.progress import DreamProgress
from memoryd.dreams.provenance import DreamProvenance
from memoryd.dreams.recent_sessions import ProjectSessions, TouchedSession
from memoryd.dreams.rules import plan
from memoryd.dreams.rules.plan import BelievedMemory, PastText
from memoryd.dreams.rules.similarity import Similarity
from memoryd.dreams.run import DreamRun
from memoryd.dreams.working_copy import WorkingCopy
from memoryd.llm.anthropic_client import Provider
from memoryd.llm.rules import prompts
from memoryd.llm.rules.messages import ModelAnswer, Text
from memoryd.memories.records import Listed, MemoryDirectory
from memoryd.memories.rules import index, topics
from memoryd.memories.rules.topics import INDEX_FILE, MANIFEST_LIMIT
from memoryd.memories.version_table import VersionTable
from memoryd.system.cancellation import cancellable, stop_if_cancelled
from memoryd.text.masking.mask import mask

LIMITS: Final = RunLimits(
    model_turns=20,
    tool_calls=200,
    read_bytes=4_000_000,
    written_bytes=1_000_000,
    wall_seconds=900,
    usd=0.50,
)
COMPLETE: Final = frozenset({"done", "turn-limit", "tool-limit", "byte-limit", "money-limit"})
LISTED_SESSIONS: Final = 30
SAID_CHARACTERS: Final = 2000

log = structlog.get_logger(__name__)


class DreamSteps(Protocol):
    @property
    def how(self) -> How:
        """What takes the steps."""

    async def take(self, run: DreamRun, copy: WorkingCopy) -> str:
        """Consolidates the copy; returns the model's closing message."""


# --- by rules -----------------------------------------------------------------------------------


class RuleSteps:
    how: How = "embedded"

    def __init__(
        self, versions: VersionTable, load_similarity: Callable[[], Similarity | None]
    ) -> None:
        self._versions = versions
        self._load_similarity = load_similarity

    async def take(self, run: DreamRun, copy: WorkingCopy) -> str:
        await anyio.to_thread.run_sync(self._take, run, copy)
        return ""

    def _take(self, run: DreamRun, copy: WorkingCopy) -> None:
        progress = run.progress
        progress.enter("orient")
        memories = believed_memories(copy)
        progress.enter("gather")
        dated = with_versions(memories, run.target.directory, self._versions)
        changed = plan.plan(dated, self._similarity(run.id))
        progress.enter("consolidate")
        write_memories(copy, changed)
        tidy_index(copy, progress)

    def _similarity(self, dream: int) -> Similarity | None:
        try:
            return self._load_similarity()
        except Unavailable as error:
            log.warning("dream-without-vectors", dream=dream, error=error.message)
            return None


@cache
def word_similarity() -> Similarity | None:
    """How close two texts are by recall's word vectors; None if none are installed."""
    from memoryd.recall.word_vectors import WordVectors, installed_folder  # noqa: PLC0415 - arrays load slowly

    folder = installed_folder()
    if folder is None:
        return None
    vectors = WordVectors.open(folder)

    def similarity(one: str, other: str) -> float | None:
        stop_if_cancelled()  # there may be many pairs
        first, second = vectors.vector_of(one), vectors.vector_of(other)
        return None if first is None or second is None else float(first @ second)

    return similarity


# --- with a model -------------------------------------------------------------------------------


class DreamModel(msgspec.Struct, frozen=True):
    provider: Provider
    name: str
    limits: RunLimits = LIMITS


class ModelSteps:
    """`closed` are folders that the model must not see, beside the memories themselves."""

    how: How = "model"

    def __init__(
        self,
        model: DreamModel,
        versions: VersionTable,
        sessions: ProjectSessions,
        *,
        closed: tuple[str, ...],
        now: Callable[[], float],
    ) -> None:
        self._model = model
        self._versions = versions
        self._sessions = sessions
        self._closed = closed
        self._now = now

    async def take(self, run: DreamRun, copy: WorkingCopy) -> str:
        """Unavailable when the model's run failed, LostLock when the lock was lost meanwhile."""
        directory = run.target.directory
        await anyio.to_thread.run_sync(replace_dates, copy, directory, self._versions)
        run.progress.enter("orient")
        job, tools = await anyio.to_thread.run_sync(self._prepare, run, copy)
        report = await agent.run(job, self._model.provider, tools, self._model.limits)
        if report.ended not in COMPLETE:
            words = report.error.message if report.error else f"its answer was {report.ended}"
            raise Unavailable(f"the model could not dream: {words}")
        return await anyio.to_thread.run_sync(_conclude, run, copy, report)

    def _prepare(self, run: DreamRun, copy: WorkingCopy) -> tuple[AgentJob, AgentTools]:
        target, now = run.target, self._now()
        transcripts = self._sessions.folders(target.project)
        # The memories of projects lie among their transcripts.
        memories = (target.directory.path, *(f"{folder}/memory" for folder in transcripts))
        view = View(
            target.project or copy.directory.path,
            copy.directory,
            others=target.others,
            transcripts=tuple(transcripts),
            closed=(*self._closed, *memories),
        )
        writer = MemoryWriter(
            view,
            copy.store,
            cause="dream",
            session_id="",
            state_folder=copy.folder,
            provenance=DreamProvenance(copy, now),
        )
        job = AgentJob(
            "dream",
            target.project,
            self._model.name,
            prompts.system_blocks(),
            self._opening(run, copy, transcripts, now),
            on_answer=_on_answer(run),
        )
        return job, AgentTools(view, writer)

    def _opening(
        self, run: DreamRun, copy: WorkingCopy, transcripts: Sequence[str], now: float
    ) -> tuple[Text, ...]:
        project = run.target.project
        current = [one for one in copy.store.scan(copy.directory) if not one.retired]
        sessions = self._sessions.touched(project, run.since, now)
        opening = prompts.dream_opening(
            prompts.JobPlace(copy.directory.path, project, ", ".join(transcripts)),
            [_manifest_line(one) for one in current[:MANIFEST_LIMIT]],
            prompts.IndexLimits(),
            datetime.fromtimestamp(now).astimezone().date(),
        )
        return (*opening, Text(_session_list(sessions)))


def _on_answer(run: DreamRun) -> agent.OnAnswer:
    async def on_answer(answer: ModelAnswer) -> None:
        run.progress.on_answer(answer)
        if not await anyio.to_thread.run_sync(run.holds_lock):
            raise LostLock

    return on_answer


def _conclude(run: DreamRun, copy: WorkingCopy, report: AgentReport) -> str:
    tidy_index(copy, run.progress)
    return mask(report.final_text)[:SAID_CHARACTERS]


def _manifest_line(one: Listed) -> str:
    return mask(topics.manifest_line(one.file, one.topic, one.modified))


def _session_list(sessions: Sequence[TouchedSession]) -> str:
    lines = [f"- {one.path} ({iso_time(one.modified)})" for one in sessions]
    more = len(lines) - LISTED_SESSIONS
    lines = lines[:LISTED_SESSIONS] + ([f"- and {more} older ones"] if more > 0 else [])
    return "# Sessions since the last time, newest first\n" + ("\n".join(lines) or "(none)")


# --- either way: blocking -----------------------------------------------------------------------


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


def tidy_index(copy: WorkingCopy, progress: DreamProgress) -> None:
    """The last phase: makes the index complete, short and small enough."""
    progress.enter("prune and index")
    move_retired(copy)
    copy.store.repair(copy.directory)
    try:
        stored = copy.store.read(copy.directory, INDEX_FILE)
    except MemorydError:  # no memories, or the settings say no index
        return
    current = [one for one in copy.store.scan(copy.directory) if not one.retired]
    pointers = {one.file: _pointer(one) for one in current}
    text = plan.tidy_index(stored.text, pointers, [one.file for one in current])
    if text != stored.text:
        copy.store.put_back(
            copy.directory, INDEX_FILE, text.encode(), over=stored.version, cause="dream"
        )


def _pointer(one: Listed) -> str:
    return index.pointer(topics.title_of(one.topic, one.file), one.file, one.topic.description)
