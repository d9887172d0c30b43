"""How far what a model makes of the notes in a dream can be trusted: no further than they were.

- The person's words are here those of the notes that they said. A note that a dream writes is
  `user-said` when it consists of them, and was that before if it was there; everything else, such
  as what was found in transcripts and files, is `agent-concluded`.
- A note keeps its session and its time. A new one is from the day of the dream.
"""

from memoryd.agent.writer import MemoryDraft
from memoryd.base.timestamps import iso_time
from memoryd.dreams.working_copy import WorkingCopy
from memoryd.extraction.provenance import news_of, trust_of
from memoryd.extraction.rules.origin_evidence import OriginEvidence
from memoryd.memories.rules import headers, topics
from memoryd.memories.rules.topics import Topic


class DreamProvenance:
    """Blocking; for one dream over one copy, as it is now."""

    def __init__(self, stage: WorkingCopy, now: float) -> None:
        self._now = now
        self._before = {file: stored.topic for file, stored in stage.after().items()}
        said = (topic for topic in self._before.values() if topic.trust == "user-said")
        self._evidence = OriginEvidence(
            f"{one.name}\n{one.description}\n{one.body}" for one in said
        )

    def was_shown(self, text: str) -> None:
        self._evidence.add_printed(text)

    def attested(self, draft: MemoryDraft) -> str:
        new, old = topics.parse(draft.text), self._before.get(draft.file)
        news = news_of(new, old or Topic())
        made = {
            "created": old.created if old else iso_time(self._now),
            "source": old.source if old else "",
            "trust": trust_of(self._evidence, new, old, news),
        }
        # One that never said where it is from is not made to.
        if old is not None and not old.trust:
            made["trust"] = ""
        given = {"created": new.created, "source": new.source, "trust": new.trust}
        changes = {key: value or None for key, value in made.items() if value != given[key]}
        return headers.change(draft.text, changes) if changes else draft.text
