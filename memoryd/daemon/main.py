"""The composition root: builds every part, connects them, and ends them in order.

Everything lives in one exit stack and one task group. A signal or a `shutdown` call only sets
an event; what follows is always the same: stop accepting, let answers finish, cancel the rest, go.
Whatever does not end by then is left: everything here bears a kill.
"""

import os
import resource
import signal
import sys
import time
from collections.abc import MutableMapping
from contextlib import ExitStack
from pathlib import Path
from typing import Final

import anyio
import anyio.to_thread
import structlog
from anyio.abc import TaskStatus

from memoryd.api.dispatch import Methods
from memoryd.api.handlers.dreams import DreamMethods
from memoryd.api.handlers.health import Health
from memoryd.api.handlers.recall import RecallMethods
from memoryd.api.handlers.spending import ExtractMethods
from memoryd.api.server import Server
from memoryd.api.subscriptions import Subscriptions
from memoryd.base import config_file, events, paths
from memoryd.base.errors import ConfigError, MemorydError
from memoryd.daemon import log_file, wiring
from memoryd.daemon.instance import InstanceLock
from memoryd.daemon.listener import DaemonListener
from memoryd.daemon.notices import Ears, Telling
from memoryd.daemon.shutdown import leave_after
from memoryd.daemon.supervisor import Supervisor
from memoryd.daemon.wiring import Environment
from memoryd.extraction.attribution import Attribution
from memoryd.extraction.rules.batching import Limits
from memoryd.extraction.worker import ExtractionWorker
from memoryd.llm.connect import model_server
from memoryd.llm.spending_table import SpendingTable
from memoryd.memories.catalog import Catalog
from memoryd.memories.records import MemoryChanged
from memoryd.memories.scopes import Scopes
from memoryd.memories.store import Store
from memoryd.memories.version_table import VersionTable
from memoryd.memories.versions import Versions
from memoryd.recall.surfaced import Surfaced
from memoryd.system.background import Background
from memoryd.system.database import Database
from memoryd.system.notices import Notices
from memoryd.system.plain_file import read_plain, refuse_unless_plain
from memoryd.transcripts.backlog import Backlog
from memoryd.transcripts.sessions import Sessions
from memoryd.transcripts.turn_table import TurnQueue

GRACE_SECONDS: Final = 3.0
LAST_SECONDS: Final = 4.5
CLOSING_SECONDS: Final = 0.5
CONFIG_LIMIT_BYTES: Final = 1024 * 1024
# What works in threads has the interpreter for so long before the loop may answer somebody;
# Python's own 5 ms, several times in one answer, would be felt while a large memory is read.
TURN_SECONDS: Final = 0.0005
EX_CONFIG: Final = 78  # the unit does not start us again until somebody has mended the settings

log = structlog.get_logger(__name__)


def main(version: str) -> int:
    """Serves until told to stop; the exit code. Errors are for the person who started it."""
    os.umask(0o077)
    try:
        world = look_around(os.environ, version)
        with ExitStack() as stack:
            lock = InstanceLock.take(world.places.state_dir)
            stack.callback(lock.release)
            _start_log(world)
            stack.callback(log_file.stop)
            _raise_handle_limit()
            sys.setswitchinterval(TURN_SECONDS)
            anyio.run(serve, world, stack)
    except MemorydError as error:
        sys.stderr.write(f"memoryd: {error.message}\n")
        if error.hint:
            sys.stderr.write(f"  {error.hint}\n")
        return EX_CONFIG if isinstance(error, ConfigError) else 1
    return 0


def look_around(env: MutableMapping[str, str], version: str) -> Environment:
    """Reads environment and settings; ConfigError names what cannot be used."""
    supervisor = Supervisor(env, os.getpid())
    places = paths.places(env, sys.platform, os.getuid(), str(Path.home()))
    try:
        text = read_plain(places.config_file, CONFIG_LIMIT_BYTES).decode()
    except FileNotFoundError:
        text = ""
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise ConfigError(
            f"cannot read {places.config_file}: {reason}", hint="mend the file or move it away"
        ) from error
    return Environment(places, config_file.load_settings(text, env), env, version, supervisor)


async def serve(world: Environment, stack: ExitStack) -> None:  # noqa: PLR0915 - a list
    """Runs every part until the stop event is set."""
    refuse_unless_plain(world.places.state_db)
    state = Database.open(world.places.state_db)
    stack.callback(state.close)
    stop = anyio.Event()
    hub = Subscriptions()
    scopes = Scopes(world.places, world.env, state)
    history = VersionTable(state, world.settings.history)
    notices = Notices()
    told = Telling(hub, scopes)
    notices.on(MemoryChanged, told.changed)
    notices.on(events.Event, hub.publish)
    store = Store(
        history,
        now=time.time,
        skip_index=world.settings.index.skip,
        notices=notices,
    )
    ledger = SpendingTable(state)
    models = model_server(world.settings, ledger, world.places.home)
    errands = Background()
    surfaced = Surfaced(state, time.time)
    recall = RecallMethods(
        lambda: wiring.load_recall(world, scopes, store, surfaced, models, errands.soon), surfaced
    )
    told.listeners.append(recall.changed)
    errors = [f"state.db was damaged; it is now {state.put_aside}"] if state.put_aside else []
    memories = Catalog(scopes, store, time.time)
    ears = Ears()
    following = wiring.Following(world, state, scopes, hub, ears)
    await following.tail.begin()
    session = wiring.session_methods(
        world, state, scopes, store, recall, following.tail, errands, models
    )
    ears.of_turns.append(session.turn_ended)
    ears.of_compactions.append(session.compacted)
    worker = ExtractionWorker(
        Backlog(state),
        scopes,
        Attribution(store, history),
        wiring.extractor(world, store, history, models),
        Limits(world.settings.extraction.every_turns, world.settings.extraction.parallel),
        tell=hub.publish,
    )
    ears.of_changes.append(worker.wake)
    dreamer = wiring.dreamer(world, state, scopes, store, history, notices, errands, ears, models)
    methods = Methods(
        version=world.version,
        scopes=scopes,
        memories=memories,
        versions=Versions(scopes, memories, store, history),
        transcripts=following.methods,
        health=Health(
            scopes=scopes,
            store=store,
            history=history,
            queue=TurnQueue(state),
            models=models,
            model=world.settings.model.extraction,
            projects_in=Sessions(f"{world.places.claude_dir}/projects", scopes.root).projects_in,
        ),
        recall=recall,
        sessions=session,
        extraction=ExtractMethods(worker, ledger, world.settings, models),
        dreams=DreamMethods(dreamer),
        log_path=world.places.log_file,
        socket_path=world.places.socket,
        errors=errors,
        stop=stop.set,
    )
    server = Server(methods.answer, hub, scopes.root)
    with DaemonListener(world.places.socket, world.supervisor.sockets()) as door:
        async with anyio.create_task_group() as tasks:
            await tasks.start(_stop_on_signal, stop)
            await tasks.start(dreamer.run)
            await door.open(server, tasks)
            for part in (
                following.tail.run,
                worker.serve,
                recall.run,
                surfaced.run,
                wiring.memory_watch(world, scopes, store, hub, told).run,
                errands.run,
                following.backfill.run,
            ):
                tasks.start_soon(part)
            tasks.start_soon(_give_signs_of_life, world.supervisor)
            errands.soon("the rest", wiring.load_the_rest)
            world.supervisor.ready("serving")
            log.info("started", version=world.version, socket=world.places.socket)
            await stop.wait()
            began = anyio.current_time()
            leave_after(LAST_SECONDS)
            world.supervisor.stopping()
            in_time = await _last_words(hub, door, server)
            tasks.cancel_scope.cancel()
    if models is not None:
        with anyio.move_on_after(CLOSING_SECONDS):
            await models.aclose()
    log.info("stopped", in_time=in_time, ms=round((anyio.current_time() - began) * 1000))


async def _last_words(hub: Subscriptions, door: DaemonListener, server: Server) -> bool:
    """Nobody new is let in; whether all who were in got their answers in time."""
    hub.publish(events.DaemonStopping())
    door.close()
    with anyio.move_on_after(GRACE_SECONDS) as grace:
        await server.drain()
    return not grace.cancelled_caught


async def _stop_on_signal(stop: anyio.Event, *, task_status: TaskStatus[None]) -> None:
    with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT, signal.SIGHUP) as signals:
        task_status.started()
        async for number in signals:
            log.info("signal", name=signal.Signals(number).name)
            stop.set()


async def _give_signs_of_life(supervisor: Supervisor) -> None:
    """From the event loop itself: a loop that hangs is one that the watchdog must see."""
    if supervisor.watchdog_seconds is None:
        return
    while True:
        supervisor.alive()
        await anyio.sleep(supervisor.watchdog_seconds / 3)


def _start_log(world: Environment) -> None:
    wanted = world.settings.log
    refuse_unless_plain(world.places.log_file)
    log_file.start(
        world.places.log_file,
        level=wanted.level,
        max_bytes=wanted.max_bytes,
        keep_files=wanted.keep_files,
        terminal=log_file.terminal_for(sys.stderr),
    )


def _raise_handle_limit() -> None:
    """A thousand clients need more handles than many systems give at first."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 8192 if hard == resource.RLIM_INFINITY else min(8192, hard)
    if soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
