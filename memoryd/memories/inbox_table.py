"""The table `candidates`: statements that may be worth keeping, until somebody decides.

- A candidate is not a memory: it is in no folder, in no scan and never recalled.
- It belongs to one memory directory and is known there by its `key`, a hash of its words. So a
  statement waits once however often it is said, and one that was decided is not offered again.
- What was decided keeps its key and loses its text; what nobody took in `KEEP_DAYS` is gone.
- An inbox that nobody looks at stays small: beyond `MOST_WAITING` the oldest give way.
- A model sees a candidate until it has judged it once; then it waits for a person alone.
"""

import hashlib
import zlib
from collections.abc import Sequence
from typing import Final, Literal

import msgspec

from memoryd.base.errors import NotFound
from memoryd.memories.rules.topics import Scope, TopicType, Trust
from memoryd.system.database import Database
from memoryd.system.packing import unpacked
from memoryd.text.lazy_regex import late

KEEP_DAYS: Final = 30
MOST_WAITING: Final = 200
SECONDS_A_DAY: Final = 86_400

CandidateState = Literal["waiting", "accepted", "rejected"]
# Why a statement waits instead of being saved.
WaitReason = Literal[
    "may-last", "long-message", "review", "contradicts", "agent", "secret", "imported", "team"
]

_WORD = late(r"\w+")
_encode = msgspec.msgpack.Encoder().encode


class Candidate(msgspec.Struct, frozen=True, kw_only=True):
    """A statement that waits. All texts are masked.

    `project` is the root that it belongs to, `around` the message it was said in, cut;
    `contradicts` names the file of the directory that it may replace, `may_contradict` all of them.
    With `retires` it is a question: whether to retire that file, since what was said is
    saved as `successor` or only takes something back. What comes from the team has the teammate
    who wrote it as `author` and the file that it becomes as `entry`.
    """

    project: str
    scope: Scope = "project"
    type: TopicType
    name: str
    description: str
    body: str
    created: str
    session_id: str
    trust: Trust = "user-said"
    around: str = ""
    reason: WaitReason = "may-last"
    contradicts: str = ""
    may_contradict: tuple[str, ...] = ()
    retires: str = ""
    successor: str = ""
    author: str = ""
    entry: str = ""

    @property
    def key(self) -> str:
        """Of the words alone: punctuation and case do not make it another statement."""
        words = " ".join(_WORD.findall(self.body.casefold()))
        if self.author:  # the same words of somebody else are another question
            words = f"{self.author}\0{words}"
        return hashlib.sha256(words.encode("utf-8", "replace")).hexdigest()[:32]


class WaitingCandidate(msgspec.Struct, frozen=True, kw_only=True):
    """A candidate in the table: its id, its memory directory and since when it waits."""

    id: int
    folder: str
    since: float
    candidate: Candidate


_decode = msgspec.msgpack.Decoder(Candidate).decode


class InboxTable:
    """Blocking, safe from any thread."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, folder: str, candidate: Candidate, *, at: float) -> bool:
        """Whether it is new here: not waiting, and not decided before."""
        with self._database.transaction():
            rows = self._database.run(
                "insert into candidates (folder, key, state, at, packed)"
                " values (?, ?, 'waiting', ?, ?) on conflict (folder, key) do nothing returning id",
                folder,
                candidate.key,
                at,
                zlib.compress(_encode(candidate), 1),
            )
            self._database.run(
                "delete from candidates where id in (select id from candidates"
                " where folder = ? and state = 'waiting' order by id desc limit -1 offset ?)",
                folder,
                MOST_WAITING,
            )
        return bool(rows)

    def waiting(self, folders: Sequence[str] | None = None) -> list[WaitingCandidate]:
        """Those of these directories, or of all; oldest first."""
        rows = self._database.run(
            "select id, folder, at, packed from candidates where state = 'waiting' order by id"
        )
        found = msgspec.convert(rows, list[tuple[int, str, float, bytes]])
        return [
            WaitingCandidate(id=number, folder=folder, since=at, candidate=_decode(data))
            for number, folder, at, packed in found
            if (folders is None or folder in folders) and (data := unpacked(packed)) is not None
        ]

    def not_judged(self, folder: str) -> list[WaitingCandidate]:
        """Those that no model has judged yet; oldest first."""
        rows = self._database.run(
            "select id from candidates where folder = ? and state = 'waiting' and not is_judged",
            folder,
        )
        new = {number for (number,) in msgspec.convert(rows, list[tuple[int]])}
        return [one for one in self.waiting([folder]) if one.id in new] if new else []

    def mark_judged(self, numbers: Sequence[int]) -> None:
        """A model has seen these, and left them to a person."""
        self._database.run_many(
            "update candidates set is_judged = 1 where id = ?", [(number,) for number in numbers]
        )

    def count(self, folders: Sequence[str] | None = None) -> int:
        rows = self._database.run(
            "select folder, count(*) from candidates where state = 'waiting' group by folder"
        )
        counts = dict(msgspec.convert(rows, list[tuple[str, int]]))
        return sum(n for folder, n in counts.items() if folders is None or folder in folders)

    def get(self, number: int) -> WaitingCandidate:
        """NotFound if it does not wait, or no longer."""
        for one in self.waiting():
            if one.id == number:
                return one
        raise NotFound(f"candidate {number} is not in the inbox", hint="see memoryd inbox")

    def state_of(self, folder: str, candidate: Candidate) -> CandidateState | None:
        """None if nothing like it was ever offered here."""
        rows = self._database.run(
            "select state from candidates where folder = ? and key = ?", folder, candidate.key
        )
        found = msgspec.convert(rows, list[tuple[CandidateState]])
        return found[0][0] if found else None

    def decide(self, number: int, state: CandidateState, *, at: float) -> None:
        """It no longer waits; only its key is kept."""
        self._database.run(
            "update candidates set state = ?, at = ?, packed = null"
            " where id = ? and state = 'waiting'",
            state,
            at,
            number,
        )

    def withdraw(self, numbers: Sequence[int]) -> None:
        """They were never offered: they may be offered again."""
        self._database.run_many(
            "delete from candidates where id = ? and state = 'waiting'",
            [(number,) for number in numbers],
        )

    def to_hand_out(self, folder: str, limit: int) -> list[WaitingCandidate]:
        """Those that an agent was asked about least often, and counts them as asked once more.

        Questions whether to retire a memory, and what came with an archive, are not for it.
        """
        with self._database.transaction():
            rows = self._database.run(
                "select id, handed from candidates where folder = ? and state = 'waiting'", folder
            )
            asked = dict(msgspec.convert(rows, list[tuple[int, int]]))
            open_ = [
                one
                for one in self.waiting([folder])
                if not one.candidate.retires and one.candidate.reason not in {"imported", "team"}
            ]
            handed = sorted(open_, key=lambda one: (asked[one.id], one.id))[:limit]
            self._database.run_many(
                "update candidates set handed = handed + 1 where id = ?",
                [(one.id,) for one in handed],
            )
        return sorted(handed, key=lambda one: one.id)

    def expire(self, *, now: float) -> int:
        """Drops what nobody took in time; returns how many."""
        rows = self._database.run(
            "delete from candidates where state = 'waiting' and at < ? returning id",
            now - KEEP_DAYS * SECONDS_A_DAY,
        )
        return len(rows)
