"""A project with memories, a dreamer for it, and clocks that only tests move."""

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
from memoryd.dreams.build import build_with
from memoryd.dreams.dream_table import Dream, DreamTable
from memoryd.dreams.recent_sessions import ProjectSessions
from memoryd.dreams.rules.similarity import Similarity
from memoryd.dreams.schedule import RealTime
from memoryd.dreams.steps import DreamModel
from memoryd.dreams.target import DreamScope
from memoryd.memories.identities import Identities
from memoryd.memories.inbox_table import InboxTable
from memoryd.memories.instruction_files import InstructionDisk
from memoryd.memories.instruction_reader import Approvals, InstructionReader
from memoryd.memories.moving import Mover
from memoryd.memories.project_names import NameReader
from memoryd.memories.scopes import RealFiles, Scopes
from memoryd.memories.services import Services
from memoryd.memories.session_switches import SessionSwitches
from memoryd.memories.store import Store
from memoryd.memories.version_table import VersionTable
from memoryd.system.background import Background
from memoryd.system.database import Database
from memoryd.system.notices import Notices

NOW = 1_800_000_000.0
HOUR = 3600.0
DAY = 86_400.0


def memory_text(body: str, name: str = "Note", **fields: str) -> str:
    header = {"name": name, "description": "what it is about", "type": "feedback"} | fields
    lines = [f"{key}: {value}" for key, value in header.items() if value]
    return "\n".join(["---", *lines, "---", "", body, ""])


class DreamProject:
    """A project and everything that dreams over it touch, in a folder of the test's own."""

    def __init__(
        self,
        home: Path,
        *,
        model: DreamModel | None = None,
        dream: DreamSettings | None = None,
        mode: str = "topics",
        now: float = NOW,
        real: float = 1000.0,
        state_home: str = ".local/state",
        load_similarity: Callable[[], Similarity | None] = lambda: None,
    ) -> None:
        self.home = home
        self.deadline_seconds = 60.0
        self.now = now
        self.real = real
        self.folder = home / "work/app"
        self.folder.mkdir(parents=True, exist_ok=True)
        env = {"HOME": str(home), "XDG_STATE_HOME": str(home / state_home)}
        self.places = places(env, "linux", os.getuid(), str(home))
        self.database = Database.open(self.places.state_db)
        self.versions = VersionTable(self.database)
        self.store = Store(self.versions, now=lambda: self.now)
        self.scopes = Scopes(self.places, env, self.database, monotonic=lambda: self.real)
        self.table = DreamTable(self.database)
        self.sessions = ProjectSessions(self.places, self.database, self.scopes.memory_is_on)
        self.events: list[Event] = []
        self.has_dreamt = threading.Event()
        self.dreamt_at: list[float] = []
        self.notices, background = Notices(), Background()
        with background._send, background._receive:  # dreams start no background work
            pass
        self.notices.on(Event, self._on_event)
        root = str(self.folder)
        settings = Settings(
            dream=dream or DreamSettings(),
            projects={root: msgspec.convert({"mode": mode}, ProjectSettings)},
        )
        services = Services(
            places=self.places,
            settings=settings,
            env=env,
            database=self.database,
            versions=self.versions,
            scopes=self.scopes,
            store=self.store,
            mover=Mover(self.store, self.versions, self.database, self.notices, lambda: self.now),
            names=NameReader(self.places.home, RealFiles()),
            inbox=InboxTable(self.database),
            instructions=InstructionReader(
                self.places, Approvals(self.database), InstructionDisk()
            ),
            identities=Identities(self.places),
            session_switches=SessionSwitches(self.database),
            notices=self.notices,
            background=background,
            now=lambda: self.now,
        )
        self.dreamer = build_with(
            services,
            model,
            load_similarity=load_similarity,
            real_time=RealTime(lambda: self.real, "this boot"),
            sleep=self.sleep,
        )
        self.directory = self.scopes.project(root).memory
        self.memory = Path(self.directory.path)
        self.lock = self.memory / ".consolidate-lock"
        self.own = Path(self.scopes.person().memory.path)

    def _on_event(self, event: Event) -> None:
        self.events.append(event)
        if kind_of(event) == "dream/finished":
            self.dreamt_at.append(self.real)
            self.has_dreamt.set()

    @property
    def root(self) -> str:
        return str(self.folder)

    async def sleep(self, seconds: float) -> None:
        """Sleeps until the test ends: clocks do not move by themselves."""
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
        """A memory that was written by another program some days ago."""
        folder = folder or self.memory
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / file
        path.parent.mkdir(exist_ok=True, parents=True)
        path.write_text(memory_text(body, **fields))
        os.utime(path, (self.now - age_days * DAY,) * 2)
        return path

    def confirm(self, *files: str) -> None:
        """As a person does with `memoryd trust`."""
        for file in files:
            version = self.store.read(self.directory, file).version
            self.versions.origins.note_hash(version, "confirmed")

    def have_sessions(self, count: int, *, hours_ago: float = 1.0, root: str = "") -> None:
        folder = Path(self.sessions.folder(root or self.root))
        folder.mkdir(parents=True, exist_ok=True)
        for number in range(count):
            path = folder / f"{number:08}-0000-4000-8000-000000000000.jsonl"
            path.write_text("{}\n")
            os.utime(path, (self.now - hours_ago * HOUR,) * 2)

    def have_turn(self, root: str) -> None:
        """From now on the root is one that had turns."""
        self.database.run(
            "insert into turns (id, project, session_id, path, started, ended, ending, state, at)"
            " values (?, ?, '', ?, '', '', '', 'done', ?)",
            root,
            root,
            f"{Path(self.sessions.folder(root)).name}/{root.replace('/', '')}.jsonl",
            self.now,
        )

    def index(self) -> str:
        return (self.memory / "MEMORY.md").read_text()

    def text(self, file: str) -> str:
        return (self.memory / file).read_text()

    def tree(self) -> str:
        return tree_hash(self.memory)

    def copies(self) -> list[str]:
        """The working copies that are still there."""
        folder = Path(self.places.state_dir, "dreams")
        return sorted(str(path) for path in folder.iterdir()) if folder.exists() else []

    def kinds(self) -> list[str]:
        return [kind_of(event) for event in self.events]

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
            with anyio.fail_after(self.deadline_seconds):
                await run.ended.wait()

    @asynccontextmanager
    async def running(self) -> AsyncIterator["DreamProject"]:
        """While the dreamer runs."""
        async with anyio.create_task_group() as tasks:
            await tasks.start(self.dreamer.run)
            yield self
            tasks.cancel_scope.cancel()


def two_of_a_kind(project: DreamProject) -> None:
    """Two memories that say the same, and one that does not."""
    project.remember("a.md", "Use pnpm for installs.\n\n**Why:** one lock file.", age_days=9)
    project.remember("b.md", "Always use pnpm for installs!", age_days=3)
    project.remember("c.md", "Never deploy on Fridays.", name="Deploys", age_days=5)
    project.store.repair(project.directory)


def tree_hash(folder: Path) -> str:
    """Of every name and byte in the folder, except the lock and the mark of its owner."""
    seen = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path.name not in {".consolidate-lock", ".memoryd-root"}:
            seen.update(f"{path.relative_to(folder)}\0".encode())
            seen.update(path.read_bytes())
    return seen.hexdigest()


def stamps(folder: Path) -> dict[str, float]:
    return {path.name: path.stat().st_mtime for path in folder.glob("*.md")}


async def until(event: threading.Event) -> None:
    """Waits for something that happens in another thread."""
    assert await anyio.to_thread.run_sync(event.wait, 30)


def data_of(events: Sequence[Event], kind: str) -> list[dict[str, Any]]:
    return [msgspec.structs.asdict(event) for event in events if kind_of(event) == kind]
