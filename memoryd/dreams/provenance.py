"""How far the memories that a model writes in a dream can be trusted: no more than their sources.

- The person's sentences are those of the memories that the person said, as far as they are not
  marked as concluded. What a dream writes is judged by them as a draft of extraction is by what was
  typed: anything else, such as what was found in transcripts and files, is marked as concluded, and
  what print asks for is refused.
- A memory stays `user-said` only if its rule is theirs and, if it existed, it was before.
- What every project sees gets nothing from one of them: a name, path or person of a project that no
  memory of the user scope has named is refused there.
- A memory keeps its session and its time. A new one has the day of the dream.
"""

from collections.abc import Callable

from memoryd.agent.rules.access import Denied
from memoryd.agent.writer import MemoryDraft
from memoryd.base.timestamps import iso_time
from memoryd.dreams.working_copy import WorkingCopy
from memoryd.extraction.provenance import check_file_name, rewritten, trust_of
from memoryd.extraction.rules.judgement import (
    GUARDED_TYPES,
    all_texts,
    judged,
    quoted_phrase,
    unmarked_texts,
)
from memoryd.extraction.rules.origin_evidence import OriginEvidence
from memoryd.memories.rules import topics
from memoryd.memories.rules.private_names import ProjectNames, private_parts, words_of
from memoryd.memories.rules.topics import FOUND, Topic


class DreamProvenance:
    """Blocking; compares with the working copy as it is when this is made."""

    def __init__(
        self, copy: WorkingCopy, now: float, names: Callable[[], ProjectNames] | None = None
    ) -> None:
        self._names = names() if names else None
        self._now = now
        stored = copy.after()
        self._before = {file: one.topic for file, one in stored.items()}
        self._texts = {file: one.text for file, one in stored.items()}
        self._evidence = OriginEvidence(())
        for topic in self._before.values():
            for sentence in all_texts(topic):
                self._evidence.add_remembered(sentence)
            if topic.trust == "user-said":
                self._evidence.add_said("\n".join(unmarked_texts(topic)))

    def was_shown(self, text: str) -> None:
        self._evidence.add_printed(text)

    def attested(self, draft: MemoryDraft) -> str:
        new, old = topics.parse(draft.text), self._before.get(draft.file)
        verdict = judged(new, _to_count(new, old or Topic()), self._evidence)
        if verdict.refusal:
            raise Denied("not-the-persons", verdict.refusal)
        self._check_private(new)
        if old is None:
            check_file_name(draft.file, new, verdict)
        fields: dict[str, str] = {
            "created": old.created if old else iso_time(self._now),
            "source": old.source if old else "",
            "trust": trust_of(verdict, new, old),
        }
        # A memory without a trust field does not get one; a found one keeps what it claims.
        if old is not None and old.trust in {"", FOUND}:
            fields["trust"] = topics.parse(self._texts[draft.file]).trust
        given = {"created": new.created, "source": new.source, "trust": new.trust}
        changes = {key: value or None for key, value in fields.items() if value != given[key]}
        return rewritten(draft.text, new, verdict, changes, self._texts.get(draft.file, ""))

    def _check_private(self, new: Topic) -> None:
        if self._names is None:
            return
        known = frozenset(words_of("\n".join(self._texts.values())))
        for found in private_parts(
            f"{new.name.lower()}\n{new.description}\n{new.body}", self._names
        ):
            if not known.issuperset(words_of(found)):
                raise Denied(
                    "wrong-scope",
                    f"these notes are seen in every project, and {quoted_phrase(found)} belongs to"
                    " one of them; leave it out",
                )


def _to_count(new: Topic, old: Topic) -> Topic:
    """The old memory, if its sentences are known to be of the kind that the new one holds."""
    becomes_guarded = new.type in GUARDED_TYPES and old.type not in GUARDED_TYPES
    return Topic() if becomes_guarded else old
