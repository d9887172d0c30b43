"""Why a memory is there: who said what and when, what it replaced, and how often it was recalled.

Blocking. The person's words come from the transcript, if that is still there, and are masked.
"""

from collections.abc import Sequence
from contextlib import suppress

import msgspec

from memoryd.base.errors import MemorydError, NotFound
from memoryd.base.timestamps import iso_time, seconds_of
from memoryd.extraction.rules.quotation import SpokenPrompt, prompt_behind
from memoryd.memories.records import MemoryDirectory, Stored
from memoryd.memories.rules import topics
from memoryd.memories.rules.retirement import name_when_current
from memoryd.memories.rules.topics import Topic
from memoryd.memories.store import Store
from memoryd.memories.version_table import Version
from memoryd.memories.versions import MemoryPlace, Versions
from memoryd.recall.usage import MemoryUsage
from memoryd.text.masking.mask import presentable
from memoryd.text.shorten import cut_middle
from memoryd.transcripts.sessions import Sessions

QUOTED_CHARACTERS = 1000


class WhyAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """`said` is what the person said, empty if the transcript is gone or shows nothing.

    `retired` is the day on which it was, if it was.
    """

    path: str
    file: str
    name: str
    type: str
    cause: str
    trust: str
    author: str
    """The teammate who wrote it, if one did."""
    session_id: str
    created: str
    said: str
    said_at: str
    transcript: str
    replaces: list[str]
    replaced_by: list[str]
    retired: str
    versions: int
    changed: str
    changed_by: str
    is_gone: bool
    times_recalled: int
    last_recalled: str
    recalled_in: str
    used: int
    contradicted: int
    silent: int
    rule_given: int
    rule_followed: int
    rule_broken: int


class Origins:
    def __init__(
        self, versions: Versions, store: Store, sessions: Sessions, usage: MemoryUsage
    ) -> None:
        self._versions = versions
        self._store = store
        self._sessions = sessions
        self._usage = usage

    def answer(self, cwd: str, named: str) -> WhyAnswer:
        place = self._versions.find(cwd, named)
        path = f"{place.directory.path}/{place.file}"
        history = [one for one in self._versions.history(cwd, path) if one.cause != "refused"]
        stored = self._stored(place)
        topic = stored.topic if stored else self._last_topic(cwd, path, history)
        first, last = _ends(history)
        source = "" if topic.source == topics.TYPED else topic.source
        session_id = source or first.session_id
        created = topic.created or (iso_time(first.at) if first.version else "")
        said, transcript = self._said(session_id, topic, created)
        use = self._usage.of(path)
        return WhyAnswer(
            path=path,
            file=place.file,
            name=presentable(topics.title_of(topic, place.file)),
            type=topic.type or "",
            cause=first.cause,
            trust=topic.trust if topic.trust in topics.SHOWN_TRUSTS else "",
            author=topic.author,
            session_id=presentable(session_id),
            created=presentable(created),
            said=cut_middle(presentable(said.text), QUOTED_CHARACTERS) if said else "",
            said_at=iso_time(said.at) if said and said.at else "",
            transcript=transcript,
            replaces=[presentable(name_when_current(old)) for old in topic.supersedes],
            replaced_by=self._replaced_by(place.directory, place.file),
            retired=topic.retired if stored else "",
            versions=len(history),
            changed=iso_time(last.at) if last.version else "",
            changed_by=last.cause,
            is_gone=stored is None,
            times_recalled=use.given,
            last_recalled=iso_time(use.last_given) if use.last_given else "",
            recalled_in=use.session_id,
            used=use.used,
            contradicted=use.contradicted,
            silent=use.silent,
            rule_given=use.rule_given,
            rule_followed=use.rule_followed,
            rule_broken=use.rule_broken,
        )

    def _stored(self, place: MemoryPlace) -> Stored | None:
        with suppress(NotFound):
            return self._store.read(place.directory, place.file)
        return None

    def _last_topic(self, cwd: str, path: str, history: Sequence[Version]) -> Topic:
        """What a memory that is gone said last."""
        last = next((one for one in history if one.sha256), None)
        return topics.parse(self._versions.text(cwd, path, last.version)) if last else Topic()

    def _said(self, session_id: str, topic: Topic, created: str) -> tuple[SpokenPrompt | None, str]:
        """The words behind it and the transcript they are in."""
        if not session_id:
            return None, ""
        try:
            found = self._sessions.prompts(session_id)
        except MemorydError:  # cleared away by the client, or by the person
            return None, ""
        prompts = [SpokenPrompt(one.text, seconds_of(one.at)) for one in found.said]
        return prompt_behind(prompts, topic.body, seconds_of(created)), found.path

    def _replaced_by(self, directory: MemoryDirectory, file: str) -> list[str]:
        """Its successors, those that were retired since included."""
        name = name_when_current(file)
        return [
            one.file
            for one in self._store.scan(directory) + self._store.retired(directory)
            if name in map(name_when_current, one.topic.supersedes) and one.file != file
        ]


def _ends(history: Sequence[Version]) -> tuple[Version, Version]:
    """The oldest and the newest version; empty ones for a file without history."""
    if not history:
        return Version(0, 0.0, "", "", "", 0), Version(0, 0.0, "", "", "", 0)
    return history[-1], history[0]
