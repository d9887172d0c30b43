"""A project with memories, a dreamer over it, and clocks that only move when told to."""

import hashlib
import os
import threading
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import msgspec

from memoryd.base.config import DreamSettings, ProjectSettings, Settings
from memoryd.base.events import Event, kind_of
from memoryd.base.paths import places
from memoryd.dreams.dream_table import Dream, DreamTable
from memoryd.dreams.dreamer import Dreamer
from memoryd.dreams.recent_sessions import ProjectSessions
from memoryd.dreams.rules.similarity import Similarity
from memoryd.dreams.run import Means
from memoryd.dreams.schedule import RealTime
from memoryd.dreams.steps import DreamModel
from memoryd.dreams.target import DreamScope
from memoryd.memories.scopes import Scopes
from memoryd.memories.store import Store
from memoryd.memories.version_table import VersionTable
from memoryd.system.database import Database

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
        mind: DreamModel | None = None,
        dream: DreamSettings | None = None,
        mode: str = "topics",
        now: float = NOW,
        real: float = 1000.0,
        state_home: str = ".local/state",
        similarity: Callable[[], Similarity | None] = lambda: None,
    ) -> None:
        self.home = home
        self.now = now
        self.real = real
        self.project = home / "work/app"
        self.project.mkdir(parents=True, exist_ok=True)
        env = {"HOME": str(home), "XDG_STATE_HOME": str(home / state_home)}
        self.places = places(env, "linux", os.getuid(), str(home))
        self.state = Database.open(self.places.state_db)
        self.history = VersionTable(self.state)
        self.store = Store(self.history, now=lambda: self.now)
        self.scopes = Scopes(self.places, env, self.state, monotonic=lambda: self.real)
        self.book = DreamTable(self.state)
        self.events: list[Event] = []
        self.has_dreamt = threading.Event()
        self.dreamt_at: list[float] = []
        self.means = Means(
            store=self.store,
            history=self.history,
            book=self.book,
            sessions=ProjectSessions(self.places, self.state, self.scopes.memory_is_on),
            dreams_folder=f"{self.places.state_dir}/dreams",
            max_loss_percent=(dream or DreamSettings()).max_loss_percent,
            now=lambda: self.now,
            tell=self._hear,
            mind=mind,
            similarity=similarity,
        )
        root = str(self.project)
        settings = Settings(
            dream=dream or DreamSettings(),
            projects={root: msgspec.convert({"mode": mode}, ProjectSettings)},
        )
        self.dreamer = Dreamer(
            self.means,
            self.scopes,
            settings,
            real=RealTime(lambda: self.real, "this boot"),
            sleep=self.sleep,
        )
        self.directory = self.scopes.project(root).memory
        self.memory = Path(self.directory.path)
        self.lock = self.memory / ".consolidate-lock"
        self.own = Path(self.scopes.person().memory.path)

    def _hear(self, event: Event) -> None:
        self.events.append(event)
        if kind_of(event) == "dream/finished":
            self.dreamt_at.append(self.real)
            self.has_dreamt.set()

    @property
    def root(self) -> str:
        return str(self.project)

    async def sleep(self, seconds: float) -> None:
        """Nobody waits for real; who sleeps here sleeps until the test ends."""
        await anyio.sleep_forever()

    def pass_time(self, seconds: float) -> None:
        self.now += seconds
        self.real += seconds

    def remember(
        self,
        file: str,
        body: str,
        *,
        age_days: float = 10,
        folder: Path | None = None,
        **fields: str,
    ) -> Path:
        """A memory as somebody else would have written it, some days ago."""
        folder = folder or self.memory
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / file
        path.parent.mkdir(exist_ok=True, parents=True)
        path.write_text(memory_text(body, **fields))
        os.utime(path, (self.now - age_days * DAY,) * 2)
        return path

    def have_sessions(self, count: int, *, hours_ago: float = 1.0, root: str = "") -> None:
        folder = Path(self.means.sessions.folder(root or self.root))
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

    def copies(self) -> list[str]:
        """What is left of the copies that dreams worked on."""
        folder = Path(self.means.dreams_folder)
        return sorted(str(path) for path in folder.iterdir()) if folder.exists() else []

    def kinds(self) -> list[str]:
        return [kind_of(event) for event in self.events]

    def have_turn(self, root: str) -> None:
        """From now on the project is one that had turns."""
        self.state.run(
            "insert into turns (id, project, session_id, path, started, ended, ending, state, at)"
            " values (?, ?, '', ?, '', '', '', 'done', ?)",
            root,
            root,
            f"{Path(self.means.sessions.folder(root)).name}/{root.replace('/', '')}.jsonl",
            self.now,
        )

    async def dream(
        self, *, force: bool = True, dry_run: bool = False, scope: DreamScope = "project"
    ) -> Dream:
        """One dream from start to end."""
        number = await self.dreamer.start(self.root, force=force, dry_run=dry_run, scope=scope)
        await self.end_of_dream()
        return self.dreamer.one(self.root, number, scope)

    async def end_of_dream(self) -> None:
        run = self.dreamer._current
        if run is not None:
            with anyio.fail_after(60):
                await run.ended.wait()

    @asynccontextmanager
    async def awake(self) -> AsyncIterator["Dreamland"]:
        """With the dreamer at work."""
        async with anyio.create_task_group() as tasks:
            await tasks.start(self.dreamer.run)
            yield self
            tasks.cancel_scope.cancel()


def two_of_a_kind(land: Dreamland) -> None:
    """Two memories that say the same, and one that does not."""
    land.remember("a.md", "Use pnpm for installs.\n\n**Why:** one lock file.", age_days=9)
    land.remember("b.md", "Always use pnpm for installs!", age_days=3)
    land.remember("c.md", "Never deploy on Fridays.", name="Deploys", age_days=5)
    land.store.repair(land.directory)


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


async def until(event: threading.Event) -> None:
    """Waits for what happens in another thread."""
    assert await anyio.to_thread.run_sync(event.wait, 30)


def data_of(events: Sequence[Event], kind: str) -> list[dict[str, Any]]:
    return [msgspec.structs.asdict(event) for event in events if kind_of(event) == kind]
