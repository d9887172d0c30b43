"""How much a model behind a command was used today, in state.db: it survives a restart.

Calls and tokens are those of the table of spending, under the name of the model. A call whose
tokens never became known counts as a large one.
"""

from datetime import date

import msgspec

from memoryd.llm.rules.plan import PlanPause, PlanUse
from memoryd.system.database import Database

# An extraction with a full list of memories, and its answer.
UNKNOWN_CALL_TOKENS = 12_000


class PlanTable:
    """Everything here blocks, and is safe in any thread."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def use(self, model: str, job: str, day: date) -> PlanUse:
        ((calls, tokens),) = self._database.run(
            "select count(*), coalesce(sum(input_tokens + output_tokens + cache_read_tokens"
            " + cache_write_tokens + is_open * ?), 0) from spending where day = ? and model = ?",
            UNKNOWN_CALL_TOKENS,
            day.isoformat(),
            model,
        )
        began = self._database.run("select began from plan_runs where job = ?", job)
        return PlanUse(
            calls=msgspec.convert(calls, int),
            tokens=msgspec.convert(tokens, int),
            last_began=msgspec.convert(began[0][0], float) if began else None,
            pause=self.pause(),
        )

    def note_begin(self, job: str, at: float) -> None:
        self._database.run("insert or replace into plan_runs values (?, ?)", job, at)

    def pause(self) -> PlanPause | None:
        rows = self._database.run("select words, since, until from plan_pause")
        return PlanPause(*msgspec.convert(rows[0], tuple[str, float, float])) if rows else None

    def keep_pause(self, pause: PlanPause) -> None:
        self._database.run(
            "insert or replace into plan_pause values (1, ?, ?, ?)",
            pause.words,
            pause.since,
            pause.until,
        )
