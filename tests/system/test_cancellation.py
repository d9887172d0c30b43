"""Long work in threads stops when it is cancelled, but not halfway through a write."""

import os
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
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
from tests.support.session_script import SessionScript
from tests.support.tail_fixtures import age, projects, write

# Almost all of it is a hole, which takes no room on the disk.
LONG_BYTES = 16 * CHUNK_BYTES

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
