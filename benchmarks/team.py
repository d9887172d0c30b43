"""Team memory between real daemons and a real Postgres on a local socket.

usage: benchmarks/team.py [SAVES]     (how many saves are followed; 15 by default)

Beside each figure stands what it is made of: a save waits 2 s for the next one by design, and the
bare driver on the same server shows what the network and the database alone would take.
"""

import asyncio
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from growth import durable

from memoryd.base.config import TeamSettings
from memoryd.team.postgres import TeamServer
from memoryd.team.rules.address import address_in
from memoryd.team.rules.entries import EntryPush, batches, hash_of, why_not_shared
from memoryd.team.worker import DEBOUNCE_SECONDS, LISTENING_FACTOR
from tests.support.postgres import (
    TeamDatabase,
    new_database,
    programs,
    running_server,
)
from tests.support.team import Machine, eventually, set_up

MEMORIES = 2000
REST_SECONDS = 60
SETTLING_SECONDS = 15
SAVES = 15


def text_of(number: int) -> str:
    words = f"Fact {number} of the shop is kept here. " * 12
    return f"---\nname: Fact {number}\ndescription: fact {number}\ntype: project\n---\n\n{words}\n"


def percentile(values: Sequence[float], share: float) -> float:
    return sorted(values)[min(len(values) - 1, int(len(values) * share))]


@contextmanager
def two_machines(database: TeamDatabase, folder: Path) -> Iterator[tuple[Machine, Machine]]:
    alice = Machine(folder / "a", "alice", database, poll_seconds=60)
    bob = Machine(folder / "b", "bob", database, poll_seconds=60)
    try:
        for one in (alice, bob):
            one.start()
        set_up(database, alice, "alice", "bob")
        for one in (alice, bob):
            one.call("team/join")
        yield alice, bob
    finally:
        for one in (alice, bob):
            one.daemon.end()


def save_to_visible(alice: Machine, bob: Machine, saves: int) -> list[float]:
    """Seconds from the answer to a save until the file is on the other machine."""
    took = []
    for number in range(saves):
        file = alice.save(f"Visible {number}", f"This is number {number}.\n")
        began = time.perf_counter()
        while file not in bob.files():
            time.sleep(0.005)
            assert time.perf_counter() - began < 120
        took.append(time.perf_counter() - began)
    return took


class FirstSync(NamedTuple):
    """Seconds, and those of the CPU of the daemon that did it."""

    pushed: float
    push_cpu: float
    pulled: float
    pull_cpu: float


def first_sync(alice: Machine, bob: Machine, memories: int) -> FirstSync:
    """So many memories are new on one machine, and then come to another one."""
    bob.call("team/leave")
    alice.save("Seed", "The folder is there.\n")
    for number in range(memories):
        alice.write(f"project_fact_{number}.md", text_of(number))
    before = cpu_seconds(alice)
    began = time.perf_counter()
    eventually(lambda: alice.call("team/sync")["entries"] >= memories, "all are on the server")
    pushed = time.perf_counter() - began
    push_cpu, before = cpu_seconds(alice) - before, cpu_seconds(bob)
    began = time.perf_counter()
    bob.call("team/join")
    eventually(lambda: len(bob.files()) >= memories, "all are on the other machine")
    pulled = time.perf_counter() - began
    return FirstSync(pushed, push_cpu, pulled, cpu_seconds(bob) - before)


def bare_writes(folder: Path, memories: int) -> float:
    """Seconds to write the same files durably, and nothing else."""
    folder.mkdir()
    began = time.perf_counter()
    for number in range(memories):
        durable(folder / f"fact_{number}.md", text_of(number).encode())
    return time.perf_counter() - began


def checking(memories: int) -> float:
    """CPU seconds to see whether so many memories may leave the machine."""
    texts = [text_of(number).encode() for number in range(memories)]
    began = time.process_time()
    assert not any(why_not_shared("fact.md", text) for text in texts)
    return time.process_time() - began


def bare_push(database: TeamDatabase, memories: int) -> float:
    """Seconds that the driver alone takes for the same rows, in another project's name."""

    async def push() -> float:
        server = await TeamServer.open(address_in(database.dsn("boss")))
        await server.set_up("bench/bare", ["boss"], ())
        texts = [text_of(number).encode() for number in range(memories)]
        pushes = [
            EntryPush(f"fact_{number}.md", hash_of(text), text, None)
            for number, text in enumerate(texts)
        ]
        began = time.perf_counter()
        for batch in batches((one, one.bytes) for one in pushes):
            await server.push("bench/bare", batch)
        took = time.perf_counter() - began
        await server.close()
        return took

    return asyncio.run(push())


def cpu_seconds(machine: Machine) -> float:
    assert machine.daemon.process is not None
    fields = Path(f"/proc/{machine.daemon.process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / 100


def statements(database: TeamDatabase) -> int:
    """Transactions of this database so far."""
    return int(
        database.sql(
            "select xact_commit + xact_rollback from pg_stat_database"
            " where datname = current_database()"
        )
    )


def cost_at_rest(
    joined: Machine, alone: Machine, database: TeamDatabase, seconds: float
) -> tuple[float, float, float]:
    """Milliseconds of CPU and transactions for one look at the server; and how many there were.

    `joined` looks often, `alone` belongs to no team: what it spends meanwhile does not count.
    """
    cpu, own, sent = cpu_seconds(joined), cpu_seconds(alone), statements(database)
    time.sleep(seconds)
    looks = seconds / LISTENING_FACTOR  # it looks every second, five times as rarely if it listens
    spent = max(0.0, cpu_seconds(joined) - cpu - (cpu_seconds(alone) - own))
    return spent / looks * 1000, (statements(database) - sent) / looks, looks


def main() -> int:
    if programs() is None:
        print("no Postgres server here: apt-get install postgresql")
        return 0
    saves = int(sys.argv[1]) if len(sys.argv) > 1 else SAVES
    with tempfile.TemporaryDirectory(dir="/tmp") as folder, running_server() as server:
        database = new_database(server)
        with two_machines(database, Path(folder)) as (alice, bob):
            took = save_to_visible(alice, bob, saves)
            print(
                f"save to visible on another machine, {saves} saves:"
                f" p50 {statistics.median(took):.2f} s, p99 {percentile(took, 0.99):.2f} s"
                f" (of which {DEBOUNCE_SECONDS:.0f} s wait for further changes)"
            )
            found = first_sync(alice, bob, MEMORIES)
            bare = bare_push(database, MEMORIES)
            disk = bare_writes(Path(folder) / "bare", MEMORIES)
            print(
                f"first sync of {MEMORIES} memories: pushed in {found.pushed:.1f} s"
                f" ({found.push_cpu:.1f} s of CPU, with what the daemon does for so many new files"
                f" anyway; to check them for secrets and size takes {checking(MEMORIES):.1f} s);"
                f" the bare driver pushes the same rows in {bare:.1f} s:"
                f" {found.pushed / bare:.1f} times"
            )
            print(
                f"  pulled in {found.pulled:.1f} s ({found.pull_cpu:.1f} s of CPU); to write the"
                f" same files durably takes {disk:.1f} s: {found.pulled / disk:.1f} times"
            )
            rows = alice.call("team/status")["entries"]
        eager = Machine(Path(folder) / "e", "alice", database, poll_seconds=1)
        alone = Machine(Path(folder) / "n", "bob", database)
        try:
            eager.start().call("team/join")
            alone.start()
            time.sleep(SETTLING_SECONDS)
            cpu_ms, sent, looks = cost_at_rest(eager, alone, database, REST_SECONDS)
        finally:
            eager.daemon.end()
            alone.daemon.end()
        hourly = 3600 / (TeamSettings().poll_seconds * LISTENING_FACTOR)
        print(
            f"one look at the server at rest, with {rows} memories: {cpu_ms:.0f} ms of CPU and"
            f" {sent:.1f} transactions (of {looks:.0f} looks); an idle hour has {hourly:.0f} of"
            f" them, {hourly * LISTENING_FACTOR:.0f} where the server cannot tell of changes:"
            f" {hourly * cpu_ms / 1000:.2f} s and {hourly * LISTENING_FACTOR * cpu_ms / 1000:.2f} s"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
