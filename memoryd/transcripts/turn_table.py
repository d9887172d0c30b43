"""The table of turns: every turn that was seen, once, until it is extracted.

- A turn's id is the uuid of its opening line, whatever file it is in. A turn counts when it is
  first seen; later copies are ignored.
- `pending` turns wait for extraction and carry their content. The other states are final: `done`,
  `skipped` (on purpose), `parked` (failed too often), `abandoned` (a rewind left it on a dead
  branch). The id stays forever, the content only while the turn may still be tried.
- `old` turns existed before the first start. Only an import makes them pending, and imported turns
  come after live ones.
- A turn leaves the queue in one transaction with its result. Until then it is found again after
  any crash.
- Before work begins it is recorded as a crash, and the record is removed when the work ends. So
  the next daemon knows which turns the last one crashed on.
- The last messages of each session, the person's and the assistant's, are kept: the next turn may
  refer to them.
"""

import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Literal

import msgspec

from memoryd.base.errors import InvalidInput
from memoryd.system.database import Cell, Database
from memoryd.text.masking.mask import mask
from memoryd.transcripts.rules.turns import Turn, TurnPart, WaitingTurn

LAST_WORDS_CHARS = 4000
LAST_SAID_CHARS = 1500
LAST_WORDS_SECONDS = 30 * 86_400
PRUNE_SECONDS = 3600.0

EndState = Literal["done", "skipped", "parked", "abandoned"]
TurnState = EndState | Literal["pending", "old"]

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Turn).decode


class QueuedTurn(msgspec.Struct, frozen=True):
    """A turn that was just stored, with its project's root and the transcript it was seen in.

    `skipped` says why its content is not kept.
    """

    turn: Turn
    project: str
    path: str
    skipped: str = ""


class LastWords(msgspec.Struct, frozen=True):
    """What the person and the assistant said last, masked and cut."""

    person: str = ""
    assistant: str = ""


class ParkedTurn(msgspec.Struct, frozen=True):
    turn_id: str
    project: str
    session_id: str
    reason: str


def root_named(cwd: str, root_of: Callable[[str], str]) -> str:
    """The root of the project that a line's cwd is in; empty if the cwd is not usable."""
    try:
        return root_of(cwd)
    except InvalidInput:
        return ""


def _last_of(parts: Sequence[TurnPart], limit_chars: int) -> str:
    return mask(parts[-1].text)[-limit_chars:] if parts else ""


_WaitingRow = tuple[str, str, str, int, int, int, int, float, int]


def _readable(rows: Sequence[Sequence[Cell]]) -> list[_WaitingRow]:
    try:
        return msgspec.convert(rows, list[_WaitingRow])
    except msgspec.ValidationError:
        found: list[_WaitingRow] = []
        for row in rows:
            with suppress(msgspec.ValidationError):
                found.append(msgspec.convert(row, _WaitingRow))
        return found


class TurnTable:
    def __init__(self, database: Database) -> None:
        self._database = database
        self._words_pruned_at = 0.0

    # --- in ---------------------------------------------------------------------------------------

    def add(self, found: Iterable[QueuedTurn], *, at: float) -> list[QueuedTurn]:
        """Stores turns and returns the new ones; one without a project is stored as skipped."""
        with self._database.transaction():
            return [one for one in found if self._insert(one, at)]

    def add_imported(self, found: Iterable[QueuedTurn], *, at: float) -> list[QueuedTurn]:
        """Stores turns and returns those now pending: new ones, and old ones not extracted yet."""
        with self._database.transaction():
            return [one for one in found if self._insert(one, at, imported=True)]

    def add_old(self, turns: Iterable[Turn], path: str, *, at: float) -> None:
        """Records the ids of turns that are not to be extracted."""
        self._database.run_many(
            "insert into turns (id, session_id, path, started, ended, ending, state, at)"
            " values (?, ?, ?, ?, ?, ?, 'old', ?) on conflict (id) do nothing",
            [(t.id, t.session_id, path, t.started, t.ended, t.ending, at) for t in turns],
        )

    def abandon(self, turn_id: str, path: str) -> None:
        """Only by the turn's own transcript: a fork that abandons its copy changes nothing."""
        session_id = path.rpartition("/")[2].removesuffix(".jsonl")
        self._database.run(
            "update turns set state = 'abandoned', packed = null"
            " where id = ? and state = 'pending' and (path = ? or session_id = ?)",
            turn_id,
            path,
            session_id,
        )

    def last_project(self, session_id: str) -> str:
        """The project of the session's newest turn; empty if it has none."""
        sql = "select project from turns where session_id = ? order by number desc limit 1"
        rows = self._database.run(sql, session_id)
        return msgspec.convert(rows, list[tuple[str]])[0][0] if rows else ""

    def projects(self) -> list[str]:
        """The roots of all projects that ever had a turn."""
        rows = self._database.run("select distinct project from turns where project != ''")
        return [root for (root,) in msgspec.convert(rows, list[tuple[str]])]

    def states(self, ids: Sequence[str]) -> dict[str, TurnState]:
        """The states of these turns; unknown ids are left out."""
        sql = "select id, state from turns where id = ?"
        rows = [row for turn_id in ids for row in self._database.run(sql, turn_id)]
        return dict(msgspec.convert(rows, list[tuple[str, TurnState]]))

    # --- out --------------------------------------------------------------------------------------

    def waiting(self) -> list[WaitingTurn]:
        """All pending turns in order: live ones first, then imported ones.

        A row whose cells are damaged is left out: it must not hold up the others.
        """
        rows = self._database.run(
            "select id, project, session_id, ending in ('answered', 'local_command'),"
            " coalesce(failures, 0), coalesce(deaths, 0), coalesce(unfinished, 0),"
            " case when imported then 0.0 else at end, imported"
            " from turns left join tries on tries.turn_id = turns.id"
            " where state = 'pending' order by imported, number"
        )
        return [
            WaitingTurn(*row[:3], bool(row[3]), *row[4:7], row[7], bool(row[8]))
            for row in _readable(rows)
        ]

    def turn(self, turn_id: str) -> Turn | None:
        """The content of a pending turn."""
        rows = self._database.run(
            "select packed from turns where id = ? and state = 'pending'", turn_id
        )
        found = msgspec.convert(rows, list[tuple[bytes]])
        return _decode(zlib.decompress(found[0][0])) if found else None

    def begin(self, ids: Sequence[str], at: float) -> float | None:
        """Records a start of work; returns when it first started, if this is a retry."""
        with self._database.transaction():
            before = [row for one in ids for row in self._began(one)]
            self._database.run_many(
                "insert into tries (turn_id, deaths, first_began) values (?, 1, ?)"
                " on conflict (turn_id) do update set deaths = deaths + 1",
                [(turn_id, at) for turn_id in ids],
            )
        return min(before, default=None)

    def let_go(self, ids: Sequence[str]) -> None:
        """Work on these ended without a result and without a crash."""
        self._database.run_many(
            "update tries set deaths = 0 where turn_id = ?", [(turn_id,) for turn_id in ids]
        )

    def fail(self, ids: Sequence[str], parked: Sequence[str], reason: str, at: float) -> None:
        """Counts one more failure for each, and parks those that failed too often."""
        with self._database.transaction():
            self._database.run_many(
                "insert into tries (turn_id, failures, first_began) values (?, 1, ?)"
                " on conflict (turn_id) do update set deaths = 0, failures = failures + 1",
                [(turn_id, at) for turn_id in ids],
            )
            self.park(parked, reason)

    def leave_unfinished(
        self, counts: Mapping[str, int], parked: Sequence[str], reason: str
    ) -> None:
        """Work on these ended at a limit; `counts` says how often by now."""
        with self._database.transaction():
            self._database.run_many(
                "update tries set deaths = 0, unfinished = ? where turn_id = ?",
                [(count, turn_id) for turn_id, count in counts.items()],
            )
            self.park(parked, reason)

    def park(self, ids: Sequence[str], reason: str) -> None:
        self._database.run_many(
            "update turns set state = 'parked', reason = ? where id = ? and state = 'pending'",
            [(reason, turn_id) for turn_id in ids],
        )

    def finish(self, turns: Sequence[Turn], reason: str, at: float) -> None:
        """These are extracted and never tried again."""
        self._end(turns, "done", reason, at)

    def skip(self, turn: Turn, reason: str, at: float) -> None:
        """Not worth extracting; its last message is kept, since the next turn may refer to it."""
        self._end([turn], "skipped", reason, at)

    def last_words(self, session_id: str) -> LastWords:
        """The last messages of the session's turns that have left the queue."""
        rows = self._database.run(
            "select person, text from last_words where session_id = ?", session_id
        )
        return LastWords(str(rows[0][0]), str(rows[0][1])) if rows else LastWords()

    def parked(self) -> list[ParkedTurn]:
        """Newest first."""
        rows = self._database.run(
            "select id, project, session_id, reason from turns where state = 'parked'"
            " order by number desc"
        )
        return [ParkedTurn(*row) for row in msgspec.convert(rows, list[tuple[str, str, str, str]])]

    def retry_parked(self) -> int:
        """Makes every parked turn pending again, with its retries reset; returns how many.

        When they were first begun is kept: an attempt may have saved something.
        """
        with self._database.transaction():
            rows = self._database.run(
                "update turns set state = 'pending', reason = ''"
                " where state = 'parked' and packed is not null returning id"
            )
            self._database.run_many(
                "update tries set failures = 0, deaths = 0, unfinished = 0 where turn_id = ?", rows
            )
        return len(rows)

    # --- rows -------------------------------------------------------------------------------------

    def _insert(self, one: QueuedTurn, at: float, *, imported: bool = False) -> bool:
        turn = one.turn
        skipped = one.skipped or ("" if one.project else "no working directory")
        again = (
            "do update set project = excluded.project, state = excluded.state,"
            " reason = excluded.reason, imported = 1, packed = excluded.packed"
            " where turns.state = 'old'"
            if imported
            else "do nothing"
        )
        rows = self._database.run(
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
            "skipped" if skipped else "pending",
            skipped,
            int(imported),
            at,
            None if skipped else zlib.compress(_encode(turn), 1),
        )
        return bool(rows)

    def _began(self, turn_id: str) -> list[float]:
        rows = self._database.run("select first_began from tries where turn_id = ?", turn_id)
        return [began for (began,) in msgspec.convert(rows, list[tuple[float]])]

    def _end(self, turns: Sequence[Turn], state: EndState, reason: str, at: float) -> None:
        with self._database.transaction():
            self._database.run_many(
                "update turns set state = ?, reason = ?, packed = null where id = ?",
                [(state, reason, turn.id) for turn in turns],
            )
            self._database.run_many("delete from tries where turn_id = ?", [(t.id,) for t in turns])
            for session_id in dict.fromkeys(turn.session_id for turn in turns):
                self._keep_last_words([t for t in turns if t.session_id == session_id], at)

    def _keep_last_words(self, turns: Sequence[Turn], at: float) -> None:
        """An answer without a message of the person's, or the reverse, replaces only itself."""
        person = (_last_of(turn.spoken, LAST_SAID_CHARS) for turn in reversed(turns))
        assistant = (_last_of(turn.prose, LAST_WORDS_CHARS) for turn in reversed(turns))
        if not any(turn.prose or turn.spoken for turn in turns):
            return
        self._database.run(
            "insert into last_words (session_id, person, text, at) values (?, ?, ?, ?)"
            " on conflict (session_id) do update set at = excluded.at,"
            " person = iif(excluded.person = '', person, excluded.person),"
            " text = iif(excluded.text = '', text, excluded.text)",
            turns[-1].session_id,
            next(filter(None, person), ""),
            next(filter(None, assistant), ""),
            at,
        )
        if abs(at - self._words_pruned_at) > PRUNE_SECONDS:
            self._database.run("delete from last_words where at < ?", at - LAST_WORDS_SECONDS)
            self._words_pruned_at = at
