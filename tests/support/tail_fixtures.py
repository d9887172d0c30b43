"""The transcript tail in this process, on real files and a real database, without a daemon."""

import os
import time
import zlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import msgspec

from memoryd.base import events
from memoryd.base.errors import InvalidInput
from memoryd.system.database import Database
from memoryd.system.notices import Notices
from memoryd.transcripts.cursor_table import CursorTable
from memoryd.transcripts.reader import TranscriptReader
from memoryd.transcripts.rules.open_turn import OpenTurn
from memoryd.transcripts.rules.turns import Compacted, Turn
from memoryd.transcripts.tail import Tail
from memoryd.transcripts.turn_table import QueuedTurn, TurnTable
from tests.support.session_script import SessionScript

WAIT_SECONDS = 60
FOLDER = "-home-dev-work-app"


def projects(home: Path) -> Path:
    return home / ".claude/projects"


def database(home: Path) -> str:
    return str(home / ".local/state/memoryd/state.db")


def write(home: Path, script: SessionScript, folder: str = FOLDER) -> Path:
    """Writes the session as a file that has been quiet for a minute: nothing waits for it."""
    path = projects(home) / folder / f"{script.session_id}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(script.data)
    age(path)
    return path


def append(path: Path, data: bytes) -> None:
    with path.open("ab") as file:
        file.write(data)


def age(path: Path, seconds: int = 60) -> None:
    """Makes the file look older."""
    times = path.stat()
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns - seconds * 10**9))


def session(name: str, *turns: str) -> SessionScript:
    script = SessionScript(name)
    for text in turns:
        script.turn(text, f"{text}: done")
    return script


def root_of(cwd: str) -> str:
    if not cwd.startswith("/"):
        raise InvalidInput("cwd must be an absolute path")
    return f"root of {cwd}"


def make_reader(home: Path, state: Database) -> TranscriptReader:
    return TranscriptReader(
        str(projects(home)), CursorTable(state), TurnTable(state), root_of, time.time
    )


def rows(state: Database) -> list[tuple[str, str]]:
    """Every stored turn, in order: its first words (or its id once emptied) and its state."""
    found = state.run("select id, state, packed from turns where state != 'old' order by number")
    return [
        (_turn(packed).parts[0].text if packed else turn_id, turn_state)
        for turn_id, turn_state, packed in msgspec.convert(
            found, list[tuple[str, str, bytes | None]]
        )
    ]


def turns(state: Database) -> dict[str, Turn]:
    """The turns that still have their content, by id."""
    found = state.run("select id, packed from turns where packed is not null order by number")
    return {
        turn_id: _turn(packed)
        for turn_id, packed in msgspec.convert(found, list[tuple[str, bytes]])
    }


def _turn(packed: bytes) -> Turn:
    return msgspec.msgpack.decode(zlib.decompress(packed), type=Turn)


class PostedNotices:
    """Everything that the tail posted."""

    def __init__(self, notices: Notices) -> None:
        self.turns: list[QueuedTurn] = []
        self.compactions: list[Compacted] = []
        self.open_turns: list[OpenTurn] = []
        self.events: list[events.Event] = []
        self._changed = anyio.Event()
        notices.on(QueuedTurn, self._add_turn)
        notices.on(Compacted, self.compactions.append)
        notices.on(OpenTurn, self.open_turns.append)
        notices.on(events.Event, self.events.append)

    def _add_turn(self, queued: QueuedTurn) -> None:
        self.turns.append(queued)
        self._changed.set()

    async def wait_for_turns(self, number: int) -> list[str]:
        """Waits for that many turns; the first words of each."""
        with anyio.fail_after(WAIT_SECONDS):
            while len(self.turns) < number:
                self._changed = anyio.Event()
                await self._changed.wait()
        return [queued.turn.parts[0].text for queued in self.turns]


class RunningTail:
    """A tail on the transcripts of a home; `heard` is what it posted."""

    def __init__(self, home: Path, sweep_seconds: float) -> None:
        self.state = Database.open(database(home))
        notices = Notices()
        self.heard = PostedNotices(notices)
        self.events = self.heard.events
        self.tail = Tail(
            root=str(projects(home)),
            cursors=CursorTable(self.state),
            reader=make_reader(home, self.state),
            notices=notices,
            sweep_seconds=sweep_seconds,
        )

    async def caught_up(self) -> None:
        """Returns when everything on disk was read and every ended turn is stored."""
        with anyio.fail_after(WAIT_SECONDS):
            status = await self.tail.status()
            while status.behind_bytes or status.settling:
                await anyio.sleep(0.005)
                status = await self.tail.status()

    async def rows(self) -> list[tuple[str, str]]:
        await self.caught_up()
        return rows(self.state)


@asynccontextmanager
async def following(home: Path, sweep_seconds: float = 3600.0) -> AsyncIterator[RunningTail]:
    """Runs the tail while the context is open."""
    running = RunningTail(home, sweep_seconds)
    try:
        with anyio.fail_after(60):
            async with anyio.create_task_group() as tasks:
                await running.tail.begin()
                tasks.start_soon(running.tail.run)
                yield running
                tasks.cancel_scope.cancel()
    finally:
        running.state.close()
