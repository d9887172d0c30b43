"""The inlet of the table of turns: every turn that was seen, once. `backlog` is the outlet.

Rules
- A turn's id is its opening line's uuid, whatever file it stands in: the first sight of it counts,
  every other is nothing new.
- `pending` turns wait to be worked on and carry their content. The other states are ends: `done`,
  `skipped` (on purpose), `parked` (tried too often), `abandoned` (a rewind left it on a dead
  branch). The id stays for ever, the content only with what may be tried again.
- `old` turns were there before the first start. Only an import makes them pending.
- Imported turns are marked: who works now should not wait for last month.
"""

import zlib
from collections.abc import Callable, Iterable, Sequence
from typing import Literal

import msgspec

from memoryd.base.errors import InvalidInput
from memoryd.system.database import Database
from memoryd.transcripts.rules.turns import Turn

EndState = Literal["done", "skipped", "parked", "abandoned"]
TurnState = EndState | Literal["pending", "old"]

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Turn).decode


class QueuedTurn(msgspec.Struct, frozen=True):
    """A turn with the root of its project and the transcript that it was first seen in."""

    turn: Turn
    project: str
    path: str


def root_named(cwd: str, root_of: Callable[[str], str]) -> str:
    """The root of the project that a line names; empty where it names no usable directory."""
    try:
        return root_of(cwd)
    except InvalidInput:
        return ""


class TurnQueue:
    def __init__(self, state: Database) -> None:
        self._state = state

    def add(self, filed: Iterable[QueuedTurn], *, at: float) -> list[QueuedTurn]:
        """Those that are new; a turn without a project is seen and skipped."""
        with self._state.transaction():
            return [one for one in filed if self._insert(one, at)]

    def add_imported(self, filed: Iterable[QueuedTurn], *, at: float) -> list[QueuedTurn]:
        """Those that were not worked on before; old ones become pending."""
        with self._state.transaction():
            return [one for one in filed if self._insert(one, at, imported=True)]

    def add_old(self, turns: Iterable[Turn], path: str, *, at: float) -> None:
        """Makes the ids of turns known that are not to be worked on."""
        self._state.run_many(
            "insert into turns (id, session_id, path, started, ended, ending, state, at)"
            " values (?, ?, ?, ?, ?, ?, 'old', ?) on conflict (id) do nothing",
            [(t.id, t.session_id, path, t.started, t.ended, t.ending, at) for t in turns],
        )

    def abandon(self, turn_id: str, path: str) -> None:
        """A fork that abandons its copy says nothing about the turn in its own transcript."""
        session_id = path.rpartition("/")[2].removesuffix(".jsonl")
        self._state.run(
            "update turns set state = 'abandoned', packed = null"
            " where id = ? and state = 'pending' and (path = ? or session_id = ?)",
            turn_id,
            path,
            session_id,
        )

    def last_project(self, session_id: str) -> str:
        """Of the session's newest turn; empty where none was seen."""
        sql = "select project from turns where session_id = ? order by number desc limit 1"
        rows = self._state.run(sql, session_id)
        return msgspec.convert(rows, list[tuple[str]])[0][0] if rows else ""

    def projects(self) -> list[str]:
        """The roots of all projects that a turn was ever seen of."""
        rows = self._state.run("select distinct project from turns where project != ''")
        return [root for (root,) in msgspec.convert(rows, list[tuple[str]])]

    def states(self, ids: Sequence[str]) -> dict[str, TurnState]:
        """Of those among these turns that were seen."""
        sql = "select id, state from turns where id = ?"
        rows = [row for turn_id in ids for row in self._state.run(sql, turn_id)]
        return dict(msgspec.convert(rows, list[tuple[str, TurnState]]))

    def _insert(self, one: QueuedTurn, at: float, *, imported: bool = False) -> bool:
        turn = one.turn
        state = "pending" if one.project else "skipped"
        again = (
            "do update set project = excluded.project, state = excluded.state,"
            " reason = excluded.reason, imported = 1, packed = excluded.packed"
            " where turns.state = 'old'"
            if imported
            else "do nothing"
        )
        rows = self._state.run(
            "insert into turns (id, project, session_id, path, started, ended, ending, state,"  # noqa: S608 - fixed words
            " reason, imported, at, packed) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
            f" on conflict (id) {again} returning number",
            turn.id,
            one.project,
            turn.session_id,
            one.path,
            turn.started,
            turn.ended,
            turn.ending,
            state,
            "" if one.project else "no working directory",
            int(imported),
            at,
            zlib.compress(_encode(turn), 1) if one.project else None,
        )
        return bool(rows)
