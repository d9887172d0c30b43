"""What a dream does with its copy, by rules or with a model, and what it tells meanwhile.

- Four phases, in this order: orient, gather, consolidate, prune and index. Without a model they are
  ours. A model says itself which one it is in, and never goes back; what it forgets to say shows
  by what it does: whoever writes has begun to consolidate.
- A model gets the same sandbox as in every other job, with the copy as its memory directory. The
  real one is closed to it, and transcripts can only be searched.
- A run that ended by itself or at a limit counts: what it wrote is whole, and is judged. One that
  was cut off, refused or late has failed, and so has one that nobody could pay for.
- What a model makes of the notes is trusted no further than they are (`notary`).
- Relative dates are settled by rules before a model sees them: it counts weekdays wrongly.
"""

import re
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from functools import cache
from typing import Final, Literal, TypeAlias, get_args

import anyio
import anyio.to_thread
import msgspec
import structlog

from memoryd.agent import loop as agent
from memoryd.agent.loop import AgentJob, AgentReport
from memoryd.agent.rules.limits import RunLimits
from memoryd.agent.toolbox import AgentTools
from memoryd.agent.view import View
from memoryd.agent.writer import MemoryWriter
from memoryd.base.errors import MemorydError, Unavailable
from memoryd.base.events import DreamFile, DreamPhase, Event
from memoryd.dreams.apply import LostLock
from memoryd.dreams.provenance import DreamProvenance
from memoryd.dreams.recent_sessions import TouchedSession
from memoryd.dreams.rules import plan as dream_plan
from memoryd.dreams.rules.plan import BelievedMemory, Past
from memoryd.dreams.rules.similarity import Similarity
from memoryd.dreams.target import DreamTarget
from memoryd.dreams.working_copy import WorkingCopy
from memoryd.llm.anthropic_client import Provider
from memoryd.llm.rules import prompts
from memoryd.llm.rules.messages import ModelAnswer, ModelRequest, Text, Usage
from memoryd.memories.records import Listed, MemoryChanged, MemoryDirectory
from memoryd.memories.rules import index, topics
from memoryd.memories.rules.topics import INDEX_FILE, MANIFEST_LIMIT
from memoryd.memories.version_table import VersionTable
from memoryd.system.cancellation import stop_if_cancelled, while_wanted
from memoryd.text.masking.mask import mask

Phase: TypeAlias = Literal["orient", "gather", "consolidate", "prune and index"]

PHASES: Final[tuple[Phase, ...]] = get_args(Phase)
LIMITS: Final = RunLimits(
    model_turns=20,
    tool_calls=200,
    read_bytes=4_000_000,
    written_bytes=1_000_000,
    wall_seconds=900,
    usd=0.50,
)
LISTED_SESSIONS: Final = 30
SAID_CHARACTERS: Final = 2000

_SAYS_PHASE = re.compile(
    r"^\W{0,8}phase:?\W{0,4}(orient|gather|consolidate|prune)", re.IGNORECASE | re.MULTILINE
)

log = structlog.get_logger(__name__)


class DreamProgress:
    """How far one dream is; tells whoever listens, from any thread."""

    def __init__(self, dream: int, ground: DreamTarget, tell: Callable[[Event], None]) -> None:
        self.dream = dream
        self.project = ground.project
        self.scope = ground.directory.scope
        self.phase: Phase | None = None
        self.files: set[str] = set()
        self.model_turns = 0
        self.usage = Usage()
        self.usd = 0.0
        self._tell = tell
        self._began = time.monotonic()

    @property
    def seconds(self) -> float:
        return round(time.monotonic() - self._began, 3)

    @property
    def tokens(self) -> int:
        return self.usage.prompt_tokens + self.usage.output_tokens

    def enter(self, phase: Phase) -> None:
        """Phases only go forward; one that is over is not told again."""
        if self.phase is not None and PHASES.index(phase) <= PHASES.index(self.phase):
            return
        self.phase = phase
        step = f"{PHASES.index(phase) + 1} of {len(PHASES)}"
        log.info("dream-phase", dream=self.dream, phase=phase, step=step)
        self._tell(
            DreamPhase(
                project=self.project,
                dream=self.dream,
                scope=self.scope,
                phase=phase,
                files=len(self.files),
                model_turns=self.model_turns,
                tokens=self.tokens,
                usd=self.usd,
                seconds=self.seconds,
            )
        )

    def wrote(self, change: MemoryChanged) -> None:
        """The copy's store tells of a change."""
        stop_if_cancelled()
        if self.phase is not None:  # dates are settled before the first
            self.enter("consolidate")
        self.files.add(change.file)
        log.info("dream-file", dream=self.dream, file=change.file, where="copy")
        self._tell(
            DreamFile(
                project=self.project,
                dream=self.dream,
                scope=self.scope,
                file=change.file,
                files=len(self.files),
                usd=self.usd,
                seconds=self.seconds,
            )
        )

    def answered(self, answer: ModelAnswer) -> None:
        self.model_turns += 1
        self.usage += answer.usage
        self.usd += answer.usd
        for said in _SAYS_PHASE.findall(answer.text):
            self.enter(next(phase for phase in PHASES if phase.startswith(said.lower())))


class Listening:
    """A provider whose answers are also heard by the dream's progress.

    It is not asked any more once the dream has lost the lock.
    """

    def __init__(
        self, provider: Provider, progress: DreamProgress, is_still_ours: Callable[[], bool]
    ) -> None:
        self._provider = provider
        self._progress = progress
        self._is_still_ours = is_still_ours

    async def complete(self, request: ModelRequest, deadline_seconds: float) -> ModelAnswer:
        if not self._is_still_ours():
            raise LostLock
        answer = await self._provider.complete(request, deadline_seconds)
        self._progress.answered(answer)
        return answer


class DreamModel(msgspec.Struct, frozen=True):
    """Who dreams when there is a model."""

    provider: Provider
    model: str
    limits: RunLimits = LIMITS


# --- by rules -----------------------------------------------------------------------------------


def dream_by_rules(
    stage: WorkingCopy,
    source: MemoryDirectory,
    history: VersionTable,
    similarity: Similarity | None,
    progress: DreamProgress,
) -> None:
    """Blocking: what can be done surely."""
    progress.enter("orient")
    notes = believed_notes(stage)
    progress.enter("gather")
    changed = dream_plan.plan(with_pasts(notes, source, history), similarity)
    progress.enter("consolidate")
    write_notes(stage, changed)
    tidy_up(stage, progress)


@cache
def word_similarity() -> Similarity | None:
    """How close two texts are by the recall's word vectors; None where none are installed."""
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


def settle_dates(stage: WorkingCopy, source: MemoryDirectory, history: VersionTable) -> None:
    notes = with_pasts(believed_notes(stage), source, history)
    dated = [(note, dream_plan.with_dates(note)) for note in notes]
    write_notes(stage, [after for before, after in dated if after.text != before.text])


def tidy_up(stage: WorkingCopy, progress: DreamProgress) -> None:
    """The last phase, whoever dreamt: the index true, short and within its limits."""
    progress.enter("prune and index")
    stage.store.repair(stage.directory)
    try:
        stored = stage.store.read(stage.directory, INDEX_FILE)
    except MemorydError:  # no memories, or no index wanted
        return
    alive = [one for one in stage.store.scan(stage.directory) if not one.retired]
    pointers = {
        one.file: index.pointer(
            topics.title_of(one.topic, one.file), one.file, one.topic.description
        )
        for one in alive
    }
    text = dream_plan.tidy_index(stored.text, pointers, [one.file for one in alive])
    if text != stored.text:
        stage.store.put_back(
            stage.directory, INDEX_FILE, text.encode(), over=stored.version, cause="dream"
        )


def believed_notes(stage: WorkingCopy) -> list[BelievedMemory]:
    scanned = {one.file: one for one in stage.store.scan(stage.directory)}
    return [
        BelievedMemory(file, stored.text, stored.modified)
        for file, stored in stage.after().items()
        if file in scanned and not scanned[file].retired
    ]


def with_pasts(
    notes: Iterable[BelievedMemory], source: MemoryDirectory, history: VersionTable
) -> Iterator[BelievedMemory]:
    """The notes, each that speaks of relative dates with all that it said before."""
    for note in while_wanted(notes):
        if note.topic.type == "project" and dream_plan.has_relative_dates(note.text):
            yield msgspec.structs.replace(note, past=_past(note.file, source, history))
        else:
            yield note


def _past(file: str, source: MemoryDirectory, history: VersionTable) -> tuple[Past, ...]:
    versions = [one for one in history.versions(source.path, file) if one.sha256]
    return tuple(
        Past(one.at, history.content(source.path, file, one.version).decode("utf-8", "replace"))
        for one in reversed(versions)
        if one.cause != "refused"
    )


def write_notes(stage: WorkingCopy, notes: Sequence[BelievedMemory]) -> None:
    """New texts in the copy, as of the time that each is from."""
    for note in notes:
        over = stage.store.read(stage.directory, note.file).version
        stage.store.write(stage.directory, note.file, note.text, over=over, cause="dream")
        stage.backdate(note.file, note.modified)


# --- with a model -------------------------------------------------------------------------------


async def dream_with_model(
    mind: DreamModel,
    stage: WorkingCopy,
    ground: DreamTarget,
    progress: DreamProgress,
    *,
    transcripts: Sequence[str],
    sessions: Sequence[TouchedSession],
    closed: tuple[str, ...],
    is_still_ours: Callable[[], bool],
    now: float,
) -> AgentReport:
    """The model's run over the copy; Unavailable when it came to nothing."""
    progress.enter("orient")
    # The memories of projects lie among their transcripts.
    memories = (ground.directory.path, *(f"{folder}/memory" for folder in transcripts))
    view = View(
        ground.project or stage.directory.path,
        stage.directory,
        others=ground.others,
        transcripts=tuple(transcripts),
        closed=(*closed, *memories),
    )
    writer = MemoryWriter(
        view,
        stage.store,
        cause="dream",
        session_id="",
        state_folder=stage.folder,
        provenance=await anyio.to_thread.run_sync(DreamProvenance, stage, now),
    )
    tools = AgentTools(view, writer)
    notes = await anyio.to_thread.run_sync(stage.store.scan, stage.directory)
    opening = prompts.dream_opening(
        prompts.JobPlace(stage.directory.path, ground.project, ", ".join(transcripts)),
        [_manifest_line(one) for one in notes if not one.retired][:MANIFEST_LIMIT],
        prompts.IndexLimits(),
        datetime.fromtimestamp(now).astimezone().date(),
    )
    job = AgentJob(
        "dream",
        ground.project,
        mind.model,
        prompts.system_blocks(),
        (*opening, Text(_sessions_told(sessions))),
    )
    listening = Listening(mind.provider, progress, is_still_ours)
    report = await agent.run(job, listening, tools, mind.limits)
    if report.ended not in {"done", "turn-limit", "tool-limit", "money-limit"}:
        words = report.error.message if report.error else f"the model's answer was {report.ended}"
        raise Unavailable(f"the model could not dream: {words}")
    return report


def said_at_the_end(report: AgentReport) -> str:
    return mask(report.final_text)[:SAID_CHARACTERS]


def _pointer(one: Listed) -> str:
    return index.pointer(topics.title_of(one.topic, one.file), one.file, one.topic.description)


def _manifest_line(one: Listed) -> str:
    return mask(topics.manifest_line(one.file, one.topic, one.modified))


def _sessions_told(sessions: Sequence[TouchedSession]) -> str:
    lines = [f"- {one.path} ({topics.iso_time(one.modified)})" for one in sessions]
    more = len(lines) - LISTED_SESSIONS
    lines = lines[:LISTED_SESSIONS] + ([f"- and {more} older ones"] if more > 0 else [])
    return "# Sessions since the last time, newest first\n" + ("\n".join(lines) or "(none)")
