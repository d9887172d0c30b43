"""How far the memories that a model writes in a dream can be trusted: no more than their sources.

- The person's words are those of the memories that the person said. A memory that a dream writes
  stays `user-said` only if it consists of them and was `user-said` before, if it existed; anything
  else, such as what was found in transcripts and files, is `agent-concluded`.
- A memory keeps its session and its time. A new one has the day of the dream.
"""

from memoryd.agent.writer import MemoryDraft
from memoryd.base.timestamps import iso_time
from memoryd.dreams.working_copy import WorkingCopy
from memoryd.extraction.provenance import news_of, trust_of
from memoryd.extraction.rules.origin_evidence import OriginEvidence
from memoryd.memories.rules import headers, topics
from memoryd.memories.rules.topics import Topic


class DreamProvenance:
    """Blocking; compares with the working copy as it is when this is made."""

    def __init__(self, copy: WorkingCopy, now: float) -> None:
        self._now = now
        self._before = {file: stored.topic for file, stored in copy.after().items()}
        said = (topic for topic in self._before.values() if topic.trust == "user-said")
        self._evidence = OriginEvidence(
            f"{one.name}\n{one.description}\n{one.body}" for one in said
        )

    def was_shown(self, text: str) -> None:
        self._evidence.add_printed(text)

    def attested(self, draft: MemoryDraft) -> str:
        new, old = topics.parse(draft.text), self._before.get(draft.file)
        news = news_of(new, old or Topic())
        fields = {
            "created": old.created if old else iso_time(self._now),
            "source": old.source if old else "",
            "trust": trust_of(self._evidence, new, old, news),
        }
        # A memory without a trust field does not get one.
        if old is not None and not old.trust:
            fields["trust"] = ""
        given = {"created": new.created, "source": new.source, "trust": new.trust}
        changes = {key: value or None for key, value in fields.items() if value != given[key]}
        return headers.change(draft.text, changes) if changes else draft.text
