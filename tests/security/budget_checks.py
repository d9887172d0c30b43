"""What one stranger can make the daemon spend: memory, threads, time, disk."""

import gzip
import sys
import zlib
from contextlib import ExitStack, nullcontext, suppress
from pathlib import Path

import anyio
import msgspec
from structlog.testing import capture_logs

from memoryd.agent.loop import AgentJob, run
from memoryd.agent.rules.limits import Meter, RunLimits
from memoryd.api.subscriptions import MOST_SUBSCRIBERS, Subscriptions
from memoryd.base.errors import Unavailable
from memoryd.llm.rules.body_limit import BODY_LIMIT_BYTES, BodyMeter, BodyTooLarge
from memoryd.llm.rules.messages import (
    AssistantTurn,
    ModelAnswer,
    ModelRequest,
    Text,
    ToolCall,
    ToolDefinition,
    Usage,
)
from memoryd.memories.outside_changes import REPOSITORY_LIMIT_BYTES, OutsideChanges
from memoryd.memories.records import MemoryDirectory
from memoryd.memories.retired_files import RetiredFiles
from memoryd.memories.scanner import Scanner
from memoryd.memories.version_table import VersionTable
from memoryd.system.landlock import Fence
from memoryd.system.subprocesses import run_child
from tests.security.tally import Tally
from tests.support.sandbox import memory_text, sandbox
from tests.support.times import NOW

MEGABYTE = 1024 * 1024


def bodies(_: Path, _scale: float) -> Tally:
    """An endless answer, a packed one that unpacks to gigabytes, an unknown packing."""
    bomb = gzip.compress(b"\0" * (64 * MEGABYTE))
    twice = zlib.compress(b"\0" * (64 * MEGABYTE))
    attacks = {
        "endless": ("", [b"x" * 65536] * 1000),
        "gzip bomb": ("gzip", [bomb[at : at + 1024] for at in range(0, len(bomb), 1024)]),
        "deflate bomb": ("deflate", [twice]),
        "unknown": ("br", [b"x"]),
        "two packings": ("gzip, gzip", [bomb]),
    }
    passed: list[str] = []
    for name, (encoding, pieces) in attacks.items():
        try:
            meter = BodyMeter(encoding)
            for piece in pieces:
                meter.take(piece)
        except BodyTooLarge:
            continue
        passed.append(name)
    honest = b"x" * (BODY_LIMIT_BYTES - 1)
    for encoding, body in (("", honest), ("gzip", gzip.compress(honest))):
        BodyMeter(encoding).take(body)
    return Tally("bodies of a model server without an end", len(attacks), passed)


class _Echo(msgspec.Struct, frozen=True):
    word: str


class _Counting:
    definitions = (ToolDefinition("Echo", "Says a word.", _Echo, "word"),)

    def __init__(self) -> None:
        self.calls = 0

    async def call(self, name: str, arguments: msgspec.Struct, meter: Meter) -> str:
        self.calls += 1
        return "x"


class _Endless:
    """A model that asks for thousands of tools at once."""

    def __init__(self, count: int) -> None:
        calls = tuple(ToolCall(f"c{at}", "Echo", b'{"word": "x"}') for at in range(count))
        self._answer = ModelAnswer(
            AssistantTurn(b"[]"), "", calls, "complete", "tool_use", Usage(10, 10)
        )

    async def complete(self, request: ModelRequest, deadline_seconds: float) -> ModelAnswer:
        return self._answer


def calls_in_one_answer(_: Path, scale: float) -> Tally:
    tools, limits = _Counting(), RunLimits()
    count = int(20_000 * scale)

    async def ask() -> None:
        job = AgentJob("dream", "", "m", (), (Text("go"),))
        await run(job, _Endless(count), tools, limits)

    with capture_logs():
        anyio.run(ask)
    over = ["more calls than a run may make"] if tools.calls > limits.tool_calls else []
    return Tally("tool calls in one answer", count, over)


def memory_of_children(_: Path, _scale: float) -> Tally:
    grabs = "import time; x = bytearray(2_000_000_000); print('got it')"
    finished = run_child(
        [sys.executable, "-I", "-c", f"import time; time.sleep(0.3); {grabs}"],
        fence=Fence(),
        cwd="/",
        seconds=20,
        output_limit_bytes=1000,
    )
    return Tally("memory of a child", 1, ["2 GB"] if b"got it" in finished.output else [])


def subscribers(_: Path, _scale: float) -> Tally:
    taken = 0

    async def join() -> None:
        nonlocal taken
        everyone = Subscriptions()
        with ExitStack() as joined, suppress(Unavailable):
            for _ in range(1000):
                joined.callback(everyone.leave, everyone.subscribe(None, None))
                taken += 1

    anyio.run(join)
    over = [f"{taken} at once"] if taken > MOST_SUBSCRIBERS else []
    return Tally("subscribers at once", 1000, over)


def history_of_a_repository(folder: Path, scale: float) -> Tally:
    """A repository brings a huge agent memory; only so much of it is copied."""
    with sandbox(folder) as box:
        place = box.project / ".claude/agent-memory/tester"
        place.mkdir(parents=True)
        size = int(117 * MEGABYTE * min(1.0, scale)) or 16 * MEGABYTE
        for at in range(size // 500_000):
            (place / f"m{at}.md").write_text(memory_text("x" * 500_000))
        directory = MemoryDirectory(str(place), "agent", beneath=str(box.project))
        versions = VersionTable(box.state)
        scanner = Scanner()
        changes = OutsideChanges(
            scanner, versions, RetiredFiles(versions, now=lambda: NOW), lambda: NOW
        )
        for batch in changes.find(directory, lambda _: nullcontext()):
            assert batch
        files = versions.present(directory.path)
        taken = sum((place / file).stat().st_size for file in files)
    over = [f"{taken} bytes"] if taken > REPOSITORY_LIMIT_BYTES or not taken else []
    return Tally("bytes of a repository in the history", size // 500_000, over)


CHECKS = (
    bodies,
    calls_in_one_answer,
    memory_of_children,
    subscribers,
    history_of_a_repository,
)
