"""How the parts of the daemon are put together, each from what it stands on."""

import importlib
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING

import anyio
import anyio.to_thread
import msgspec

from memoryd.agent.toolbox import AgentTools
from memoryd.api.handlers.hooks import Hooks
from memoryd.api.handlers.recall import RecallMethods
from memoryd.api.handlers.sessions import SessionMethods
from memoryd.api.handlers.transcripts import TranscriptMethods
from memoryd.api.subscriptions import Subscriptions
from memoryd.base import paths
from memoryd.base.config import Settings
from memoryd.base.paths import Places
from memoryd.daemon.notices import Ears, Telling
from memoryd.daemon.supervisor import Supervisor
from memoryd.dreams.build import build as build_dreamer
from memoryd.dreams.dreamer import Dreamer
from memoryd.extraction.backfill import Backfill
from memoryd.extraction.embedded import EmbeddedExtractor
from memoryd.extraction.model import ModelExtractor
from memoryd.extraction.task import Extractor
from memoryd.llm.connect import ModelServer
from memoryd.llm.rules.spending import price_of
from memoryd.memories.rules import headers
from memoryd.memories.scopes import Scopes
from memoryd.memories.services import Services
from memoryd.memories.store import Store
from memoryd.memories.version_table import VersionTable
from memoryd.memories.watch import MemoryWatch
from memoryd.recall.selector import ModelSelector
from memoryd.recall.surfaced import Surfaced
from memoryd.sessions.checkpoints import Checkpoints
from memoryd.sessions.context import Context, StoredApprovals
from memoryd.sessions.instruction_files import InstructionDisk
from memoryd.sessions.notes import NotesWriter, SessionNotes
from memoryd.system.background import Background
from memoryd.system.database import Database
from memoryd.system.notices import Notices
from memoryd.transcripts.cursor_table import CursorTable
from memoryd.transcripts.reader import TranscriptReader
from memoryd.transcripts.sessions import Sessions
from memoryd.transcripts.tail import Listener, Tail
from memoryd.transcripts.turn_table import TurnQueue

if TYPE_CHECKING:
    from memoryd.recall.answer import Recall
    from memoryd.recall.shelves import Soon


class Environment(msgspec.Struct, frozen=True):
    """All that the daemon takes from outside."""

    places: Places
    settings: Settings
    env: Mapping[str, str]
    version: str
    supervisor: Supervisor


class Following:
    """The parts that follow transcripts, put together."""

    def __init__(
        self,
        world: Environment,
        state: Database,
        scopes: Scopes,
        hub: Subscriptions,
        listener: Listener,
    ) -> None:
        root = f"{world.places.claude_dir}/projects"
        cursors, queue = CursorTable(state), TurnQueue(state)
        model = world.settings.model.extraction
        self.tail = Tail(
            root=root,
            cursors=cursors,
            reader=TranscriptReader(root, cursors, queue, scopes.root, time.time),
            publish=hub.publish,
            sweep_seconds=world.settings.transcripts.sweep_seconds,
            listener=listener,
        )
        self.backfill = Backfill(
            root=root,
            state=state,
            cursors=cursors,
            queue=queue,
            scopes=scopes,
            model=model,
            price=price_of(model, world.settings.prices),
            publish=hub.publish,
            on_change=listener.on_change,
        )
        self.methods = TranscriptMethods(self.tail, Sessions(root, scopes.root), self.backfill)


def memory_watch(
    world: Environment, scopes: Scopes, store: Store, hub: Subscriptions, told: Telling
) -> MemoryWatch:
    watch = MemoryWatch(world.places, scopes, store, hub.drain)
    scopes.on_new_directory = told.on_loop(watch.folders_changed)
    return watch


def extractor(
    world: Environment, store: Store, history: VersionTable, models: ModelServer | None
) -> Extractor:
    if models is None:
        return EmbeddedExtractor(store, world.settings.mode_of)
    return ModelExtractor(
        models.patient,
        world.settings.model.extraction,
        store,
        history,
        state_folder=world.places.state_dir,
        closed=(world.places.claude_dir, world.places.state_dir),
        mode_of=world.settings.mode_of,
    )


def dreamer(
    world: Environment,
    state: Database,
    scopes: Scopes,
    store: Store,
    history: VersionTable,
    notices: Notices,
    errands: Background,
    ears: Ears,
    models: ModelServer | None,
) -> Dreamer:
    services = Services(
        places=world.places,
        settings=world.settings,
        env=world.env,
        database=state,
        versions=history,
        scopes=scopes,
        store=store,
        notices=notices,
        background=errands,
    )
    dreamer = build_dreamer(services, models)
    ears.of_turns.append(lambda filed: dreamer.turn_ended(filed.project))
    return dreamer


def session_methods(
    world: Environment,
    state: Database,
    scopes: Scopes,
    store: Store,
    recall: RecallMethods,
    tail: Tail,
    errands: Background,
    models: ModelServer | None,
) -> SessionMethods:
    context = Context(
        places=world.places,
        scopes=scopes,
        store=store,
        settings=world.settings,
        approvals=StoredApprovals(state),
        files=InstructionDisk(),
    )
    names = world.settings.model
    writer = NotesWriter(models.patient, names.notes, AgentTools.definitions) if models else None
    notes = SessionNotes(world.places, state, writer, time.time)
    hooks = Hooks(
        places=world.places,
        scopes=scopes,
        recall=recall,
        context=context,
        session_notes=notes,
        tail=tail,
        errands=errands,
        now=time.time,
    )
    return SessionMethods(
        scopes=scopes,
        hooks=hooks,
        context=context,
        notes=notes,
        checkpoints=Checkpoints(world.places),
        recall=recall,
        errands=errands,
    )


async def load_the_rest() -> None:
    """What takes a while to load, before the first turn or the first save needs it."""
    await anyio.to_thread.run_sync(headers.handler, abandon_on_cancel=True)
    await anyio.to_thread.run_sync(
        importlib.import_module, "memoryd.extraction.rules.statements.find", abandon_on_cancel=True
    )


def load_recall(
    world: Environment,
    scopes: Scopes,
    store: Store,
    surfaced: Surfaced,
    models: ModelServer | None,
    soon: "Soon",
) -> "Recall":
    """Imports and opens what recall needs; for a thread, after the daemon answers."""
    from memoryd.recall.answer import Recall  # noqa: PLC0415 - arrays take a while to load
    from memoryd.recall.embeddings import Embeddings  # noqa: PLC0415

    wanted = world.settings.recall
    folder = wanted.model_dir and paths.expand_home(wanted.model_dir, world.places.home)
    meaning = Embeddings(folder, f"{world.places.state_dir}/vectors")
    meaning.load()
    return Recall(
        places=world.places,
        scopes=scopes,
        store=store,
        surfaced=surfaced,
        meaning=meaning,
        selector=ModelSelector(models.metered, world.settings.model.recall) if models else None,
        limit=wanted.limit,
        deadline_ms=wanted.deadline_ms,
        soon=soon,
        now=time.time,
    )
