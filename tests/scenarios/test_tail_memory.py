"""How much memory the tail needs for a very long line."""

import os
import sys
from pathlib import Path

import anyio

from tests.scenarios.test_tail_files import begin_empty, grow
from tests.support.running import ROOT
from tests.support.tail_fixtures import (
    database,
    projects,
    session,
    write,
)

LONG_LINE = """
import resource, sys
from pathlib import Path
from memoryd.system.database import Database
from memoryd.transcripts.scan import scan
from memoryd.transcripts.rules.cursor import Cursor
from tests.support.tail_fixtures import make_reader, projects, rows
home = Path(sys.argv[1])
state = Database.open(sys.argv[2])
reader = make_reader(home, state)
for path in ("p/small.jsonl", "p/long.jsonl"):
    found = scan(str(projects(home))).files[path]
    cursor = Cursor(path, found).started_over()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    has_more = True
    while has_more:
        reading = reader.read(cursor)
        cursor, has_more = reading.cursor, reading.has_more
grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
print(grown, *(text for text, _ in rows(state)))
"""


async def test_a_line_of_100_mb_costs_less_than_16_mb_of_memory(home: Path) -> None:
    await begin_empty(home)
    write(home, session("small", "small"), folder="p")
    path = projects(home) / "p/long.jsonl"
    script = session("long", "before")
    with path.open("wb") as file:
        file.write(script.data)
        for _ in range(100):
            file.write(b"x" * 1_000_000)
        file.write(b"\n")
    grow(path, script, "after")
    done = await anyio.run_process(
        [sys.executable, "-c", LONG_LINE, str(home), database(home)],
        env=os.environ | {"PYTHONPATH": str(ROOT)},
    )
    kilobytes, _, found = done.stdout.decode().partition(" ")
    assert found.split() == ["small", "before", "after"]
    assert int(kilobytes) < 16 * 1024
