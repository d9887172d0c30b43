"""Memories that a person should look at: those that ended, aged, or cite what is gone.

- Keeping one says that it is still true: it is due again when its type says so (`expiry`), an end
  in the past and a citation that is gone are taken out of its header. Its text stays as it is.
- Retiring one moves it to `.retired/`, from where `memoryd restore` brings it back.
- Nothing is due in what is retired already.
"""

from collections.abc import Callable
from datetime import date
from typing import Literal

import msgspec

from memoryd.base.timestamps import iso_time
from memoryd.dreams.evidence import Evidence, MemoryUse
from memoryd.memories.catalog import Catalog
from memoryd.memories.records import Listed
from memoryd.memories.rules import headers, topics
from memoryd.memories.rules.expiry import has_ended, next_review, review_day
from memoryd.memories.scopes import Scopes
from memoryd.memories.store import Store
from memoryd.text.masking.mask import presentable

DueReason = Literal["ended", "gone", "old"]


class DueMemory(msgspec.Struct, frozen=True, kw_only=True):
    """`since` is the day on which it became due; `gone` is what it cites and was not found."""

    path: str
    file: str
    name: str
    type: str
    scope: str
    reason: DueReason
    since: str
    age: str
    text: str
    gone: str = ""


class Reviewed(msgspec.Struct, frozen=True):
    """`path` is where the memory is now; `review_by` when it is due again, if it was kept."""

    path: str
    review_by: str = ""


class DueReviews:
    """Blocking."""

    def __init__(
        self,
        scopes: Scopes,
        store: Store,
        catalog: Catalog,
        evidence: Evidence,
        now: Callable[[], float],
    ) -> None:
        self._scopes = scopes
        self._store = store
        self._catalog = catalog
        self._evidence = evidence
        self._now = now

    def list(self, cwd: str) -> list[DueMemory]:
        """Those of all scopes of a project, the longest due first."""
        today = self._today()
        found = []
        for directory in self._scopes.project(cwd).directories:
            uses = self._evidence.uses(directory)
            for one in self._store.scan(directory):
                reason, since = due_because(one, uses.get(one.file, MemoryUse()), today)
                if reason is not None and not one.topic.retired:
                    found.append(self._due(one, reason, since))
        return sorted(found, key=lambda one: (one.since, one.path))

    def keep(self, cwd: str, named: str) -> Reviewed:
        """It is still true: due again later."""
        one = self._catalog.find(cwd, named)
        stored = self._store.read(one.directory, one.file)
        today = self._today()
        review_by = next_review(stored.topic.type, date.fromisoformat(today))
        changes: dict[str, str | None] = {"review_by": review_by}
        if stored.topic.gone:
            changes |= {"gone": None, "checked": today}
        if has_ended(stored.topic, today):
            changes["valid_until"] = None
        text = headers.change(stored.text, changes)
        written = self._store.write(
            one.directory, one.file, text, over=stored.version, cause="user"
        )
        return Reviewed(written.path, review_by)

    def retire(self, cwd: str, named: str) -> Reviewed:
        one = self._catalog.find(cwd, named)
        to = self._store.retire(one.directory, one.file, cause="user")
        return Reviewed(f"{one.directory.path}/{to}")

    def _due(self, one: Listed, reason: DueReason, since: str) -> DueMemory:
        stored = self._store.read(one.directory, one.file)
        return DueMemory(
            path=one.path,
            file=one.file,
            name=topics.title_of(one.topic, one.file),
            type=one.topic.type or "",
            scope=one.directory.scope,
            reason=reason,
            since=since,
            age=topics.age_in_words(one.modified, self._now()),
            text=presentable(stored.topic.body).strip(),
            gone=presentable(one.topic.gone),
        )

    def _today(self) -> str:
        return iso_time(self._now())[:10]


def due_because(one: Listed, use: MemoryUse, today: str) -> tuple[DueReason | None, str]:
    """Why a memory is due and since when; None if it is not."""
    topic = one.topic
    if has_ended(topic, today):
        return "ended", topic.valid_until
    if topic.gone:
        return "gone", topic.checked or today
    day = review_day(topic, one.modified, use.last_used)
    return ("old", day) if "" < day <= today else (None, "")
