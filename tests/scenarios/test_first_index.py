"""A large directory is indexed by a program: the daemon answers meanwhile, and takes it along."""

import os
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from memoryd.base import paths
from memoryd.recall.indexer import LEAST_MEMORIES
from tests.support.running import WAIT_SECONDS, Daemon, Peer, give_way

PROGRAM = b"memoryd.recall.index_program"

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the program is found in /proc")


def index_program_of(daemon: Daemon) -> Path | None:
    """The index program that this daemon has started, in /proc."""
    assert daemon.process is not None
    own = Path(f"/proc/{daemon.process.pid}")
    with suppress(OSError):
        for thread in (own / "task").iterdir():
            for number in (thread / "children").read_text().split():
                if is_program(Path(f"/proc/{number}")):
                    return Path(f"/proc/{number}")
    return None


def is_program(process: Path) -> bool:
    with suppress(OSError):
        return PROGRAM in (process / "cmdline").read_bytes()
    return False


@pytest.fixture
def cwd(home: Path) -> str:
    """A project with many memories, one of them about zirconium."""
    cwd = str(home / "app")
    folder = home / ".claude/projects" / paths.slug(cwd) / "memory"
    folder.mkdir(parents=True)
    for number in range(2 * LEAST_MEMORIES):
        said = "zirconium" if number == 7 else f"case {number} of the harbor"
        text = f"---\nname: Case {number}\ntype: project\n---\n{said}\n"
        (folder / f"m{number}.md").write_text(text)
    return cwd


def asked(peer: Peer, cwd: str) -> None:
    """A recall that nobody waits for here."""
    params = {"query": "zirconium", "cwd": cwd}
    peer.send({"jsonrpc": "2.0", "id": 1, "method": "recall", "params": params})


def until_indexing(daemon: Daemon) -> Path:
    deadline = time.monotonic() + WAIT_SECONDS
    while time.monotonic() < deadline:
        found = index_program_of(daemon)
        if found is not None:
            return found
        give_way()
    raise AssertionError("nothing is indexed apart")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_the_program_ends_with_the_daemon_and_the_next_one_indexes_again(
    daemon: Daemon, cwd: str, number: signal.Signals
) -> None:
    daemon.start()
    with daemon.peer() as peer, daemon.peer() as other:
        asked(peer, cwd)
        program = until_indexing(daemon)
        assert other.call("ping")["version"]
        daemon.stop(number)
    while is_program(program):
        give_way()
    daemon.start()
    with daemon.peer() as peer:
        found = peer.call("recall", query="zirconium", cwd=cwd)["memories"]
    assert [Path(one["path"]).name for one in found][:1] == ["m7.md"]
    assert len(list((daemon.home / ".local/state/memoryd/shelves").glob("*.shelf"))) == 1
    assert daemon.stop() == 0


def test_a_program_that_is_killed_delays_the_answer_only(daemon: Daemon, cwd: str) -> None:
    daemon.start()
    with daemon.peer() as peer:
        asked(peer, cwd)
        program = until_indexing(daemon)
        os.kill(int(program.name), signal.SIGKILL)
        answer = peer.receive()
    assert answer is not None
    assert [Path(one["path"]).name for one in answer["result"]["memories"]][:1] == ["m7.md"]
    assert "not-indexed-apart" in daemon.log.read_text()
