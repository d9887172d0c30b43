"""A tenth of a company against one real Postgres: 1,000 developers, 50 repositories, 20 in each.

usage: benchmarks/load.py [SECONDS]     (of each measured phase; 20 by default, 60 at most)

- Every developer has a login and a connection of their own, and listens to their repository, all
  of them at once. Their statements are those of the daemon.
- What is reported per operation is CPU time of the server's processes: the machine is shared, and a
  company's server has more of it. Times are beside that, for what they are worth.
- Bounded in time and count; a server of its own on a local socket, removed afterwards.
"""

import asyncio
import random
import statistics
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from team import percentile, text_of

from memoryd.devices.private_server import PrivateServer, RowPush
from memoryd.team.postgres import TeamServer
from memoryd.team.rules.address import address_in
from memoryd.team.rules.entries import EntryPush, hash_of
from tests.support.postgres import (
    OWNER,
    SETTINGS,
    PostgresServer,
    TeamDatabase,
    new_database,
    programs,
    running_server,
)

DEVELOPERS, REPOSITORIES = 1000, 50
ENTRIES, OWN_ROWS, ROW_BYTES = 400, 100, 1024
# 20 changes a developer and working day of eight hours, five times as many in the busiest hour.
CHANGES_A_DAY, PEAK = 20, 5
SECONDS, MOST_SECONDS, TASKS = 20.0, 60.0, 32
ROOMY = SETTINGS.replace("max_connections = 60", "max_connections = 1100").replace(
    "shared_buffers = 16MB", "shared_buffers = 256MB"
)


class Developer:
    def __init__(self, number: int, server: TeamServer) -> None:
        self.project = f"example.com/acme/repository-{number % REPOSITORIES}"
        self.server = server
        self.own = PrivateServer(server)
        self.heard: list[float] = []
        self.pushed = 0

    async def listen(self) -> None:
        await self.server.listen(self.project, lambda: self.heard.append(time.perf_counter()))

    async def poll(self) -> None:
        await self.server.fingerprint(self.project)

    async def push(self) -> None:
        await self.push_quietly()
        await self.server.notify(self.project)

    async def push_quietly(self) -> None:
        self.pushed += 1
        text = text_of(self.pushed).encode()
        name = f"by_{self.server.address.user}_{self.pushed}.md"
        assert await self.server.push(self.project, [EntryPush(name, hash_of(text), text, None)])

    async def push_own(self) -> None:
        self.pushed += 1
        row = RowPush(f"{self.pushed:040x}", random.randbytes(ROW_BYTES), None)
        assert await self.own.push("device", 1, [row])


def server_cpu(server: PostgresServer) -> float:
    """CPU seconds of the server's processes that live, and of those that have ended."""
    assert server._process is not None  # noqa: SLF001 - it is ours
    first = server._process.pid  # noqa: SLF001
    children = Path(f"/proc/{first}/task/{first}/children").read_text().split()
    total = sum(_ticks(int(one), own=True) for one in [str(first), *children])
    return (total + _ticks(first, own=False)) / 100.0


def _ticks(number: int, *, own: bool) -> int:
    try:
        fields = Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0
    return sum(map(int, fields[11:13] if own else fields[13:15]))


def memory_mb(server: PostgresServer) -> float:
    """What the server's processes have for themselves, shared pages counted once."""
    assert server._process is not None  # noqa: SLF001
    first = server._process.pid  # noqa: SLF001
    children = Path(f"/proc/{first}/task/{first}/children").read_text().split()
    kilobytes = 0
    for one in [str(first), *children]:
        try:
            lines = Path(f"/proc/{one}/smaps_rollup").read_text().splitlines()
        except OSError:
            continue
        kilobytes += sum(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
    return kilobytes / 1024


async def filled(database: TeamDatabase) -> None:
    """Roles, members and what they wrote before."""
    owner = await TeamServer.open(address_in(database.dsn(OWNER)))
    roles = [f"dev{number}" for number in range(DEVELOPERS)]
    database.sql(
        f"do $$ begin for n in 0..{DEVELOPERS - 1} loop"
        " execute format('create role dev%s login', n); end loop; end $$"
    )
    for project in range(REPOSITORIES):
        members = roles[project::REPOSITORIES]
        await owner.set_up(f"example.com/acme/repository-{project}", members, ())
    await owner.close()
    head = "'example.com/acme/repository-' || p, 'fact_' || e || '.md', e, e, md5(e::text), 500"
    series = f"generate_series(0, {REPOSITORIES - 1}) p, generate_series(1, {ENTRIES}) e"
    texts = "convert_to(repeat('x', 500), 'utf8')"
    sealed = f"decode(repeat('ab', {ROW_BYTES}), 'hex')"
    rows = f"'dev' || d, md5(d || '-' || r), r, r, 'device', 1, {sealed}"
    people = f"generate_series(0, {DEVELOPERS - 1}) d, generate_series(1, {OWN_ROWS}) r"
    for table, values, source in (
        ("entries", f"{head}, 'dev0'", series),
        ("versions", f"{head}, 'dev0', {texts}", series),
        ("private_rows", rows, people),
    ):
        database.sql(f"insert into memoryd.{table} select {values} from {source}")  # noqa: S608 - fixed words
    database.sql("analyze")


async def at_full_speed(
    server: PostgresServer, seconds: float, work: Callable[[], Awaitable[None]]
) -> tuple[float, float]:
    """Operations a second of 32 tasks, and milliseconds of the server's CPU for each."""
    done, began, cpu = 0, time.perf_counter(), server_cpu(server)

    async def worker() -> None:
        nonlocal done
        while time.perf_counter() - began < seconds:
            await work()
            done += 1

    async with asyncio.TaskGroup() as tasks:
        for _ in range(TASKS):
            tasks.create_task(worker())
    return done / (time.perf_counter() - began), (server_cpu(server) - cpu) / done * 1000


async def at_peak(people: list[Developer], seconds: float) -> tuple[list[float], list[float], int]:
    """Seconds that a push takes and until the last teammate hears of it, at the busiest rate."""
    pause = 8 * 3600 / (DEVELOPERS * CHANGES_A_DAY * PEAK)
    pushes: list[float] = []
    heard: list[float] = []
    until = time.perf_counter() + seconds
    number = 0
    while time.perf_counter() < until:
        next_at = time.perf_counter() + random.expovariate(1 / pause)
        one = people[number * 7 % len(people)]
        number += 1
        team = [other for other in people if other.project == one.project]
        for other in team:
            other.heard.clear()
        began = time.perf_counter()
        await one.push()
        pushes.append(time.perf_counter() - began)
        while not all(other.heard for other in team):
            await asyncio.sleep(0.001)
            assert time.perf_counter() - began < 30, "somebody does not hear of it"
        heard.append(max(other.heard[0] for other in team) - began)
        await asyncio.sleep(max(0.0, next_at - time.perf_counter()))
    return pushes, heard, number


async def connected(database: TeamDatabase) -> list[Developer]:
    people: list[Developer] = []
    for first in range(0, DEVELOPERS, TASKS):
        numbers = range(first, min(first + TASKS, DEVELOPERS))
        addresses = [address_in(database.dsn(f"dev{number}")) for number in numbers]
        opened = await asyncio.gather(*(TeamServer.open(one) for one in addresses))
        people += [Developer(*one) for one in zip(numbers, opened, strict=True)]
    for one in people:
        await one.listen()
    return people


async def measured(server: PostgresServer, seconds: float) -> None:
    database = new_database(server)
    began = time.perf_counter()
    await filled(database)
    size = int(database.sql("select pg_database_size(current_database())")) / 2**20
    rows = REPOSITORIES * ENTRIES * 2 + DEVELOPERS * OWN_ROWS
    print(f"filled with {rows:,} rows, {size:.0f} MB, in {time.perf_counter() - began:.0f} s")
    empty, began = memory_mb(server), time.perf_counter()
    people = await connected(database)
    took, used = time.perf_counter() - began, memory_mb(server) - empty
    print(
        f"{len(people)} connections that listen, in {took:.0f} s:"
        f" {used / len(people):.1f} MB of the server's memory each"
    )
    free: asyncio.Queue[Developer] = asyncio.Queue()
    for one in people:
        free.put_nowait(one)

    def by_anybody(what: Callable[[Developer], Awaitable[None]]) -> Callable[[], Awaitable[None]]:
        async def work() -> None:
            one = await free.get()
            await what(one)
            free.put_nowait(one)

        return work

    cpu = server_cpu(server)
    for first in range(0, DEVELOPERS, TASKS):
        await asyncio.gather(*(one.push_quietly() for one in people[first : first + TASKS]))
    each = (server_cpu(server) - cpu) / DEVELOPERS * 1000
    print(f"the first push of a connection, once: {each:.1f} ms of the server's CPU")
    cpu = server_cpu(server)
    pushes, heard, count = await at_peak(people, seconds)
    spent = (server_cpu(server) - cpu) / count * 1000
    print(
        f"at the busiest hour's rate, {count / seconds:.1f} pushes a second, each heard by"
        f" {DEVELOPERS // REPOSITORIES}: push p50 {statistics.median(pushes) * 1000:.0f} ms, p99"
        f" {percentile(pushes, 0.99) * 1000:.0f}; heard by the last one p50"
        f" {statistics.median(heard) * 1000:.0f} ms, p99 {percentile(heard, 0.99) * 1000:.0f};"
        f" {spent:.1f} ms of the server's CPU each"
    )
    for name, what in (
        ("looks (one statement, 420 entries)", Developer.poll),
        ("pushes to a team, and all listen", Developer.push),
        ("pushes to a team while nobody listens", Developer.push),
        ("sealed rows of 1 KiB", Developer.push_own),
    ):
        if "nobody" in name:
            for one in people:
                await one.server.rows("unlisten *")
        rate, each = await at_full_speed(server, seconds, by_anybody(what))
        print(f"{name}: {rate:.0f} a second at most, {each:.2f} ms of the server's CPU each")
    for one in people:
        await one.server.close()


def main() -> int:
    if programs() is None:
        print("no Postgres server here: apt-get install postgresql")
        return 0
    seconds = min(float(sys.argv[1]) if len(sys.argv) > 1 else SECONDS, MOST_SECONDS)
    load = Path("/proc/loadavg").read_text().split()[0]
    print(f"the machine's load before: {load}")
    with running_server(ROOMY) as server:
        asyncio.run(measured(server, seconds))
    return 0


if __name__ == "__main__":
    sys.exit(main())
