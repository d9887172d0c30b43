"""Builds every area and connects them; importing this takes longer than all it does.

`main` therefore loads it in a thread when the daemon already listens, and nothing else imports it.
"""

import importlib
import time
from collections.abc import Callable, Coroutine, Sequence
from contextlib import ExitStack
from functools import partial
from typing import Final

import anyio
import anyio.to_thread
import msgspec

import memoryd.api.build as api
import memoryd.devices.build as devices
import memoryd.dreams.build as dreams
import memoryd.extraction.build as extraction
import memoryd.recall.build as recall
import memoryd.sessions.build as sessions
import memoryd.team.build as team
import memoryd.transcripts.build as transcripts
from memoryd.api.dispatch import Areas
from memoryd.api.server import Handler, RootOf
from memoryd.api.subscriptions import Subscriptions
from memoryd.base import config_recovery
from memoryd.base.errors import ConfigError, Refused
from memoryd.base.events import DreamFinished, Event
from memoryd.daemon import log_file
from memoryd.daemon.environment import Environment
from memoryd.extraction.backfill import TurnsImported
from memoryd.llm.connect import Models, model_server
from memoryd.llm.spending_table import SpendingTable
from memoryd.memories.changes import event_of
from memoryd.memories.identities import Identities
from memoryd.memories.inbox_table import InboxTable
from memoryd.memories.instruction_files import InstructionDisk
from memoryd.memories.instruction_reader import Approvals, InstructionReader
from memoryd.memories.kept_files import KeptFiles
from memoryd.memories.moving import Mover
from memoryd.memories.project_names import NameReader
from memoryd.memories.records import DirectoryFound, MemoryChanged, MemoryMoved, MemoryTrusted
from memoryd.memories.rules.private_paths import PrivatePaths
from memoryd.memories.scopes import RealFiles, Scopes
from memoryd.memories.services import Services
from memoryd.memories.session_switches import SessionSwitches
from memoryd.memories.store import Store
from memoryd.memories.version_table import VersionTable
from memoryd.memories.watch import MemoryWatch
from memoryd.sessions.checkpoints import CheckpointChanged
from memoryd.system.background import Background
from memoryd.system.database import Database
from memoryd.system.notices import Notices
from memoryd.system.plain_file import refuse_unless_plain
from memoryd.transcripts.rules.open_turn import OpenTurn
from memoryd.transcripts.rules.turns import Compacted
from memoryd.transcripts.turn_table import QueuedTurn

AFTER_START_SECONDS: Final = 2.0


class Built(msgspec.Struct, frozen=True):
    """All areas, connected: what answers, what has to run, and what is wrong with the settings."""

    services: Services
    areas: Areas
    answer: Handler
    root_of: RootOf
    runs: Sequence[Callable[[], Coroutine[None, None, None]]]


async def build(
    environment: Environment,
    stack: ExitStack,
    subscriptions: Subscriptions,
    stop: Callable[[], None],
) -> Built:
    """Opens the database and builds everything on it; raises MemorydError if that is impossible."""
    services = open_services(environment, stack)
    areas = await build_areas(services)
    watch = MemoryWatch(
        services.places,
        services.scopes,
        services.store,
        subscriptions.drain,
        services.database.let_go,
    )
    connect(services, areas, watch, subscriptions)
    dispatcher = api.build(areas, environment.version, stop, log_file.scrub)
    services.background.soon("imports", _import_slow_modules)
    runs = (
        areas.transcripts.tail.run,
        partial(_extract, areas),
        areas.extraction.backfill.run,
        areas.recall.run,
        watch.run,
        services.background.run,
        areas.sessions.retention.run,
        areas.team.worker.run,
        areas.devices.worker.run,
    )
    return Built(services, areas, dispatcher.answer, services.scopes.find_root, runs)


def open_services(environment: Environment, stack: ExitStack) -> Services:
    """What every area is built on."""
    places, settings = environment.places, environment.settings
    refuse_unless_plain(places.state_db)
    database = Database.open(places.state_db)
    stack.callback(database.close)
    notices, versions = Notices(), VersionTable(database, settings.history)
    private = PrivatePaths(settings.privacy.exclude, places.home)
    scopes = Scopes(places, environment.env, database, notices, settings.groups, private=private)
    store = Store(
        versions,
        now=time.time,
        skip_index=settings.index.skip,
        notices=notices,
        on_create=scopes.directory_created,
        kept=KeptFiles(places.state_dir),
    )
    mover = Mover(store, versions, database, notices, time.time)
    mover.finish_interrupted()
    return Services(
        places=places,
        settings=settings,
        env=environment.env,
        database=database,
        versions=versions,
        scopes=scopes,
        store=store,
        mover=mover,
        names=NameReader(places.home, RealFiles()),
        inbox=InboxTable(database),
        instructions=InstructionReader(
            places, Approvals(database), InstructionDisk(is_private=private.has)
        ),
        private=private,
        session_switches=SessionSwitches(database),
        identities=Identities(places),
        notices=notices,
        background=Background(),
        problems=list(environment.problems),
    )


async def build_areas(services: Services) -> Areas:
    """Builds every area, lowest first."""
    following = transcripts.build(services)
    # Before the first answer: what a client writes after that is new.
    await following.tail.begin()
    spending = SpendingTable(services.database)
    models = usable_model(services, spending)
    session_parts, team_parts = sessions.build(services, models), team.build(services)
    return Areas(
        services=services,
        models=models,
        spending=spending,
        transcripts=following,
        extraction=extraction.build(services, following, models),
        recall=recall.build(services, models),
        dreamer=dreams.build(services, models),
        sessions=session_parts,
        team=team_parts,
        devices=devices.build(services, session_parts.checkpoints, team_parts.addresses),
    )


def usable_model(services: Services, spending: SpendingTable) -> Models | None:
    """The model in the settings; None, with a problem for people to see, if it cannot be used."""
    try:
        models = model_server(services.settings, spending, services.places.home, env=services.env)
    except (ConfigError, Refused) as error:
        services.problems.append(config_recovery.in_words(error))
        return None
    if models is not None:
        services.background.soon("model", models.look)
    return models


async def _extract(areas: Areas) -> None:
    """Extracts from turns; with a mistake in the settings they wait, since guessing is worse."""
    if not areas.services.problems:
        await areas.extraction.worker.serve()


def connect(
    services: Services, areas: Areas, watch: MemoryWatch, subscriptions: Subscriptions
) -> None:
    """Which area handles which notice."""
    on, announce, scopes = services.notices.on, services.notices.announce, services.scopes
    # A turn is finished: extraction, notes, dreams, recall.
    on(QueuedTurn, lambda _: areas.extraction.worker.wake())
    on(QueuedTurn, areas.sessions.notes.turn_stored)
    on(QueuedTurn, lambda queued: areas.dreamer.turn_ended(queued.project))
    on(QueuedTurn, lambda queued: areas.recall.turn_ended(queued.turn, queued.project))
    # A turn still runs and has grown: notes.
    on(OpenTurn, areas.sessions.notes.turn_grew)
    # Old turns are imported: extraction.
    on(TurnsImported, lambda _: areas.extraction.worker.wake())
    # A session is compacted: recall and context, which may give it everything again.
    on(Compacted, lambda compacted: areas.recall.forget_session(compacted.session_id))
    on(Compacted, lambda _: areas.sessions.context.forget())
    # ... and extraction, which has no reason to wait for more of the same talk.
    on(Compacted, lambda compacted: areas.extraction.worker.session_compacted(compacted.session_id))
    # A memory is changed: recall, then subscribers.
    on(MemoryChanged, areas.recall.changed)
    on(MemoryChanged, lambda change: announce(event_of(change, scopes.owner(change.directory))))
    # ... and the team, if it is theirs; while a dream runs nothing is pushed.
    on(MemoryChanged, areas.team.worker.changed)
    areas.team.worker.is_dreaming = lambda: areas.dreamer.is_dreaming
    on(DreamFinished, lambda _: areas.team.worker.wake())
    # ... and the person's other machines, which also hear of projects and checkpoints.
    on(MemoryChanged, areas.devices.worker.changed)
    areas.devices.worker.is_dreaming = lambda: areas.dreamer.is_dreaming
    on(DreamFinished, lambda _: areas.devices.worker.soon())
    on(DirectoryFound, lambda _: areas.devices.worker.soon())
    on(CheckpointChanged, lambda _: areas.devices.worker.soon())
    areas.sessions.checkpoints.changed = lambda: services.notices.post(CheckpointChanged())
    # A memory has another path: recall, which counts by path.
    on(MemoryMoved, areas.recall.moved)
    # ... and what the project is, if that is not known yet.
    on(MemoryChanged, partial(_note_identity, services))
    # It is known by now who wrote a memory: recall.
    on(MemoryTrusted, areas.recall.trusted)
    # A memory directory is new: the watch.
    on(DirectoryFound, lambda _: watch.folders_changed())
    # Every announced event: subscribers on the socket.
    on(Event, subscriptions.publish)


def _note_identity(services: Services, change: MemoryChanged) -> None:
    """Following a repository's commits takes a moment, so it happens beside the change."""
    directory = change.directory.path
    root = services.scopes.owner(change.directory)
    if change.directory.scope == "project" and root and services.identities.is_new(directory):
        record = partial(services.identities.record, root, directory)
        services.background.soon("identity", lambda: anyio.to_thread.run_sync(record))


async def _import_slow_modules() -> None:
    """Imports what takes a while, before the first turn or save needs it.

    Who asks at once waits for recall, which is loaded at the same time.
    """
    await anyio.sleep(AFTER_START_SECONDS)
    await anyio.to_thread.run_sync(
        importlib.import_module, "memoryd.extraction.rules.statements", abandon_on_cancel=True
    )
