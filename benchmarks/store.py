"""The store: scan, parse, save and mask, beside what they replace."""

import statistics
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import frontmatter

from memoryd.memories.records import MemoryDirectory
from memoryd.memories.rules import topics
from memoryd.memories.rules.topics import Topic
from memoryd.memories.store import Store
from memoryd.memories.version_table import VersionTable
from memoryd.system.database import Database
from memoryd.text.masking.mask import mask

SIZES = (200, 2_000, 10_000)
FIXTURES = Path(__file__).parent.parent / "tests" / "data" / "claude-code"
BODY = "Integration tests talk to a real database.\n\n**Why:** a mock hid a broken migration.\n" * 6


def seconds(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def a_topic(number: int) -> Topic:
    return Topic(
        name=f"Rule number {number}",
        description=f"what to do in case {number}: a line of ordinary length for an index",
        type=topics.TYPES[number % 4],
        created="2026-11-01T10:00:00Z",
        source="1b4e28ba-2fa1-11d2-883f-0016d3cca427",
        body=BODY,
    )


def scans(base: Path, store: Store) -> None:
    print(f"{'scan of files':<34}{'first ms':>10}{'again ms':>10}{'us a file':>11}")
    for size in SIZES:
        folder = base / f"m{size}"
        folder.mkdir()
        for number in range(size):
            (folder / f"m{number:05}.md").write_text(topics.render(a_topic(number)))
        directory = MemoryDirectory(str(folder), "project")
        first = seconds(partial(store.scan, directory))
        again = min(seconds(partial(store.scan, directory)) for _ in range(3))
        print(f"{size:<34}{first * 1e3:>10.1f}{again * 1e3:>10.1f}{first / size * 1e6:>11.1f}")


def parses() -> None:
    texts = [topics.render(a_topic(number)) for number in range(1000)]
    plain = min(seconds(lambda: [frontmatter.loads(text) for text in texts]) for _ in range(3))
    ours = min(seconds(lambda: [topics.parse(text) for text in texts]) for _ in range(3))
    print(f"\n{'parse':<34}{'us a file':>10}{'ratio':>10}")
    print(f"{'python-frontmatter with PyYAML':<34}{plain * 1e3:>10.1f}{1:>10.2f}")
    print(f"{'topics.parse':<34}{ours * 1e3:>10.1f}{ours / plain:>10.2f}")


def saves(base: Path, store: Store) -> None:
    directory = MemoryDirectory(str(base / "saved"), "project")
    times = [
        seconds(partial(store.save, directory, a_topic(number), cause="user"))
        for number in range(200)
    ]
    plain = [
        seconds(partial((base / f"plain{number}.md").write_text, BODY)) for number in range(200)
    ]
    print(f"\n{'save (topic, index, history)':<34}{'p50 ms':>10}{'p99 ms':>10}")
    for name, row in (("write_text, not durable", plain), ("Store.save", times)):
        row.sort()
        print(f"{name:<34}{statistics.median(row) * 1e3:>10.2f}{row[197] * 1e3:>10.2f}")


def masks() -> None:
    texts = [path.read_text(errors="replace") for path in FIXTURES.rglob("*.jsonl")]
    size = sum(len(text.encode()) for text in texts) / 1e6
    spent = min(seconds(lambda: [mask(text) for text in texts]) for _ in range(3))
    print(f"\n{'mask':<34}{'MB/s':>10}")
    print(f"{f'{size:.1f} MB of transcripts':<34}{size / spent:>10.1f}")


def main() -> None:
    with tempfile.TemporaryDirectory() as made:
        base = Path(made)
        state = Database.open(str(base / "state.db"))
        store = Store(VersionTable(state), now=time.time)
        scans(base, store)
        parses()
        saves(base, store)
        masks()
        state.close()


if __name__ == "__main__":
    main()
