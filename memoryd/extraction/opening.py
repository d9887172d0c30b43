"""The first message of an extraction by a model: what exists, what waits, and what was said.

- What an interrupted or unfinished attempt saved is named, so that nothing is saved twice. Names of
  files are ours; titles of candidates are a model's words and are framed like all others.
- The last messages before these are shown as context, the person's and the assistant's.
- Everything is masked.
"""

from collections.abc import Iterator, Sequence
from datetime import datetime

import msgspec

from memoryd.base.timestamps import local_time
from memoryd.extraction.attribution import memory_folders
from memoryd.extraction.rules.agent_writes import saved_by_agent
from memoryd.extraction.rules.messages import messages
from memoryd.extraction.rules.written_down import excerpt
from memoryd.extraction.task import ExtractionTask
from memoryd.llm.rules.messages import Text
from memoryd.llm.rules.prompts import JobPlace, extraction_opening, quoted
from memoryd.memories.records import Listed, MemoryDirectory
from memoryd.memories.rules import topics
from memoryd.memories.rules.topics import MANIFEST_LIMIT
from memoryd.text.masking.mask import mask, presentable
from memoryd.text.shorten import cut_middle

SAVED_CHARS_MAX = 1000

_OF_AGENT = (
    "@memoryd This is the work of the sub-agent {name}, on a task that another agent gave it. The"
    " notes are its own: what would help it the next time it is called. No person speaks here, so"
    " there is nothing for user or feedback notes."
)


class EarlierAttempt(msgspec.Struct, frozen=True):
    """What attempts at the same turns left: files, and titles of what they put into the inbox."""

    files: Sequence[str] = ()
    offered: Sequence[str] = ()


def opening_of(
    task: ExtractionTask,
    notes: Sequence[Listed],
    attempt: EarlierAttempt,
    now: float,
    *,
    log_path: str = "",
    written_texts: Sequence[str] = (),
    wider: Sequence[MemoryDirectory] = (),
) -> tuple[Text, ...]:
    """`notes` are memories of the project and of `wider`, directories that notes may go to as well.

    `log_path` is set where the project keeps a log; `written_texts` are its instruction files.
    """
    alive = [one for one in notes if not one.retired]
    own = [one for one in alive if one.directory.scope == "project"][:MANIFEST_LIMIT]
    others = [one for one in alive if one.directory.scope != "project"][:MANIFEST_LIMIT]
    places = {one.scope: one.path for one in wider}
    said = (text for turn in task.turns for text in messages(turn))
    return extraction_opening(
        JobPlace(
            task.project.memory.path,
            task.project.root,
            user_dir=places.get("user", ""),
            group_dir=places.get("group", ""),
        ),
        [
            *(mask(topics.manifest_line(one.file, one.topic, one.modified)) for one in own),
            *(mask(topics.manifest_line(one.path, one.topic, one.modified)) for one in others),
        ],
        [*_told(attempt), *_preface(task), *said],
        datetime.fromtimestamp(now).astimezone().date(),
        waiting=[
            quoted("person", one.candidate.body.strip(), local_time(one.candidate.created))
            for one in task.candidates
        ],
        log_path=log_path,
        written_down=excerpt(map(mask, written_texts)),
    )


def _told(attempt: EarlierAttempt) -> Iterator[str]:
    broke_off = "@memoryd An attempt at these messages broke off after it had"
    if attempt.files:
        yield f"{broke_off} saved {', '.join(attempt.files)}. Do not save the same again."
    if attempt.offered:
        yield f"{broke_off} written what follows. Do not write the same again."
        yield quoted("notice", mask("\n".join(attempt.offered)))


def _preface(task: ExtractionTask) -> Iterator[str]:
    if task.agent:
        yield _OF_AGENT.format(name=presentable(task.agent))
    known = [*_saved_by_agent(task), *_context(task)]
    if known:
        yield from known
        yield "@memoryd The new messages:"


def _saved_by_agent(task: ExtractionTask) -> Iterator[str]:
    folders = memory_folders(task.project)
    writes = [one for turn in task.turns for one in saved_by_agent(turn, folders)]
    if writes:
        yield "@memoryd The assistant itself saved this meanwhile. Do not save it again:"
    for one in writes:
        text = presentable(f"{one.file}\n{one.text}")
        yield quoted("assistant", cut_middle(text, SAVED_CHARS_MAX))


def _context(task: ExtractionTask) -> Iterator[str]:
    before = task.before
    if not (before.person or before.assistant):
        return
    yield "@memoryd Before these messages, for context only:"
    if before.person:
        yield quoted("person", mask(before.person))
    if before.assistant:
        yield quoted("assistant", mask(before.assistant))
