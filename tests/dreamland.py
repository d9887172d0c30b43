"""A project with memories, a dreamer over it, and clocks that only move when told to."""

import hashlib
import os
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import msgspec

from memoryd.config import Dream as DreamSettings
from memoryd.config import Project as ProjectSettings
from memoryd.config import Settings
from memoryd.dream import Dreamer
from memoryd.dream_book import Dream, DreamBook
from memoryd.dream_run import Means
from memoryd.dream_sessions import ProjectSessions
from memoryd.dream_work import Mind
from memoryd.events import Event, kind_of
from memoryd.history import History
from memoryd.paths import places
from memoryd.scopes import Scopes
from memoryd.state import State
from memoryd.store import Store

NOW = 1_800_000_000.0
HOUR = 3600.0
DAY = 86_400.0


def memory_text(body: str, name: str = "Note", **fields: str) -> str:
    header = {"name": name, "description": "what it is about", "type": "feedback"} | fields
    lines = [f"{key}: {value}" for key, value in header.items() if value]
    return "\n".join(["---", *lines, "---", "", body, ""])


class Dreamland:
    """Everything that a dream touches, in a folder of the test's own."""

    def __init__(
        self,
        home: Path,
        *,
        mind: Mind | None = None,
        dream: DreamSettings | None = None,
        mode: str = "topics",
    ) -> None:
        self.home = home
        self.now = NOW
        self.real = 1000.0
        self.project = home / "work/app"
        self.project.mkdir(parents=True, exist_ok=True)
        env = {"HOME": str(home)}
        self.places = places(env, "linux", os.getuid(), str(home))
        self.state = State.open(self.places.state_db)
        self.history = History(self.state)
        self.store = Store(self.history, now=lambda: self.now)
        self.scopes = Scopes(self.places, env, self.state, monotonic=lambda: self.real)
        self.book = DreamBook(self.state)
        self.events: list[Event] = []
        self.means = Means(
            store=self.store,
            history=self.history,
            book=self.book,
            sessions=ProjectSessions(self.places, self.state),
            dreams_folder=f"{self.places.state_dir}/dreams",
            max_loss_percent=(dream or DreamSettings()).max_loss_percent,
            now=lambda: self.now,
            tell=self.events.append,
            mind=mind,
        )
        root = str(self.project)
        settings = Settings(
            dream=dream or DreamSettings(),
            projects={root: msgspec.convert({"mode": mode}, ProjectSettings)},
        )
        self.dreamer = Dreamer(
            self.means, self.scopes, settings, real=lambda: self.real, sleep=self.sleep
        )
        self.directory = self.scopes.project(root).memory
        self.memory = Path(self.directory.path)
        self.lock = self.memory / ".consolidate-lock"

    @property
    def root(self) -> str:
        return str(self.project)

    async def sleep(self, seconds: float) -> None:
        """Nobody waits for real; who sleeps here sleeps until the test ends."""
        await anyio.sleep_forever()

    def pass_time(self, seconds: float) -> None:
        self.now += seconds
        self.real += seconds

    def remember(self, file: str, body: str, *, age_days: float = 10, **fields: str) -> Path:
        """A memory as somebody else would have written it, some days ago."""
        self.memory.mkdir(parents=True, exist_ok=True)
        path = self.memory / file
        path.parent.mkdir(exist_ok=True)
        path.write_text(memory_text(body, **fields))
        os.utime(path, (NOW - age_days * DAY, NOW - age_days * DAY))
        return path

    def have_sessions(self, count: int, *, hours_ago: float = 1.0) -> None:
        folder = Path(self.means.sessions.folder(self.root))
        folder.mkdir(parents=True, exist_ok=True)
        for number in range(count):
            path = folder / f"{number:08}-0000-4000-8000-000000000000.jsonl"
            path.write_text("{}\n")
            os.utime(path, (self.now - hours_ago * HOUR,) * 2)

    def index(self) -> str:
        return (self.memory / "MEMORY.md").read_text()

    def text(self, file: str) -> str:
        return (self.memory / file).read_text()

    def tree(self) -> str:
        return tree_hash(self.memory)

    def kinds(self) -> list[str]:
        return [kind_of(event) for event in self.events]

    async def dream(self, *, force: bool = True, dry_run: bool = False) -> Dream:
        """One dream from start to end."""
        number = await self.dreamer.start(self.root, force=force, dry_run=dry_run)
        await self.end_of_dream()
        return self.dreamer.one(self.root, number)

    async def end_of_dream(self) -> None:
        run = self.dreamer._current
        if run is not None:
            with anyio.fail_after(30):
                await run.ended.wait()

    @asynccontextmanager
    async def awake(self) -> AsyncIterator["Dreamland"]:
        """With the dreamer at work."""
        async with anyio.create_task_group() as tasks:
            await tasks.start(self.dreamer.run)
            yield self
            tasks.cancel_scope.cancel()


def tree_hash(folder: Path) -> str:
    """Of every name and byte below the folder, but for the lock and what lies beside the files."""
    seen = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path.name != ".consolidate-lock":
            seen.update(f"{path.relative_to(folder)}\0".encode())
            seen.update(path.read_bytes())
    return seen.hexdigest()


def stamps(folder: Path) -> dict[str, float]:
    return {path.name: path.stat().st_mtime for path in folder.glob("*.md")}


def data_of(events: Sequence[Event], kind: str) -> list[dict[str, Any]]:
    return [msgspec.structs.asdict(event) for event in events if kind_of(event) == kind]
