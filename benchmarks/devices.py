"""A person's machines between real daemons and a real Postgres on a local socket.

usage: benchmarks/devices.py [SAVES]     (how many saves are followed; 15 by default)

Beside each figure stands what it is made of: a save waits 2 s for the next one by design, and the
same rows, neither sealed nor opened, show what the driver and the database alone take.
"""

import asyncio
import statistics
import sys
import tempfile
import time
from pathlib import Path

from team import cpu_seconds, percentile, text_of

from memoryd.devices import sealing
from memoryd.devices.private_server import PrivateServer, RowPush
from memoryd.devices.rules.payloads import step_of
from memoryd.team.postgres import TeamServer
from memoryd.team.rules.address import address_in
from memoryd.team.worker import DEBOUNCE_SECONDS
from tests.support.machines import OwnMachine, eventually
from tests.support.postgres import OWNER, TeamDatabase, new_database, programs, running_server

MEMORIES = 1000
SAVES = 15


def save_to_visible(desk: OwnMachine, lap: OwnMachine, saves: int) -> list[float]:
    """Seconds from the answer to a save until the file is on the other machine."""
    took = []
    for number in range(saves):
        file = desk.keep(f"Visible {number}", f"This is number {number}.\n")
        began = time.perf_counter()
        while file not in lap.own_files():
            time.sleep(0.005)
            assert time.perf_counter() - began < 120
        took.append(time.perf_counter() - began)
    return took


def first_sync(desk: OwnMachine, new: OwnMachine) -> tuple[float, float, float]:
    """Seconds to send so many memories and to get them on a new machine, and CPU of the sender."""
    for number in range(MEMORIES):
        desk.write_own(f"project_fact_{number}.md", text_of(number))
    before, began = cpu_seconds(desk), time.perf_counter()
    eventually(lambda: (desk.sync(), desk.list()["rows"])[1] >= MEMORIES, "all are on the server")
    sent, spent = time.perf_counter() - began, cpu_seconds(desk) - before
    began = time.perf_counter()
    new.add(desk.add()["code"])
    eventually(lambda: len(new.own_files()) >= MEMORIES, "all are on the new machine")
    return sent, time.perf_counter() - began, spent


def bare_push(database: TeamDatabase) -> float:
    """Seconds that the driver alone takes for rows of the same sizes."""

    async def push() -> float:
        server = await TeamServer.open(address_in(database.dsn("bob")))
        size = step_of(len(text_of(1)) + 200)
        rows = [RowPush(f"{number:040x}", bytes(size), None) for number in range(MEMORIES)]
        began = time.perf_counter()
        for at in range(0, MEMORIES, 250):
            await PrivateServer(server).push("bench", 1, rows[at : at + 250])
        took = time.perf_counter() - began
        await server.close()
        return took

    return asyncio.run(push())


def sealing_ms(size: int) -> tuple[float, float]:
    """Milliseconds of CPU to seal and to open one row of this size."""
    key, text, times = sealing.random_bytes(), bytes(size), 300
    began = time.process_time()
    for _ in range(times):
        sealed = sealing.seal(key, text, "row", "bench")
    middle = time.process_time()
    for _ in range(times):
        sealing.unseal(key, sealed, "row", "bench")
    end = time.process_time()
    return (middle - began) / times * 1000, (end - middle) / times * 1000


def main() -> int:
    if programs() is None:
        print("no Postgres server here: apt-get install postgresql")
        return 0
    saves = int(sys.argv[1]) if len(sys.argv) > 1 else SAVES
    for size in (1024, 65536):
        sealed, opened = sealing_ms(size)
        print(
            f"a row of {size // 1024} KiB: sealed in {sealed:.3f} ms of CPU, opened in {opened:.3f}"
        )
    with tempfile.TemporaryDirectory(dir="/tmp") as folder, running_server() as server:
        database = new_database(server)
        machines = [
            OwnMachine(Path(folder) / name, "alice", database, poll_seconds=60)
            for name in ("desk", "lap", "new")
        ]
        desk, lap, new = machines
        try:
            for one in machines:
                one.start()
            desk.call("device/init", dsn=database.dsn(OWNER), members=["alice", "bob"])
            lap.add(desk.add()["code"])
            took = save_to_visible(desk, lap, saves)
            print(
                f"save to visible on another machine, {saves} saves:"
                f" p50 {statistics.median(took):.2f} s, p99 {percentile(took, 0.99):.2f} s"
                f" (of which {DEBOUNCE_SECONDS:.0f} s wait for further changes)"
            )
            sent, got, spent = first_sync(desk, new)
            bare = bare_push(database)
            print(
                f"first sync of {MEMORIES} memories: sent in {sent:.1f} s ({spent:.1f} s of CPU),"
                f" on a new machine {got:.1f} s after the code was asked for; the bare driver"
                f" writes rows of the same sizes in {bare:.1f} s: {sent / bare:.1f} times as long"
            )
        finally:
            for one in machines:
                one.daemon.end()
    return 0


if __name__ == "__main__":
    sys.exit(main())
