"""Memories of somebody who is new to this machine wait in the inbox; blocking.

- A teammate's machine may be in other hands. So the first memories of each author wait, until a
  person accepts one of them: from then on that author's memories are taken over as they come.
- One that is rejected stays away, in this version, and what is on disk stays as it is.
- Few of an author's memories are shown at a time: they are samples to decide by.
"""

from collections.abc import Callable, Sequence
from typing import Final, Literal

from memoryd.base.timestamps import iso_time
from memoryd.memories.inbox_table import Candidate, InboxTable
from memoryd.memories.rules import topics
from memoryd.team.rules.entries import EntryText
from memoryd.team.rules.plan import ServerEntry
from memoryd.team.team_table import JoinedProject
from memoryd.text.decode import decoded
from memoryd.text.masking.mask import presentable

SAMPLES: Final = 10

Verdict = Literal["accepted", "rejected", "waiting"]


class TeamReview:
    def __init__(self, inbox: InboxTable, now: Callable[[], float]) -> None:
        self._inbox = inbox
        self._now = now

    def verdict_on(self, project: JoinedProject, entry: EntryText) -> Verdict:
        """What a person said of it; it is offered to them if they were not asked yet."""
        candidate = candidate_of(project, entry)
        state = self._inbox.state_of(project.folder, candidate)
        if state is None:
            self._inbox.add(project.folder, candidate, at=self._now())
        return state or "waiting"

    def withdraw(self, project: JoinedProject, author: str) -> None:
        """The author is known by now: nothing of theirs is a question any more."""
        waiting = self._inbox.waiting([project.folder])
        self._inbox.withdraw([one.id for one in waiting if one.candidate.author == author])


def samples(held: Sequence[ServerEntry]) -> list[ServerEntry]:
    """The newest few of each author."""
    shown: dict[str, list[ServerEntry]] = {}
    for one in sorted(held, key=lambda one: one.version, reverse=True):
        shown.setdefault(one.author, []).append(one)
    return [one for entries in shown.values() for one in entries[:SAMPLES]]


def candidate_of(project: JoinedProject, entry: EntryText) -> Candidate:
    at = iso_time(entry.version.stamp / 1_000_000)
    author = presentable(entry.author)
    if entry.text is None:
        topic = topics.Topic(
            name=f"{author} removed {entry.name}",
            type="project",
            body=f"{author} removed {entry.name} for the whole team on {at}.\n",
        )
    else:
        topic = topics.parse(presentable(decoded(entry.text)))
    return Candidate(
        project=project.root,
        scope="team",
        type=topic.type or "project",
        name=topics.title_of(topic, entry.name),
        description=topic.description,
        body=topic.body,
        created=at,
        session_id="",
        trust="imported",
        around=f"from {author}, whose memories you did not take over on this machine so far",
        reason="team",
        author=entry.author,
        entry=entry.name,
    )
