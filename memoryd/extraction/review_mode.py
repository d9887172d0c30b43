"""Extraction in review mode, with a model: what it writes waits in the inbox, no memory is changed.

- A draft is checked as a memory would be, so that a person is only asked about what may be saved.
- A change of an existing memory is offered as a new one that takes its place.
- What an interrupted attempt has offered is known by its session and time; the next one is told.
"""

from memoryd.agent.rules.tool_schemas import EditInput, WriteInput
from memoryd.agent.view import Page
from memoryd.agent.writer import MemoryWriter, WrittenMemory
from memoryd.base.timestamps import iso_time
from memoryd.extraction.provenance import last_prompt_at
from memoryd.extraction.task import ExtractionTask
from memoryd.memories.inbox_table import Candidate
from memoryd.memories.records import Stored
from memoryd.memories.rules import topics
from memoryd.memories.rules.topics import Topic, Trust
from memoryd.text.masking.mask import presentable


class ReviewWriter:
    """What Write and Edit do in review mode; holds the candidates until the run is over."""

    def __init__(self, drafts: MemoryWriter, task: ExtractionTask, now: float) -> None:
        self._drafts = drafts
        self._task = task
        self._said_at = iso_time(last_prompt_at(task, now))
        self._whole: dict[str, Candidate] = {}
        self._edited: list[Candidate] = []

    @property
    def candidates(self) -> list[Candidate]:
        return [*self._whole.values(), *self._edited]

    def saw(self, page: Page) -> None:
        self._drafts.saw(page)

    def was_shown(self, text: str) -> None:
        self._drafts.was_shown(text)

    def whole(self, write: WriteInput) -> WrittenMemory:
        return self._drafts.whole(write)

    def edited(self, edit: EditInput) -> WrittenMemory:
        return self._drafts.edited(edit)

    def put(self, change: WrittenMemory) -> Stored:
        topic = topics.parse(presentable(change.text))
        if change.over is None:  # written again, it is the same candidate in better words
            self._whole[change.file] = self._candidate(topic, next(iter(topic.supersedes), ""))
        else:
            self._edited.append(self._candidate(topic, change.file))
        return Stored(self._task.project.memory, change.file, change.text, "", 0.0)

    def _candidate(self, topic: Topic, replaces: str) -> Candidate:
        trust: Trust = "user-said" if topic.trust == "user-said" else "agent-concluded"
        return Candidate(
            project=self._task.project.root,
            type=topic.type or "project",
            name=topic.name,
            description=topic.description,
            body=topic.body,
            created=self._said_at,
            session_id=self._task.session_id,
            trust=trust,
            reason="review",
            contradicts=replaces,
        )
