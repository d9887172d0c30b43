"""Kills: of a writer at random moments and at every step, of the daemon, of a dream."""

import os
import random
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from memoryd.memories.records import MemoryDirectory
from memoryd.memories.rules.topics import Topic
from memoryd.memories.store import Store
from memoryd.memories.version_table import VersionTable
from memoryd.system.database import Database
from tests.faults.ground import Ground
from tests.security.tally import Check, Tally
from tests.support.running import ROOT

KILLS, WRITES = 500, 200
DAEMON_KILLS = 60
WORDS = 9_000  # of six or seven bytes: about 60 KB
LOOP_SECONDS = 900


def body_of(version: int) -> str:
    return " ".join([f"v{version:05}"] * WORDS)


def a_killed_writer(folder: Path, share: float) -> Tally:
    """At 500 moments of writes of 60 KB, half of them over an old one."""
    wrong: list[str] = []
    kills, dice, deaths = max(20, round(KILLS * share)), random.Random(1), 0
    state, memory = str(folder / "state/state.db"), folder / "memory"
    acknowledged: dict[str, int] = {}
    seen: dict[str, int] = {}
    tries = 0
    while deaths < kills and tries < kills * 3:
        tries += 1
        told = _write_until_killed(state, str(memory), dice.uniform(0.001, 0.25), tries)
        deaths += told[1]
        acknowledged |= told[0]
        wrong += _torn_or_lost(memory, acknowledged, tries, seen)
    database = Database.open(state)
    store = Store(VersionTable(database), now=time.time)
    store.repair(MemoryDirectory(str(memory), "project"))
    wrong += (f"left over: {path.name}" for path in memory.glob("*.tmp"))
    database.close()
    return Tally("kill -9 at random moments of a writer", deaths, wrong)


def _write_until_killed(
    state: str, memory: str, seconds: float, number: int
) -> tuple[dict[str, int], int]:
    """What a child acknowledged before it died, and whether it was killed."""
    answer, report = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            database = Database.open(state)
            store = Store(VersionTable(database), now=time.time)
            directory = MemoryDirectory(memory, "project")
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            signal.setitimer(signal.ITIMER_REAL, seconds)
            for write in range(WRITES):
                file, version = _one_write(store, directory, number * 1000 + write, write % 2 == 1)
                os.write(report, f"{file} {version}\n".encode())
        finally:
            os._exit(0)
    os.close(report)
    with os.fdopen(answer, encoding="utf-8") as pipe:
        lines = pipe.read().splitlines()
    status = os.waitpid(child, 0)[1]
    pairs = (line.split() for line in lines)
    return {file: int(version) for file, version in pairs}, int(os.WIFSIGNALED(status))


def _one_write(
    store: Store, directory: MemoryDirectory, version: int, is_over: bool
) -> tuple[str, int]:
    if is_over and (Path(directory.path) / "project_same.md").exists():
        old = store.read(directory, "project_same.md")
        text = re.sub(r"(?:v\d{5,} ?)+", body_of(version), old.text)
        store.write(directory, "project_same.md", text, over=old.version, cause="user")
        return "project_same.md", version
    name = "Same" if is_over else f"Memory {version % 40}"
    topic = Topic(name=name, description="d", type="project", body=body_of(version))
    return store.save(directory, topic, cause="user").file, version


def _torn_or_lost(
    memory: Path, acknowledged: dict[str, int], number: int, seen: dict[str, int]
) -> list[str]:
    """`seen` is when each file was changed that is known to be whole."""
    wrong = []
    for path in memory.glob("project_*.md"):
        changed = path.stat().st_mtime_ns
        if seen.get(path.name) == changed:
            continue
        seen[path.name] = changed
        words = re.findall(r"v\d{5,}", path.read_text())
        if len(words) != WORDS or len(set(words)) != 1:
            wrong.append(f"kill {number}: {path.name} is torn ({len(words)} words)")
    lost = [file for file in acknowledged if not (memory / file).exists()]
    wrong += (f"kill {number}: {file} was acknowledged and is lost" for file in lost)
    same, least = memory / "project_same.md", acknowledged.get("project_same.md", 0)
    if same.exists() and least:
        [found] = set(re.findall(r"v(\d{5,})", same.read_text())) or {"0"}
        if int(found) < least:
            wrong.append(f"kill {number}: version {found} is older than the acknowledged {least}")
    return wrong


def a_killed_daemon(folder: Path, share: float) -> Tally:
    """At any moment of saves: what was acknowledged is there, and it starts again."""
    ground, wrong, dice = Ground(folder), list[str](), random.Random(2)
    kills = max(4, round(DAEMON_KILLS * share))
    acknowledged: set[str] = set()
    for number in range(kills):
        ground.daemon.start()
        with ground.daemon.peer() as peer:
            for save in range(dice.randrange(1, 12)):
                answer = ground.save(peer, f"memory {number} {save}")
                acknowledged.add(answer["result"]["path"])
            peer.send({"jsonrpc": "2.0", "id": 1, "method": "memory/save", "params": {}})
            time.sleep(dice.uniform(0, 0.02))
            ground.daemon.stop(signal.SIGKILL)
        lost = [path for path in acknowledged if not Path(path).exists()]
        wrong += (f"kill {number}: lost {path}" for path in lost)
    with ground.serving() as peer:
        listed = {one["path"] for one in peer.call("memory/list", cwd=ground.cwd)["memories"]}
        wrong += (f"not listed: {path}" for path in acknowledged - listed)
        wrong += (f"left over: {name}" for name in ground.temporary_files())
    return Tally("kill -9 of the daemon while it saves", kills, wrong)


def crash_loop(name: str, *nodes: str) -> Check:
    """A loop of the test suite that kills or fails each step; whole, or thinned in a quick run."""

    def check(folder: Path, share: float) -> Tally:
        whole = ["--soak", f"--timeout={LOOP_SECONDS}"] if share >= 1 else []
        command = [sys.executable, "-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider"]
        done = subprocess.run(
            [*command, *whole, f"--basetemp={folder / 'b'}", "--count-steps", *nodes],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
        )
        steps = re.search(r"steps tried: (\d+)", done.stdout)
        failed = [line for line in done.stdout.splitlines() if line.startswith("FAILED")]
        if done.returncode and not failed:
            failed = [done.stdout[-300:] + done.stderr[-300:]]
        return Tally(name, int(steps[1]) if steps else 0, failed)

    check.__name__ = re.sub(r"\W+", "_", name)
    return check


SCENARIOS = "tests/scenarios"
LOOPS: tuple[Callable[[Path, float], Tally], ...] = (
    crash_loop(
        "a writer killed at each of its calls",
        f"{SCENARIOS}/test_store_crashes.py::"
        "test_a_writer_killed_at_any_point_tears_and_loses_nothing",
    ),
    crash_loop(
        "full or broken disk at each call of a writer",
        f"{SCENARIOS}/test_store_crashes.py::"
        "test_a_full_or_broken_disk_is_reported_and_tears_nothing",
    ),
    crash_loop("a reader of transcripts killed at each step", f"{SCENARIOS}/test_tail_crashes.py"),
    crash_loop("extraction killed at each step", f"{SCENARIOS}/test_extraction_crashes.py"),
    crash_loop("a dream or its recovery killed", f"{SCENARIOS}/test_dream_kills.py"),
)
CHECKS: tuple[Check, ...] = (a_killed_writer, a_killed_daemon, *LOOPS)
