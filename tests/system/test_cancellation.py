"""Long work in threads stops when it is cancelled, but not halfway through a write."""

import os
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import anyio
import anyio.from_thread
import anyio.to_thread
import pytest

from memoryd.base.paths import places
from memoryd.memories.records import MemoryDirectory
from memoryd.memories.rules.topics import Topic
from memoryd.memories.store import Store
from memoryd.memories.version_table import VersionTable
from memoryd.sessions.notes import SessionNotes
from memoryd.system.cancellation import cancellable, stop_if_cancelled, uncancellable
from memoryd.system.database import Database
from memoryd.system.landlock import Fence
from memoryd.system.subprocesses import run_child
from memoryd.transcripts.cursor_table import CursorTable
from memoryd.transcripts.file import CHUNK_BYTES
from memoryd.transcripts.reader import TranscriptReader, old_turns
from memoryd.transcripts.scan import scan
from memoryd.transcripts.sessions import Sessions
from memoryd.transcripts.turn_table import TurnTable
from tests.support.running import ROOT, WAIT_SECONDS, Daemon
from tests.support.session_script import SessionScript
from tests.support.tailing import age, projects, write

# Almost all of it is a hole, which takes no room on the disk.
LONG_BYTES = 16 * CHUNK_BYTES
ENDLESS_BYTES = 1 << 40

Work = Callable[[], Awaitable[object]]


def long_session(home: Path, size_bytes: int) -> None:
    script = SessionScript("long")
    script.turn("Use tabs", "Fine.")
    path = write(home, script)
    os.truncate(path, size_bytes)
    age(path)


def show(home: Path) -> Work:
    sessions = Sessions(str(projects(home)), lambda cwd: cwd)
    return lambda: anyio.to_thread.run_sync(sessions.show, "long")


def list_sessions(home: Path) -> Work:
    sessions = Sessions(str(projects(home)), lambda cwd: cwd)
    return lambda: anyio.to_thread.run_sync(sessions.of_project, "/home/dev/work/app", 10)


def notes(home: Path) -> Work:
    database = Database.open(str(home / "notes.db"))
    where = places({"HOME": str(home)}, "linux", 1000, str(home))
    return lambda: anyio.to_thread.run_sync(
        SessionNotes(where, database, None, lambda *_: True, time.time).serve, "long"
    )


def learn_old_turns(home: Path) -> Work:
    database = Database.open(str(home / "cursors.db"))
    root = str(projects(home))
    reader = TranscriptReader(
        root, CursorTable(database), TurnTable(database), lambda cwd: cwd, time.time
    )
    (cursor,) = reader.begin(scan(root))
    return lambda: anyio.to_thread.run_sync(
        lambda: list(old_turns(root, cursor, with_open=True)),
    )


@pytest.mark.parametrize("begin", [show, list_sessions, notes, learn_old_turns])
async def test_reading_a_transcript_stops_when_cancelled(
    begin: Callable[[Path], Work], home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    long_session(home, LONG_BYTES)
    work, read = begin(home), os.pread
    with anyio.CancelScope() as scope:

        def cancelling(handle: int, length: int, offset: int) -> bytes:
            if offset == 3 * CHUNK_BYTES:
                anyio.from_thread.run_sync(scope.cancel)
            return read(handle, length, offset)

        monkeypatch.setattr(os, "pread", cancelling)
        await work()
    assert scope.cancelled_caught


def test_a_daemon_that_reads_the_endless_ends_all_the_same(home: Path) -> None:
    long_session(home, ENDLESS_BYTES)
    (home / ".config/memoryd").mkdir()
    (home / ".config/memoryd/config.toml").write_text("[log]\nlevel = 'debug'\n")
    asked = {
        "session/show": {"session_id": "long"},
        "session/notes": {"session_id": "long"},
        "session/list": {"cwd": "/home/dev/work/app"},
        "import/start": {"since": "30d", "dry_run": True},
    }
    daemon = Daemon(home).start()
    with ExitStack() as stack:
        stack.callback(daemon.end)
        for method, params in asked.items():
            peer = stack.enter_context(daemon.peer())
            peer.send({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
        with daemon.peer() as other:
            while not asked.keys() <= {line.get("method") for line in daemon.lines()}:
                other.call("ping")
        assert daemon.stop() == 0
        assert not Path(daemon.socket).exists()


async def test_a_child_is_killed_when_its_caller_is_cancelled() -> None:
    with anyio.CancelScope() as scope:

        def feed() -> Iterator[bytes]:
            yield b"x"
            anyio.from_thread.run_sync(scope.cancel)

        def run() -> None:
            sleep = "import time; time.sleep(60)"
            command = [sys.executable, "-IBc", sleep]
            run_child(
                command, fence=Fence(), cwd="/", seconds=60, output_limit_bytes=1, feed=feed()
            )

        await anyio.to_thread.run_sync(run)
    assert scope.cancelled_caught


async def test_a_cancelled_save_is_still_whole(tmp_path: Path) -> None:
    folder = tmp_path / "memory"
    with anyio.CancelScope() as scope:

        def now() -> float:
            anyio.from_thread.run_sync(scope.cancel)
            return time.time()

        store = Store(VersionTable(Database.open(":memory:")), now=now)
        topic = Topic(name="Tabs", description="which", type="feedback", body="Use tabs.")
        directory = MemoryDirectory(str(folder), "project")
        await anyio.to_thread.run_sync(lambda: store.save(directory, topic, cause="user"))
    assert scope.cancel_called
    assert (folder / "feedback_tabs.md").exists()
    assert "feedback_tabs.md" in (folder / "MEMORY.md").read_text()


async def test_uncancellable_work_is_stopped_only_afterwards() -> None:
    seen: list[int] = []

    def work() -> None:
        anyio.from_thread.run_sync(scope.cancel)
        with uncancellable():
            seen.extend(cancellable(range(3)))
        seen.extend(cancellable([4]))

    with anyio.CancelScope() as scope:
        await anyio.to_thread.run_sync(work)
    assert scope.cancelled_caught
    assert seen == [0, 1, 2]


def test_outside_worker_threads_nothing_is_stopped() -> None:
    stop_if_cancelled()
    assert list(cancellable("ab")) == ["a", "b"]


def test_a_thread_that_hears_nobody_does_not_keep_the_process() -> None:
    program = (
        "import sys, threading; from memoryd.daemon.shutdown import leave_after\n"
        "leave_after(0.01); threading.Thread(target=threading.Event().wait).start()"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        timeout=WAIT_SECONDS,
        check=False,
    )
    assert done.returncode == 0
    assert b"stop-forced" in done.stdout
