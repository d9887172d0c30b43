"""From a stored turn to a memory, in this process, with every real part in between."""

import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import anyio

from memoryd.agent.rules.limits import RunLimits
from memoryd.base import events, paths
from memoryd.base.config import Budget, Credentials, ExtractionMode, ProjectMode, Secret, Settings
from memoryd.extraction.attribution import Attribution
from memoryd.extraction.embedded import EmbeddedExtractor
from memoryd.extraction.inbox import Inbox
from memoryd.extraction.model import ModelExtractor
from memoryd.extraction.pastes import PasteHistory
from memoryd.extraction.placing import Placing
from memoryd.extraction.rules.batching import Limits
from memoryd.extraction.task import Extractor
from memoryd.extraction.worker import ExtractionWorker
from memoryd.llm.anthropic_client import Provider
from memoryd.llm.connect import ModelServer, model_server
from memoryd.llm.spending_table import SpendingTable
from memoryd.memories.agents import Agents
from memoryd.memories.inbox_table import InboxTable
from memoryd.memories.project_names import NameReader
from memoryd.memories.scopes import Project, RealFiles, Scopes
from memoryd.memories.store import Store
from memoryd.memories.version_table import VersionTable
from memoryd.system.database import Database
from memoryd.system.notices import Notices
from memoryd.transcripts.rules.assembler import living_history, read_entries
from memoryd.transcripts.rules.turns import Turn
from memoryd.transcripts.turn_table import QueuedTurn, TurnTable
from tests.support.running import environment
from tests.support.scripted_model import Held, Message, Reply, SeenRequest, asks, says
from tests.support.session_script import SessionScript

WAIT_SECONDS = 60
START = 1_794_000_000.0


def memory_text(name: str, type_: str = "feedback", body: str = "Use tabs.") -> str:
    return f"---\nname: {name}\ndescription: about {name}\ntype: {type_}\n---\n\n{body}\n"


def has_answered(request: SeenRequest) -> bool:
    """Whether the request carries the results of an earlier answer."""
    return len(request.body["messages"]) > 1


def writes_once(*calls: Any) -> Callable[[SeenRequest], Message]:
    """A model that makes these calls in its first answer and then stops."""
    return lambda request: says("Saved.") if has_answered(request) else asks(*calls)


def messages_in(request: SeenRequest) -> str:
    return str(request.body["messages"][0]["content"][-1]["text"])


class Gate:
    """Holds the model's answers back until it is opened; counts the requests that wait."""

    def __init__(self) -> None:
        self._open = threading.Event()
        self._crowd = threading.Condition()
        self.inside = self.most_inside = 0

    def open(self) -> None:
        self._open.set()

    def then(self, reply: Reply) -> Reply:
        return Held(self._pass, reply)

    def _pass(self) -> None:
        with self._crowd:
            self.inside += 1
            self.most_inside = max(self.most_inside, self.inside)
            self._crowd.notify_all()
        self._open.wait(WAIT_SECONDS)
        with self._crowd:
            self.inside -= 1

    def wait_for(self, count: int) -> None:
        with self._crowd:
            assert self._crowd.wait_for(lambda: self.inside >= count, WAIT_SECONDS)


class ExtractionBench:
    """The parts of a daemon that extraction needs; `clock` is the time that all of them see."""

    def __init__(
        self,
        home: Path,
        base_url: str = "",
        limits: Limits | None = None,
        budget: Budget | None = None,
        state_type: type[Database] = Database,
        provider: Provider | None = None,
        mode: ProjectMode = "topics",
        extraction_mode: ExtractionMode = "auto",
        run_limits: RunLimits | None = None,
        *,
        scripted: bool = False,
        places: bool = False,
    ) -> None:
        self.home = home
        self.extraction_mode: ExtractionMode = extraction_mode
        self.mode: ProjectMode = mode
        self.run_limits = run_limits
        self.open_sessions: frozenset[str] = frozenset()
        self.clock = START
        self.state = state_type.open(str(home / ".local/state/memoryd/state.db"))
        self.scopes = Scopes(paths.places(environment(home), "linux", 0, str(home)), {}, self.state)
        self.history = VersionTable(self.state)
        self.store = Store(self.history, now=self.now)
        names = NameReader(str(home), RealFiles())
        self.agents = Agents(self.scopes.places)
        self.placing = Placing(self.scopes, names) if places else None
        self.inbox = Inbox(InboxTable(self.state), self.scopes, self.store, now=self.now)
        self.queue = TurnTable(self.state)
        self.backlog = TurnTable(self.state)
        self.ledger = SpendingTable(self.state)
        self.finished: list[events.ExtractionFinished] = []
        self._finished_one = anyio.Event()
        self.server: ModelServer | None = None
        self.settings = Settings(
            credentials=Credentials(api_key=Secret("key"), base_url=base_url or None),
            budget=budget or Budget(),
        )
        notices = Notices()
        notices.on(events.ExtractionFinished, self._tell)
        self.worker = ExtractionWorker(
            self.backlog,
            self.scopes,
            Attribution(self.store, self.history),
            self._extractor(base_url, provider),
            limits or Limits(),
            mode_of=lambda _: self.extraction_mode,
            pastes=PasteHistory(str(home / ".claude")),
            counts_scripts=scripted,
            agents=self.agents,
            open_sessions=lambda: self.open_sessions,
            notices=notices,
            now=self.now,
        )

    def now(self) -> float:
        return self.clock

    def today(self) -> date:
        return datetime.fromtimestamp(self.clock, UTC).date()

    def _extractor(self, base_url: str, provider: Provider | None) -> Extractor:
        if base_url:
            server = model_server(
                self.settings,
                self.ledger,
                str(self.home),
                lambda: datetime.fromtimestamp(self.clock, UTC),
            )
            assert isinstance(server, ModelServer)
            self.server = server
            provider = self.server.patient
        if provider is None:
            return EmbeddedExtractor(
                self.store,
                self.inbox,
                lambda _: self.mode,
                extraction_mode_of=lambda _: self.extraction_mode,
                placing=self.placing,
                now=self.now,
            )
        return ModelExtractor(
            provider,
            self.settings.model.extraction,
            self.store,
            self.history,
            inbox=self.inbox,
            state_folder=str(self.home / ".local/state/memoryd"),
            mode_of=lambda _: self.mode,
            extraction_mode_of=lambda _: self.extraction_mode,
            placing=self.placing,
            limits=self.run_limits,
            now=self.now,
        )

    def _tell(self, event: events.Event) -> None:
        assert isinstance(event, events.ExtractionFinished)
        self.finished.append(event)
        self._finished_one.set()

    def project(self, name: str = "app") -> Project:
        return self.scopes.project(str(self.home / name))

    def add(self, script: SessionScript) -> list[str]:
        """Stores the turns of a session as the tail would; returns the ids of the new ones."""
        history = living_history(read_entries([script.data]))
        filed = [
            QueuedTurn(event, self.scopes.root(event.cwd), "x.jsonl")
            for event in history
            if isinstance(event, Turn)
        ]
        new = [one.turn.id for one in self.queue.add(filed, at=self.clock)]
        self.worker.wake()
        return new

    def session(self, name: str = "s", project: str = "app") -> SessionScript:
        return SessionScript(name, str(self.home / project))

    def say(self, *prompts: str, session: str = "s", project: str = "app") -> list[str]:
        """Stores a turn for each prompt; returns their ids."""
        script = self.session(session, project)
        for prompt in prompts:
            script.turn(prompt, "Understood.")
        return self.add(script)

    @asynccontextmanager
    async def working(self) -> AsyncIterator[None]:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self.worker.serve)
            yield
            tasks.cancel_scope.cancel()

    async def runs(self, count: int) -> list[events.ExtractionFinished]:
        """Waits until that many runs have ended."""
        with anyio.fail_after(WAIT_SECONDS):
            while len(self.finished) < count:
                self._finished_one = anyio.Event()
                await self._finished_one.wait()
        return self.finished

    async def idle(self) -> None:
        """Waits until nothing runs and nothing is due."""
        with anyio.fail_after(WAIT_SECONDS):
            while not await self.now_idle():
                continue

    async def now_idle(self) -> bool:
        await anyio.sleep(0.005)
        report = await anyio.to_thread.run_sync(self.worker.report)
        return not report.waiting and not report.running

    def step(self, seconds: float) -> None:
        self.clock += seconds
        self.worker.wake()

    def files(self, project: str = "app") -> dict[str, str]:
        directory = self.project(project).memory
        return {
            one.file: self.store.read(directory, one.file).text
            for one in self.store.scan(directory)
        }

    async def close(self) -> None:
        if self.server is not None:
            await self.server.aclose()
        self.state.close()


@contextmanager
def opened(gate: Gate) -> Iterator[Gate]:
    try:
        yield gate
    finally:
        gate.open()
