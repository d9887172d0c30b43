"""A year of one project, made from a seed: what was remembered, and what of it is true on each day.

Every memory is one sentence about one subject. Kinds:

- `lasting`: true for ever; some are said again in slightly other words (`again`)
- `value`: one place, another value each time ("deploys of X run on Tuesdays")
- `order`: asked for, then forbidden, or the other way round
- `name`: a thing that gets another name
- `ended`: something that was done and is no longer done
- `deadline`: true until a day

Subjects are alike on purpose ("the billing importer", "the billing exporter"): a dream that takes
one for the other loses a fact that is true.
"""

import os
import random
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Literal

import msgspec

from memoryd.memories.rules import topics
from memoryd.memories.rules.topics import Topic, TopicType
from memoryd.memories.store import Store
from tests.support.dream_fixtures import DAY, DreamProject

Kind = Literal["lasting", "again", "value", "order", "name", "ended", "deadline"]

AREAS = (
    "billing", "search", "mail", "report", "login", "cart", "invoice", "stock", "photo", "map",
    "chat", "audit", "export", "price", "refund", "coupon", "profile", "survey", "ticket", "backup",
)  # fmt: skip
PARTS = (
    "importer", "exporter", "worker", "gateway", "parser", "cache", "scheduler", "dashboard",
    "mailer", "indexer", "sync", "queue", "proxy", "renderer", "checker",
)  # fmt: skip
DAYS = ("Mondays", "Tuesdays", "Wednesdays", "Thursdays", "Fridays")
NAMES = ("Kestrel", "Osprey", "Heron", "Plover", "Lapwing", "Curlew", "Dunlin", "Whimbrel")
PEOPLE = ("Ana", "Bertil", "Chiara", "Dmitri", "Esra", "Farid", "Greta", "Hiro")
ORDERS = (
    "mock the {subject} in unit tests",
    "rebase the {subject} branch before a review",
    "log the payload of the {subject}",
)
LASTING = (
    ("project", "{person} owns the {subject} and answers questions about it.",
     "{person} owns the {subject}, and answers all questions about it."),
    ("reference", "The runbook of the {subject} is at wiki.example/{slug}.",
     "The runbook of the {subject} is at wiki.example/{slug}!"),
    ("feedback", "Ask {person} before you change the schema of the {subject}.",
     "Please always ask {person} before you change the schema of the {subject}."),
    ("project", "The {subject} was split from the monolith because of {person}'s outage report.",
     "The {subject} was split from the monolith because of {person}'s outage report, really."),
)  # fmt: skip


class YearMemory(msgspec.Struct, frozen=True):
    """`until` is the last day on which it is true, by number; None if it stays true.

    `says` are words that are together in one memory as long as the fact is known.
    """

    day: int
    file: str
    kind: Kind
    type: TopicType
    text: str
    says: tuple[str, ...]
    subject: str
    trust: str = "user-said"
    until: int | None = None

    def is_true_on(self, day: int) -> bool:
        return self.until is None or day <= self.until


class _Maker:
    """Makes the memories of one year in their order."""

    def __init__(self, seed: int, days: int, count: int) -> None:
        self._random = random.Random(seed)
        self._days = days
        self._count = count
        self._subjects = [f"{area} {part}" for area in AREAS for part in PARTS]
        self._random.shuffle(self._subjects)
        self._made: list[YearMemory] = []
        self._open: dict[str, tuple[Kind, int]] = {}

    def made(self) -> list[YearMemory]:
        for number in range(self._count):
            self._make(number * self._days // self._count)
        return self._made

    def _make(self, day: int) -> None:
        kinds: tuple[Kind, ...] = (
            "lasting",
            "again",
            "value",
            "order",
            "name",
            "ended",
            "deadline",
        )
        kind = self._random.choices(kinds, (40, 12, 16, 8, 6, 6, 12))[0]
        match kind:
            case "lasting":
                self._lasting(day)
            case "again":
                self._again(day)
            case "deadline":
                self._deadline(day)
            case _:
                self._changing(day, kind)

    def _subject(self) -> str:
        return self._subjects.pop() if self._subjects else f"part {len(self._made)}"

    def _lasting(self, day: int) -> None:
        subject, person = self._subject(), self._random.choice(PEOPLE)
        type_, text, _ = self._random.choice(LASTING)
        slug = subject.replace(" ", "-")
        said = text.format(subject=subject, person=person, slug=slug)
        says = (subject, slug if "wiki" in said else person)
        self._add(day, "lasting", type_, said, says, subject)

    def _again(self, day: int) -> None:
        old = [one for one in self._made if one.kind == "lasting"]
        if not old:
            return self._lasting(day)
        one = self._random.choice(old)
        for _, text, other in LASTING:
            for person in PEOPLE:
                slug = one.subject.replace(" ", "-")
                words = {"subject": one.subject, "person": person, "slug": slug}
                if text.format(**words) == one.text:
                    said = other.format(**words)
                    return self._add(day, "again", one.type, said, one.says, one.subject)
        raise AssertionError(one)

    def _deadline(self, day: int) -> None:
        subject, last = self._subject(), day + self._random.randint(3, 40)
        iso = date_of(last)
        text = self._random.choice(
            (
                f"The audit of the {subject} is due on {iso}.",
                f"Until {iso}, the {subject} runs on the old cluster.",
                f"No releases of the {subject} until the freeze ends on {iso}.",
            )
        )
        self._add(day, "deadline", "project", text, (subject, iso), subject, until=last)

    def _changing(self, day: int, kind: Kind) -> None:
        """Something new that can change, or the change of something older."""
        older = [one for one in self._made if one.subject in self._open and one.kind == kind]
        older = [one for one in older if one.until is None and day - one.day >= 2]
        if older and self._random.random() < 0.6:
            return self._changed(day, self._random.choice(older))
        subject = self._subject()
        self._open[subject] = (kind, len(self._made))
        type_, text, says = self._statement(kind, subject, "")
        return self._add(day, kind, type_, text, says, subject)

    def _changed(self, day: int, old: YearMemory) -> None:
        at = self._made.index(old)
        self._made[at] = msgspec.structs.replace(old, until=day - 1)
        type_, text, says = self._statement(old.kind, old.subject, old.text)
        if old.kind == "ended":
            del self._open[old.subject]
        self._add(day, old.kind, type_, text, says, old.subject)

    def _statement(
        self, kind: Kind, subject: str, old: str
    ) -> tuple[TopicType, str, tuple[str, ...]]:
        pick = self._random.choice
        match kind:
            case "value":
                value = pick([day for day in DAYS if day not in old])
                return "project", f"Deploys of the {subject} run on {value}.", (subject, value)
            case "order":
                number = self._open[subject][1] % len(ORDERS)
                order = ORDERS[number].format(subject=subject)
                word = "Never" if old.startswith("Always") else "Always"
                return "feedback", f"{word} {order}.", (f"{word} ", order)
            case "name":
                value = pick([name for name in NAMES if name not in old])
                now = " now" if old else ""
                return "project", f"The {subject} is called {value}{now}.", (subject, value)
            case _:
                if old:
                    text = f"We no longer test the {subject} by hand."
                    return "project", text, (subject, "no longer")
                text = f"We test the {subject} by hand."
                return "project", text, (subject, "We test")

    def _add(
        self,
        day: int,
        kind: Kind,
        type_: str,
        text: str,
        says: tuple[str, ...],
        subject: str,
        until: int | None = None,
    ) -> None:
        trust = "user-said" if self._random.random() < 0.9 else "agent-concluded"
        file = f"{type_}_{len(self._made):04}.md"
        kind_of_memory: TopicType = msgspec.convert(type_, TopicType)
        self._made.append(
            YearMemory(day, file, kind, kind_of_memory, text, says, subject, trust, until)
        )


def year_of(seed: int = 18, days: int = 300, count: int = 600) -> list[YearMemory]:
    """The memories of a year, oldest first, with how long each stays true."""
    return _Maker(seed, days, count).made()


START = datetime(2026, 1, 5, 12, tzinfo=UTC)


def date_of(day: int) -> str:
    return (START + timedelta(days=day)).date().isoformat()


class NightReport(msgspec.Struct, frozen=True):
    day: int
    index_lines: int
    index_bytes: int
    lost: list[str]
    still_there: int
    to_retire: int


class DreamYear:
    """Lives the year in a project: memories by day, a dream by night."""

    def __init__(self, project: DreamProject, memories: list[YearMemory]) -> None:
        self.project = project
        self.memories = memories
        self.nights = 1 + max(one.day for one in memories)

    def live(self, day: int) -> None:
        """The day's memories are saved; then it is night."""
        for one in self.memories:
            if one.day == day:
                self._write(one)
        self.project.store.repair(self.project.directory)
        self.project.now = START.timestamp() + day * DAY + DAY / 2
        self.project.real += DAY

    def _write(self, one: YearMemory) -> None:
        at = START.timestamp() + one.day * DAY
        topic = Topic(
            name=one.text.rstrip(".!")[:60],
            description=one.text,
            type=one.type,
            created=f"{date_of(one.day)}T12:00:00Z",
            trust=one.trust,
            body=one.text + "\n",
        )
        path = Path(self.project.memory, one.file)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(topics.render(topic), encoding="utf-8")
        os.utime(path, (at, at))

    def report(self, day: int) -> NightReport:
        """How the store is in the morning after this day."""
        index = self.project.index()
        current = current_texts(self.project.store, self.project)
        said = [one for one in self.memories if one.day <= day]
        lost = [
            one.text
            for one in said
            if one.is_true_on(day + 1) and not is_said(one, current.values())
        ]
        wrong = [one for one in said if not one.is_true_on(day)]
        return NightReport(
            day,
            index.count("\n"),
            len(index.encode()),
            lost,
            sum(one.file in current for one in wrong),
            len(wrong),
        )


def is_said(one: YearMemory, texts: Iterable[str]) -> bool:
    return any(all(word in text for word in one.says) for text in texts)


def current_texts(store: Store, project: DreamProject) -> dict[str, str]:
    return {
        one.file: store.read(project.directory, one.file).topic.body
        for one in store.scan(project.directory)
        if not one.topic.retired
    }
