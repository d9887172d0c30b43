"""The turns that wait to be extracted, and how far that got: the outlet of the table of turns.

- A turn leaves in one transaction with everything that is known about it by then. Until that it is
  found again, whatever happens.
- A beginning is noted before it is made, as a death of the daemon. Whoever lives to tell the ending
  takes the note back. So a death that a turn caused is known to the next daemon.
- A parked turn keeps its content, so that it can be tried again when somebody asks for that.
- The assistant's last words of a session are kept, since the next turn may be about them.
"""

import zlib
from collections.abc import Sequence

import msgspec

from memoryd.system.database import Database
from memoryd.text.masking.mask import mask
from memoryd.transcripts.rules.turns import Turn, WaitingTurn
from memoryd.transcripts.turn_table import EndState

LAST_WORDS_CHARS = 4000
LAST_WORDS_SECONDS = 30 * 86_400

_decode = msgspec.msgpack.Decoder(Turn).decode


class ParkedTurn(msgspec.Struct, frozen=True):
    turn_id: str
    project: str
    session_id: str
    reason: str


class Backlog:
    def __init__(self, state: Database) -> None:
        self._state = state

    def waiting(self) -> list[WaitingTurn]:
        """All pending turns in the order of their work: live ones first, then imported ones."""
        rows = self._state.run(
            "select id, project, session_id, ending in ('answered', 'local_command'),"
            " coalesce(failures, 0), coalesce(deaths, 0)"
            " from turns left join tries on tries.turn_id = turns.id"
            " where state = 'pending' order by imported, number"
        )
        return [
            WaitingTurn(*row[:3], complete=bool(row[3]), failures=row[4], deaths=row[5])
            for row in msgspec.convert(rows, list[tuple[str, str, str, int, int, int]])
        ]

    def turn(self, turn_id: str) -> Turn | None:
        """The content of one that still waits."""
        rows = self._state.run(
            "select packed from turns where id = ? and state = 'pending'", turn_id
        )
        found = msgspec.convert(rows, list[tuple[bytes]])
        return _decode(zlib.decompress(found[0][0])) if found else None

    def begin(self, ids: Sequence[str], at: float) -> float | None:
        """Notes that these are being worked on; when they were first, if this is not the first."""
        with self._state.transaction():
            before = [row for one in ids for row in self._began(one)]
            self._state.run_many(
                "insert into tries (turn_id, deaths, first_began) values (?, 1, ?)"
                " on conflict (turn_id) do update set deaths = deaths + 1",
                [(turn_id, at) for turn_id in ids],
            )
        return min(before, default=None)

    def let_go(self, ids: Sequence[str]) -> None:
        """The work on these ended without a result, and nobody died of it."""
        self._state.run_many(
            "update tries set deaths = 0 where turn_id = ?", [(turn_id,) for turn_id in ids]
        )

    def fail(self, ids: Sequence[str], parked: Sequence[str], reason: str, at: float) -> None:
        """One more failure of each, which was the last one for some."""
        with self._state.transaction():
            self._state.run_many(
                "insert into tries (turn_id, failures, first_began) values (?, 1, ?)"
                " on conflict (turn_id) do update set deaths = 0, failures = failures + 1",
                [(turn_id, at) for turn_id in ids],
            )
            self.park(parked, reason)

    def park(self, ids: Sequence[str], reason: str) -> None:
        self._state.run_many(
            "update turns set state = 'parked', reason = ? where id = ? and state = 'pending'",
            [(reason, turn_id) for turn_id in ids],
        )

    def finish(self, turns: Sequence[Turn], reason: str, at: float) -> None:
        """These are extracted: now, and not before, the cursor has passed them."""
        self._end(turns, "done", reason, at)

    def skip(self, turn: Turn, reason: str, at: float) -> None:
        """It is not worth extracting; what was said in it may still be answered to."""
        self._end([turn], "skipped", reason, at)

    def last_words(self, session_id: str) -> str:
        rows = self._state.run("select text from last_words where session_id = ?", session_id)
        return str(rows[0][0]) if rows else ""

    def parked(self) -> list[ParkedTurn]:
        """Newest first."""
        rows = self._state.run(
            "select id, project, session_id, reason from turns where state = 'parked'"
            " order by number desc"
        )
        return [ParkedTurn(*row) for row in msgspec.convert(rows, list[tuple[str, str, str, str]])]

    def retry_parked(self) -> int:
        """Gives every parked turn its tries back; how many there were."""
        with self._state.transaction():
            rows = self._state.run(
                "update turns set state = 'pending', reason = ''"
                " where state = 'parked' and packed is not null returning id"
            )
            self._state.run_many("delete from tries where turn_id = ?", rows)
        return len(rows)

    def _began(self, turn_id: str) -> list[float]:
        rows = self._state.run("select first_began from tries where turn_id = ?", turn_id)
        return [began for (began,) in msgspec.convert(rows, list[tuple[float]])]

    def _end(self, turns: Sequence[Turn], state: EndState, reason: str, at: float) -> None:
        with self._state.transaction():
            self._state.run_many(
                "update turns set state = ?, reason = ?, packed = null where id = ?",
                [(state, reason, turn.id) for turn in turns],
            )
            self._state.run_many("delete from tries where turn_id = ?", [(t.id,) for t in turns])
            for turn in turns:
                if turn.prose:
                    self._keep_last_words(turn, at)

    def _keep_last_words(self, turn: Turn, at: float) -> None:
        self._state.run(
            "insert or replace into last_words values (?, ?, ?)",
            turn.session_id,
            mask(turn.prose[-1].text)[-LAST_WORDS_CHARS:],
            at,
        )
        self._state.run("delete from last_words where at < ?", at - LAST_WORDS_SECONDS)
