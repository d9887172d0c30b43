"""The process: reads its environment, builds every area, connects them, and stops in order.

Everything lives in one exit stack and one task group. A signal or a `shutdown` request only sets an
event. What follows is always the same: stop accepting, let answers finish, cancel the rest, exit.
Work still running after that is abandoned; every part is crash-safe.
"""

import importlib
import os
import resource
import signal
import sys
import time
from collections.abc import Mapping, MutableMapping
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Final

import anyio
import anyio.to_thread
import msgspec
import structlog
from anyio.abc import TaskStatus

import memoryd.api.build as api
import memoryd.devices.build as devices
import memoryd.dreams.build as dreams
import memoryd.extraction.build as extraction
import memoryd.recall.build as recall
import memoryd.sessions.build as sessions
import memoryd.team.build as team
import memoryd.transcripts.build as transcripts
from memoryd.api.dispatch import Areas
from memoryd.api.server import Server, most_connections
from memoryd.api.subscriptions import Subscriptions
from memoryd.base import config_recovery, paths
from memoryd.base.config import Settings
from memoryd.base.errors import ConfigError, MemorydError, Refused
from memoryd.base.events import DaemonStopping, DreamFinished, Event
from memoryd.base.paths import Places
from memoryd.daemon import log_file
from memoryd.daemon.instance import InstanceLock
from memoryd.daemon.journal import journal_for
from memoryd.daemon.listener import DaemonListener
from memoryd.daemon.shutdown import leave_after
from memoryd.daemon.supervisor import Supervisor
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
from memoryd.system.heap import use_few_arenas
from memoryd.system.notices import Notices
from memoryd.system.plain_file import read_plain, refuse_unless_plain
from memoryd.transcripts.rules.open_turn import OpenTurn
from memoryd.transcripts.rules.turns import Compacted
from memoryd.transcripts.turn_table import QueuedTurn

GRACE_SECONDS: Final = 3.0
LAST_SECONDS: Final = 4.5
CLOSING_SECONDS: Final = 0.5
CONFIG_LIMIT_BYTES: Final = 1024 * 1024
# How long a thread may keep the interpreter before the loop can answer. Python's default of 5 ms,
# several times within one answer, would be noticeable while a large memory is read.
SWITCH_SECONDS: Final = 0.0005
EX_CONFIG: Final = 78  # the unit does not restart us until the settings are fixed

log = structlog.get_logger(__name__)


class Environment(msgspec.Struct, frozen=True):
    """Everything the daemon takes from outside."""

    places: Places
    settings: Settings
    env: Mapping[str, str]
    version: str
    supervisor: Supervisor
    problems: list[str] = msgspec.field(default_factory=list)


def main(version: str, *, shows_log: bool = False) -> int:
    """Serves until asked to stop; returns the exit code. Errors go to standard error."""
    os.umask(0o077)
    try:
        environment = read_environment(os.environ, version)
        with ExitStack() as stack:
            lock = InstanceLock.take(environment.places.state_dir)
            stack.callback(lock.release)
            _start_log(environment, shows_log=shows_log)
            stack.callback(log_file.stop)
            _raise_handle_limit()
            sys.setswitchinterval(SWITCH_SECONDS)
            use_few_arenas()
            anyio.run(serve, environment, stack)
    except MemorydError as error:
        sys.stderr.write(f"memoryd: {error.message}\n")
        if error.hint:
            sys.stderr.write(f"  {error.hint}\n")
        return EX_CONFIG if isinstance(error, ConfigError) else 1
    return 0


def read_environment(env: MutableMapping[str, str], version: str) -> Environment:
    """Reads environment and settings; a mistake in the settings is kept for people to see."""
    supervisor = Supervisor(env, os.getpid())
    places = paths.places(env, sys.platform, os.getuid(), str(Path.home()))
    try:
        text = read_plain(places.config_file, CONFIG_LIMIT_BYTES).decode()
    except FileNotFoundError:
        text = ""
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        problem = f"cannot read {places.config_file}: {reason}; fix the file or move it away"
        careful = config_recovery.careful_settings(env)
        return Environment(places, careful, env, version, supervisor, [problem])
    found = config_recovery.recovered_settings(text, env)
    return Environment(places, found.settings, env, version, supervisor, found.problems)


async def serve(environment: Environment, stack: ExitStack) -> None:
    """Runs every area until the stop event is set."""
    stop = anyio.Event()
    services = open_services(environment, stack)
    areas = await build_areas(services)
    subscriptions = Subscriptions()
    watch = MemoryWatch(services.places, services.scopes, services.store, subscriptions.drain)
    connect(services, areas, watch, subscriptions)
    dispatcher = api.build(areas, environment.version, stop.set, log_file.scrub)
    handles, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    room = most_connections(handles)
    server = Server(dispatcher.answer, subscriptions, services.scopes.find_root, room)
    supervisor, socket = environment.supervisor, services.places.socket
    with DaemonListener(socket, supervisor.sockets()) as listener:
        async with anyio.create_task_group() as tasks:
            await tasks.start(_stop_on_signal, stop)
            await tasks.start(areas.dreamer.run)
            await listener.open(server, tasks)
            for run in (
                areas.transcripts.tail.run,
                partial(_extract, areas),
                areas.extraction.backfill.run,
                areas.recall.run,
                watch.run,
                services.background.run,
                areas.sessions.retention.run,
                areas.team.worker.run,
                areas.devices.worker.run,
            ):
                tasks.start_soon(run)
            tasks.start_soon(_feed_watchdog, supervisor)
            services.background.soon("imports", _import_slow_modules)
            supervisor.ready("serving")
            log.info("started", version=environment.version, socket=socket)
            for problem in services.problems:
                log.error("settings-problem", problem=problem)
            await stop.wait()
            began = anyio.current_time()
            leave_after(LAST_SECONDS)
            supervisor.stopping()
            services.notices.announce(DaemonStopping())
            in_time = await _finish_answers(listener, server)
            tasks.cancel_scope.cancel()
    if areas.models is not None:
        with anyio.move_on_after(CLOSING_SECONDS):
            await areas.models.aclose()
    log.info("stopped", in_time=in_time, ms=round((anyio.current_time() - began) * 1000))


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


async def _finish_answers(listener: DaemonListener, server: Server) -> bool:
    """Stops accepting; returns whether every answer was finished in time."""
    listener.close()
    with anyio.move_on_after(GRACE_SECONDS) as grace:
        await server.drain()
    return not grace.cancelled_caught


async def _import_slow_modules() -> None:
    """Imports what takes a while, before the first turn or save needs it."""
    await anyio.to_thread.run_sync(
        importlib.import_module, "memoryd.extraction.rules.statements", abandon_on_cancel=True
    )


async def _stop_on_signal(stop: anyio.Event, *, task_status: TaskStatus[None]) -> None:
    with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT, signal.SIGHUP) as signals:
        task_status.started()
        async for number in signals:
            log.info("signal", name=signal.Signals(number).name)
            stop.set()


async def _feed_watchdog(supervisor: Supervisor) -> None:
    """Runs on the event loop, so that the supervisor notices when the loop hangs."""
    if supervisor.watchdog_seconds is None:
        return
    while True:
        supervisor.alive()
        await anyio.sleep(supervisor.watchdog_seconds / 3)


def _start_log(environment: Environment, *, shows_log: bool) -> None:
    settings = environment.settings.log
    refuse_unless_plain(environment.places.log_file)
    log_file.start(
        environment.places.log_file,
        level=settings.level,
        max_bytes=settings.max_bytes,
        keep_files=settings.keep_files,
        terminal=log_file.terminal_for(sys.stderr),
        is_quiet=not shows_log,
        keep_days=settings.keep_days,
        journal=journal_for(os.environ, sys.stderr),
    )


def _raise_handle_limit() -> None:
    """A thousand clients need more file handles than many systems allow by default."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 8192 if hard == resource.RLIM_INFINITY else min(8192, hard)
    if soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
