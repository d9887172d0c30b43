"""Where a memory that a model writes comes from: checked and stamped by us before it is written.

Rules
- `source`, `created` and `trust` are ours. A new memory gets the session and the time of what was
  said; an existing one keeps what it had. The model can lower trust, never raise it.
- Whose words a memory consists of is judged sentence by sentence (`judgement`): what the person
  typed is theirs, anything else is marked as concluded, and what print asks for is refused.
- `user-said` is a memory whose rule is the person's. It stays `user-said` as long as every change
  to its rule is; otherwise it is `agent-concluded`.
- What a person said is removed, and a memory of theirs superseded, only where they speak of it.
- The name of a new file says nothing that the note does not.
- New is what was not there before the task, even if it was written piece by piece.
- What no door saves (`exclusions`) is refused as a new memory; an existing one may say it too.
- A header has no field that we do not know, unless it was there before: nobody would judge it.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from memoryd.agent.rules.access import Denied
from memoryd.agent.writer import MemoryDraft
from memoryd.base.errors import MemorydError
from memoryd.base.timestamps import iso_time
from memoryd.extraction.exclusions import next_step, reason_of
from memoryd.extraction.rules.judgement import (
    GUARDED_TYPES,
    Judged,
    gone_from,
    judged,
    quoted_phrase,
)
from memoryd.extraction.rules.messages import printed_in, said_at, spoken
from memoryd.extraction.rules.origin_evidence import (
    OriginEvidence,
    SaidText,
    speaks_for_person,
)
from memoryd.extraction.rules.wording import has_denial, keys_in
from memoryd.extraction.rules.written_down import WrittenDown
from memoryd.extraction.task import ExtractionTask
from memoryd.memories.records import MemoryDirectory, Stored
from memoryd.memories.rules import headers, topics
from memoryd.memories.rules.origins import with_origin
from memoryd.memories.rules.topics import Topic, TopicType, Trust
from memoryd.memories.store import Store
from memoryd.memories.version_table import VersionTable
from memoryd.text.decode import decoded

TELLING_WORDS: Final = 3

_OUR_FIELDS = frozenset(
    {"name", "description", "type", "created", "source", "trust", "supersedes", "valid_until"}
    | {"review_by", "checked", "gone"}
)


class Provenance:
    """Checks the drafts of one task for one directory against what was said in it; blocking."""

    def __init__(
        self,
        store: Store,
        versions: VersionTable,
        task: ExtractionTask,
        now: float,
        known: WrittenDown | None = None,
        *,
        directory: MemoryDirectory | None = None,
        evidence: OriginEvidence | None = None,
    ) -> None:
        self._store = store
        self._versions = versions
        self._task = task
        self._now = now
        self._directory = directory or task.project.memory
        self._said_at = iso_time(last_prompt_at(task, now))
        self._evidence = evidence or evidence_of(task)
        self._known = known or WrittenDown()

    def of_directory(self, directory: MemoryDirectory) -> "Provenance":
        """The same for another directory: what was said and shown counts for both."""
        return Provenance(
            self._store,
            self._versions,
            self._task,
            self._now,
            self._known,
            directory=directory,
            evidence=self._evidence,
        )

    def was_shown(self, text: str) -> None:
        self._evidence.add_printed(text)

    def attested(self, draft: MemoryDraft) -> str:
        before, old = self._before(draft)
        new = topics.parse(draft.text)
        becomes_guarded = new.type in GUARDED_TYPES and old.type not in GUARDED_TYPES
        verdict = self._judged(new, Topic() if becomes_guarded else old)
        self._check_what_it_changes(new, old, verdict)
        if before is None:
            self._check_worth(new.body)
        was_there = draft.before if before is not None else None
        if was_there is None:
            check_file_name(draft.file, new, verdict)
        fields = {
            "created": old.created or self._first_seen(was_there),
            "source": old.source or self._task.session_id,
            "trust": trust_of(verdict, new, old if was_there else None),
        }
        return rewritten(draft.text, new, verdict, fields, before or "")

    def trust_in(self, type_: TopicType, text: str) -> Trust:
        """How far a line of the log can be trusted; Denied where a memory would be."""
        entry = Topic(type=type_, body=text)
        verdict = self._judged(entry, Topic())
        self._check_worth(text)
        # A line of the log has no marks: one that would be marked is concluded as a whole.
        is_said = verdict.is_said and verdict.body == text
        return "user-said" if is_said else "agent-concluded"

    def _check_worth(self, body: str) -> None:
        from memoryd.extraction.rules.exclusions import exclusion_of  # noqa: PLC0415 - its patterns take a while

        if found := exclusion_of(body, self._known):
            raise Denied("excluded", f"{reason_of(found)}; {next_step(found, 'agent')}")

    def _first_seen(self, was_there: Stored | None) -> str:
        return iso_time(was_there.modified) if was_there else self._said_at

    def _judged(self, new: Topic, old: Topic) -> Judged:
        verdict = judged(new, old, self._evidence)
        if verdict.refusal:
            raise Denied("not-the-persons", verdict.refusal)
        return verdict

    def _check_what_it_changes(self, new: Topic, old: Topic, verdict: Judged) -> None:
        if _is_the_persons(old):
            for gone in gone_from(old, new):
                if not self._evidence.speaks_of(gone):
                    raise Denied(
                        "not-the-persons",
                        f"the note holds what the person said, {quoted_phrase(gone)}, and they said"
                        " nothing about it in these messages. One retry is allowed: leave that as"
                        " it is.",
                    )
        for file in set(new.supersedes) - set(old.supersedes):
            self._check_superseding(file, verdict)

    def _check_superseding(self, file: str, verdict: Judged) -> None:
        theirs = self._persons_memory(file)
        if theirs is None:
            return
        speaks_of_it = self._evidence.speaks_of(f"{theirs.name}\n{theirs.body}")
        if not (speaks_of_it and self._evidence.shares_words(verdict.body)):
            raise Denied(
                "not-the-persons",
                f"{file} holds what the person said; only what they say now can supersede it",
            )

    def _persons_memory(self, file: str) -> Topic | None:
        try:
            topic = self._store.read(self._directory, file).topic
        except MemorydError:  # no such file, so it supersedes nothing
            return None
        return topic if _is_the_persons(topic) else None

    def _before(self, draft: MemoryDraft) -> tuple[str | None, Topic]:
        """What the file said before the task, as text and topic; None if it did not exist."""
        first = written_so_far(self._versions, self._task, self._directory).get(draft.file)
        if first is None:
            return (draft.before.text, draft.before.topic) if draft.before else (None, Topic())
        folder = self._directory.path
        older = [one for one in self._versions.versions(folder, draft.file) if one.version < first]
        kept = next((one for one in older if one.cause != "refused"), None)
        if kept is None or not kept.sha256:
            return None, Topic()
        text = decoded(self._versions.content(folder, draft.file, kept.version))
        return text, with_origin(topics.parse(text), self._versions.origins.of(kept.sha256))


def written_so_far(
    versions: VersionTable, task: ExtractionTask, directory: MemoryDirectory
) -> dict[str, int]:
    """The files that attempts at this task have written there, each with its first version."""
    return versions.made_by(
        directory.path, cause="extraction", session_id=task.session_id, since=task.began
    )


def evidence_of(task: ExtractionTask) -> OriginEvidence:
    """What was said, printed and answered in the turns of a task, and said earlier."""
    prompts = (SaidText(part.text, said_at(part)) for turn in task.turns for part in spoken(turn))
    earlier = map(SaidText, task.said_before)
    return OriginEvidence(
        (*earlier, *prompts),
        (text for turn in task.turns for text in printed_in(turn)),
        (part.text for turn in task.turns for part in turn.prose),
    )


def last_prompt_at(task: ExtractionTask, now: float) -> float:
    """When the person last spoke in these turns."""
    moments = [said_at(part) for turn in task.turns for part in spoken(turn)]
    known = [moment.timestamp() for moment in moments if moment is not None]
    return known[-1] if known else now


def trust_of(verdict: Judged, new: Topic, old: Topic | None) -> Trust:
    """How far a memory can be trusted once it says `new`; `old` is None if it did not exist."""
    if new.trust == "agent-concluded" or (old is not None and old.trust != "user-said"):
        return "agent-concluded"
    return "user-said" if verdict.is_said else "agent-concluded"


def check_file_name(file: str, new: Topic, verdict: Judged) -> None:
    """An index shows the name of a file too: it says nothing that the note does not say."""
    if new.type not in GUARDED_TYPES:
        return
    stem = file.rpartition("/")[2].removesuffix(".md").removeprefix(f"{new.type}_")
    title = stem.replace("_", " ").replace("-", " ")
    note = f"{verdict.name}\n{verdict.description}\n{verdict.body}"
    foreign = keys_in(title) - keys_in(note)
    turns_it = has_denial(note) and not has_denial(title)
    is_order = speaks_for_person(title) and (foreign or turns_it)
    if not is_order and len(foreign) < TELLING_WORDS:
        return
    raise Denied(
        "bad-name",
        f"the name of the file, {quoted_phrase(title)}, says what the note does not. One retry is"
        f" allowed: {new.type}_ and two to five words of the note, such as its subject",
    )


def rewritten(
    text: str, new: Topic, verdict: Judged, fields: Mapping[str, str | None], before: str
) -> str:
    """The draft with what was decided about it: its title, its marks, its fields."""
    whole = text.rstrip()
    if verdict.body != new.body and whole.endswith(new.body):
        text = whole[: len(whole) - len(new.body)] + verdict.body + text[len(whole) :]
    given = {"name": new.name, "description": new.description}
    lines = {"name": verdict.name, "description": verdict.description}
    changes: dict[str, str | None] = dict.fromkeys(_unknown_fields(text, before))
    changes |= {key: line for key, line in lines.items() if line != given[key]}
    return headers.change(headers.without_new_comments(text, before), {**changes, **fields})


def _unknown_fields(text: str, before: str) -> Iterable[str]:
    fields, there = headers.read(text)[0], headers.read(before)[0]
    for key, value in fields.items():
        if isinstance(value, dict) and key == "metadata":
            old = there.get(key)
            kept = old if isinstance(old, dict) else {}
            yield from (one for one in value if one not in _OUR_FIELDS and one not in kept)
        elif key not in _OUR_FIELDS and value != there.get(key):
            yield key


def _is_the_persons(topic: Topic) -> bool:
    return topic.type in GUARDED_TYPES or topic.trust == "user-said"
