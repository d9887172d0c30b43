"""What model calls cost, in state.db: each debited before it is made, with totals for people.

- A reservation is on disk, not only in the system's cache, when `reserve` returns.
- A row belongs to the day on which its call began, whenever its cost became known.
- The breaker is stored too, so that a restart does not bypass it.
"""

from datetime import date
from typing import Literal

import anyio.to_thread
import msgspec

from memoryd.llm.rules.messages import Usage
from memoryd.llm.rules.spending import Breaker, Spent
from memoryd.system.database import Database

Key = Literal["day", "job", "project", "model"]


class Total(msgspec.Struct, frozen=True):
    """What was spent on one day, job, project or model; an open call counts at its worst case."""

    name: str
    usd: float
    calls: int
    open_calls: int
    input_tokens: int
    output_tokens: int
    cache_read_tokens: int
    cache_write_tokens: int


class SpendingTable:
    """The guards' `Ledger`. Methods that are not async block; they are safe in any thread."""

    def __init__(self, database: Database) -> None:
        self.database = self._database = database

    async def spent(self, day: date) -> Spent:
        return await anyio.to_thread.run_sync(self.spent_by, day)

    async def reserve(self, job: str, project: str, model: str, usd: float, day: date) -> int:
        return await anyio.to_thread.run_sync(self._reserve, job, project, model, usd, day)

    async def settle(self, reservation: int, usage: Usage, usd: float) -> None:
        await anyio.to_thread.run_sync(
            self._database.run,
            "update spending set usd = ?, is_open = 0, input_tokens = ?, output_tokens = ?,"
            " cache_read_tokens = ?, cache_write_tokens = ? where id = ?",
            usd,
            usage.input_tokens,
            usage.output_tokens,
            usage.cache_read_tokens,
            usage.cache_write_tokens,
            reservation,
        )

    async def release(self, reservation: int) -> None:
        await anyio.to_thread.run_sync(
            self._database.run, "delete from spending where id = ?", reservation
        )

    async def keep_breaker(self, breaker: Breaker) -> None:
        await anyio.to_thread.run_sync(
            self._database.run,
            "insert or replace into breaker values (1, ?, ?, ?)",
            breaker.failures_in_a_row,
            breaker.opened_at,
            breaker.open_seconds,
        )

    def kept_breaker(self) -> Breaker:
        """The breaker as it was last saved, by this or an earlier process."""
        rows = self._database.run("select failures_in_a_row, opened_at, open_seconds from breaker")
        return Breaker(*msgspec.convert(rows[0], tuple[int, float, float])) if rows else Breaker()

    def spent_by(self, day: date) -> Spent:
        """What is debited to this day and its month."""
        ((today_usd, month_usd),) = self._database.run(
            "select coalesce(sum(usd) filter (where day = ?), 0.0), coalesce(sum(usd), 0.0)"
            " from spending where day between ? and ?",
            day.isoformat(),
            f"{day:%Y-%m}-01",
            f"{day:%Y-%m}-31",
        )
        return msgspec.convert({"today_usd": today_usd, "month_usd": month_usd}, Spent)

    def totals(self, key: Key, since: date) -> list[Total]:
        """Totals since this day; days in order, everything else most expensive first."""
        order = "name" if key == "day" else "usd desc, name"
        rows = self._database.run(
            f"select {key} as name, sum(usd) as usd, count(*), sum(is_open), sum(input_tokens),"  # noqa: S608 - `key` is one of four words
            " sum(output_tokens), sum(cache_read_tokens), sum(cache_write_tokens)"
            f" from spending where day >= ? group by name order by {order}",
            since.isoformat(),
        )
        names = Total.__struct_fields__
        return [msgspec.convert(dict(zip(names, row, strict=True)), Total) for row in rows]

    def _reserve(self, job: str, project: str, model: str, usd: float, day: date) -> int:
        ((number,),) = self._database.run(
            "insert into spending (day, job, project, model, usd) values (?, ?, ?, ?, ?)"
            " returning id",
            day.isoformat(),
            job,
            project,
            model,
            usd,
        )
        # A power cut right after the call must not lose it: this syncs the write-ahead log.
        self._database.run("pragma wal_checkpoint(passive)")
        return msgspec.convert(number, int)
