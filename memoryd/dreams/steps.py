"""The steps that a dream takes on its working copy, by rules or with a model.

- A model gets the same sandbox as in every other job, with the working copy as its memory
  directory. The real one is closed to it, and transcripts can only be searched.
- A model run that finished by itself or at a limit counts: what it wrote is complete, and is
  reviewed. One that was cut off, refused, late, out of budget or without a server has failed.
- What a model writes is trusted no more than its sources (`provenance`).
- Relative dates are replaced by rules before a model sees them: models count weekdays wrongly.
"""

from collections.abc import Callable, Sequence
from datetime import datetime
from functools import cache
from typing import Final, Protocol

import anyio.to_thread
import msgspec
import structlog

from memoryd.agent import loop as agent
from memoryd.agent.loop import AgentJob
from memoryd.agent.rules.limits import RunLimits
from memoryd.agent.toolbox import AgentTools
from memoryd.agent.view import View
from memoryd.agent.writer import MemoryWriter
from memoryd.base.config import Price
from memoryd.base.errors import Unavailable
from memoryd.base.remembered import remembered
from memoryd.base.timestamps import iso_time
from memoryd.dreams.apply import LostLock
from memoryd.dreams.dream_table import How
from memoryd.dreams.housekeeping import Housekeeping, replace_dates, write_memories
from memoryd.dreams.provenance import DreamProvenance
from memoryd.dreams.recent_sessions import ProjectSessions, TouchedSession
from memoryd.dreams.rules import plan
from memoryd.dreams.rules.news import Reading, reading
from memoryd.dreams.rules.similarity import Similarity
from memoryd.dreams.run import DreamRun
from memoryd.dreams.working_copy import WorkingCopy
from memoryd.llm.anthropic_client import Provider
from memoryd.llm.rules import prompts
from memoryd.llm.rules.messages import ModelAnswer, Text
from memoryd.memories.records import Listed
from memoryd.memories.rules import topics
from memoryd.memories.rules.private_names import ProjectNames
from memoryd.memories.rules.topics import MANIFEST_LIMIT
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
_REMEMBERED_VECTORS: Final = 2_048

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
        self,
        versions: VersionTable,
        housekeeping: Housekeeping,
        load_similarity: Callable[[], Similarity | None],
    ) -> None:
        self._versions = versions
        self._housekeeping = housekeeping
        self._load_similarity = load_similarity

    async def take(self, run: DreamRun, copy: WorkingCopy) -> str:
        await anyio.to_thread.run_sync(self._take, run, copy)
        return ""

    def _take(self, run: DreamRun, copy: WorkingCopy) -> None:
        with copy.index_later() as reworded:
            self._consolidate(run, copy)
            self._housekeeping.tidy(run, copy, reworded)

    def _consolidate(self, run: DreamRun, copy: WorkingCopy) -> None:
        progress = run.progress
        progress.enter("orient")
        replace_dates(copy, run.target.directory, self._versions, run.own_since)
        # Before memories are merged: one that was said again must win over what came between.
        self._housekeeping.settle(run, copy)
        progress.enter("gather")
        changed = plan.merges(copy.believed(), self._similarity(run.id), cancellable)
        progress.enter("consolidate")
        contradicted = progress.retired
        write_memories(copy, changed)
        progress.note_merged(progress.retired - contradicted)

    def _similarity(self, dream: int) -> Similarity | None:
        try:
            return self._load_similarity()
        except Unavailable as error:
            log.warning("dream-without-vectors", dream=dream, error=error.message)
            return None


@cache
def word_similarity() -> Similarity | None:
    """How close two texts are by recall's word vectors."""
    from memoryd.recall.word_vectors import WordVectors  # noqa: PLC0415 - arrays load slowly

    # A text is compared with many others, one after the other.
    vector_of = remembered(_REMEMBERED_VECTORS)(WordVectors.open().vector_of)

    def similarity(one: str, other: str) -> float | None:
        stop_if_cancelled()  # there may be many pairs
        first, second = vector_of(one), vector_of(other)
        return None if first is None or second is None else float(first @ second)

    return similarity


# --- with a model -------------------------------------------------------------------------------


class DreamModel(msgspec.Struct, frozen=True):
    provider: Provider
    name: str
    limits: RunLimits = LIMITS
    unpriced: Price | None = None


class ModelSteps:
    """`closed` are folders that the model must not see, beside the memories themselves."""

    how: How = "model"

    def __init__(
        self,
        model: DreamModel,
        versions: VersionTable,
        housekeeping: Housekeeping,
        sessions: ProjectSessions,
        *,
        closed: tuple[str, ...],
        names: Callable[[], ProjectNames] = ProjectNames,
        is_private: Callable[[str], bool] = lambda _: False,
        now: Callable[[], float],
    ) -> None:
        self._names = names
        self._model = model
        self._versions = versions
        self._housekeeping = housekeeping
        self._sessions = sessions
        self._closed = closed
        self._is_private = is_private
        self._now = now

    async def take(self, run: DreamRun, copy: WorkingCopy) -> str:
        """Unavailable when the model's run failed, LostLock when the lock was lost meanwhile."""
        await anyio.to_thread.run_sync(self._settle, run, copy)
        run.progress.enter("orient")
        job, tools = await anyio.to_thread.run_sync(self._prepare, run, copy)
        report = await agent.run(job, self._model.provider, tools, self._model.limits)
        if report.ended not in COMPLETE:
            words = report.error.message if report.error else f"its answer was {report.ended}"
            raise Unavailable(f"the model could not dream: {words}")
        await anyio.to_thread.run_sync(self._tidy, run, copy)
        return mask(report.final_text)[:SAID_CHARACTERS]

    def _settle(self, run: DreamRun, copy: WorkingCopy) -> None:
        with copy.index_later() as reworded:
            replace_dates(copy, run.target.directory, self._versions, run.own_since)
            self._housekeeping.settle(run, copy)
            self._housekeeping.match_index(run, copy, reworded)

    def _tidy(self, run: DreamRun, copy: WorkingCopy) -> None:
        with copy.index_later() as reworded:
            self._housekeeping.tidy(run, copy, reworded)

    def _prepare(self, run: DreamRun, copy: WorkingCopy) -> tuple[AgentJob, AgentTools]:
        target, now = run.target, self._now()
        transcripts = self._sessions.folders(target.project)
        # The memories of projects lie among their transcripts.
        memories = (target.directory.path, *(f"{folder}/memory" for folder in transcripts))
        is_users = target.directory.scope == "user"
        view = View(
            target.project or copy.directory.path,
            copy.directory,
            others=target.others,
            transcripts=tuple(transcripts),
            closed=(*self._closed, *memories),
            is_private=self._is_private,
        )
        writer = MemoryWriter(
            view,
            copy.store,
            cause="dream",
            session_id="",
            state_folder=copy.folder,
            provenance=DreamProvenance(copy, now, self._names if is_users else None),
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
        read = reading(copy.believed(), run.since)
        current = [one for one in copy.listed() if one.file in read.files]
        sessions = self._sessions.touched(project, run.since, now)
        run.progress.sessions = len(sessions)
        opening = prompts.dream_opening(
            prompts.JobPlace(copy.directory.path, project, ", ".join(transcripts)),
            [_manifest_line(one) for one in current[:MANIFEST_LIMIT]],
            prompts.IndexLimits(),
            datetime.fromtimestamp(now).astimezone().date(),
        )
        return (*opening, Text(_news(copy, read)), Text(_session_list(sessions)))


def _on_answer(run: DreamRun) -> agent.OnAnswer:
    async def on_answer(answer: ModelAnswer) -> None:
        run.progress.on_answer(answer)
        if not await anyio.to_thread.run_sync(run.holds_lock):
            raise LostLock

    return on_answer


def _manifest_line(one: Listed) -> str:
    return mask(topics.manifest_line(one.file, one.topic, one.modified))


def _news(copy: WorkingCopy, read: Reading) -> str:
    """What the list leaves out, and which notes are near each other."""
    left_out = len(copy.listed()) - len(read.files)
    words = f"{left_out} other notes have not changed since the last time: leave them alone."
    pairs = "\n".join(f"- {one} and {other}" for one, other in read.pairs)
    task = (
        "# Notes near each other\nJudge each pair: the same (merge), contradicted (the newer word"
        f" of the person holds, a person's before an agent's), or two things.\n{pairs}"
    )
    return "\n\n".join([*([words] if left_out else []), *([task] if pairs else [])]) or "(no news)"


def _session_list(sessions: Sequence[TouchedSession]) -> str:
    lines = [f"- {one.path} ({iso_time(one.modified)})" for one in sessions]
    more = len(lines) - LISTED_SESSIONS
    lines = lines[:LISTED_SESSIONS] + ([f"- and {more} older ones"] if more > 0 else [])
    return "# Sessions since the last time, newest first\n" + ("\n".join(lines) or "(none)")
