"""How fast transcripts are read, beside the two plain JSON readers that do less.

The fixtures have the client's own long texts taken out and their lengths noted; the second table
puts filler of that length back. The last table reads made-up sessions of three sizes with the
shares of a day's work (`session_mix`): most bytes are results of tools, images and records of the
client.
The time is the processor's, best of ROUNDS: a busy machine then changes little.
"""

import json
import re
import time
from collections.abc import Callable
from pathlib import Path

import msgspec
from figures import Numbers, table
from results import report
from session_mix import Mix

from memoryd.transcripts.rules.assembler import Follower, is_session_transcript, read_entries
from memoryd.transcripts.rules.lines import LineSplitter

FIXTURES = Path(__file__).parent.parent / "tests" / "data" / "claude-code"
REDACTED = re.compile(rb"\[redacted: (\d+) characters of the client's own text\]")
CHUNK_BYTES = 256 * 1024
ROUNDS = 5
SIZES_MEGABYTES = (1, 4, 16)


def fixture_files() -> list[bytes]:
    return [
        path.read_bytes()
        for root in sorted(FIXTURES.glob("c*/projects"))
        for path in sorted(root.rglob("*.jsonl"))
        if is_session_transcript(path.relative_to(root).as_posix())
    ]


def as_written(data: bytes) -> bytes:
    return REDACTED.sub(lambda found: b"x" * int(found[1]), data)


def chunks_of(data: bytes) -> list[bytes]:
    return [data[start : start + CHUNK_BYTES] for start in range(0, len(data), CHUNK_BYTES)]


def lines_of(data: bytes) -> list[bytes]:
    return [line.data for line in LineSplitter().feed(data)]


def with_json(data: bytes) -> None:
    for line in lines_of(data):
        json.loads(line)


def with_untyped_msgspec(data: bytes) -> None:
    decode = msgspec.json.Decoder().decode
    for line in lines_of(data):
        decode(line)


def to_entries(data: bytes) -> None:
    assert all(entry.kind != "bad" for entry in read_entries(chunks_of(data)))


def to_turns(data: bytes) -> None:
    follower = Follower()
    events = [event for chunk in chunks_of(data) for event in follower.feed(chunk)]
    assert events + follower.finish()
    assert not follower.bad_lines


READERS: tuple[tuple[str, Callable[[bytes], None]], ...] = (
    ("json.loads", with_json),
    ("msgspec, untyped", with_untyped_msgspec),
    ("bytes to entries", to_entries),
    ("bytes to turns", to_turns),
)


def best_cpu_seconds(read: Callable[[bytes], None], files: list[bytes]) -> float:
    best = float("inf")
    for _ in range(ROUNDS):
        start = time.process_time()
        for data in files:
            read(data)
        best = min(best, time.process_time() - start)
    return best


def show(title: str, files: list[bytes]) -> None:
    megabytes = sum(map(len, files)) / 1e6
    print(f"\n{title}: {len(files)} files, {megabytes:.1f} MB")
    for name, read in READERS:
        print(f"  {name:<18}{megabytes / best_cpu_seconds(read, files):>8.0f} MB/s")


def megabytes_a_second(read: Callable[[bytes], None], data: bytes) -> float:
    return len(data) / 1e6 / best_cpu_seconds(read, [data])


def figures_at(megabytes: int) -> Numbers:
    """What reading a session of this size gives, in megabytes a second of CPU, and the ratio."""
    data = Mix("s", seed=megabytes).of_bytes(megabytes * 1_000_000)
    plain, ours = megabytes_a_second(with_json, data), megabytes_a_second(to_turns, data)
    report(
        "reading a day's work",
        megabytes,
        ours,
        "MB/s",
        of="megabytes",
        beside=("json.loads of every line", plain),
        goal=60,
        more_is_better=True,
    )
    return {
        "bytes to turns, MB/s": ours,
        "  json.loads of each, MB/s": plain,
        "  times json.loads": plain / ours,
        "  CPU, s": len(data) / 1e6 / ours,
    }


def main() -> None:
    files = fixture_files()
    show("fixtures as stored", files)
    show("fixtures at their full size", [as_written(data) for data in files])
    print()
    table("a day of work, MB", {size: figures_at(size) for size in SIZES_MEGABYTES})


if __name__ == "__main__":
    main()
