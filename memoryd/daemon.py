"""The composition root: builds every part, connects them, and ends them in order.

Everything lives in one exit stack and one task group. A signal, a `shutdown` call or a lost socket
only sets an event; what follows is always the same: stop accepting, let answers finish, go.
"""

import asyncio
import os
import resource
import signal
import socket
import sys
import time
from collections.abc import Callable, Mapping, MutableMapping
from contextlib import ExitStack
from pathlib import Path
from typing import Final, Self

import anyio
import msgspec
import structlog
from anyio.abc import SocketListener, TaskGroup, TaskStatus

from memoryd import config_file, events, journal, paths
from memoryd.backfill import Backfill
from memoryd.config import Settings
from memoryd.cursors import Cursors
from memoryd.errors import ConfigError, MemorydError
from memoryd.history import History
from memoryd.hub import Hub
from memoryd.instance import BoundSocket, InstanceLock
from memoryd.memories import Memories
from memoryd.methods import Methods
from memoryd.paths import Places
from memoryd.reading import Reader
from memoryd.rpc import Server
from memoryd.scopes import Scopes
from memoryd.sessions import Sessions
from memoryd.spending import price_of
from memoryd.state import State
from memoryd.store import Change, Store
from memoryd.supervisor import Supervisor
from memoryd.tail import Tail
from memoryd.transcript_methods import TranscriptMethods
from memoryd.turn_queue import TurnQueue
from memoryd.versions import Versions

GRACE_SECONDS: Final = 4.0
SOCKET_CHECK_SECONDS: Final = 20.0
EX_CONFIG: Final = 78  # the unit does not start us again until somebody has mended the settings

log = structlog.get_logger(__name__)


class World(msgspec.Struct, frozen=True):
    """All that the daemon takes from outside."""

    places: Places
    settings: Settings
    env: Mapping[str, str]
    version: str
    supervisor: Supervisor


def main(version: str) -> int:
    """Serves until told to stop; the exit code. Errors are for the person who started it."""
    os.umask(0o077)
    try:
        world = look_around(os.environ, version)
        with ExitStack() as stack:
            lock = InstanceLock.take(world.places.state_dir)
            stack.callback(lock.release)
            _start_log(world)
            stack.callback(journal.stop)
            anyio.run(serve, world, stack)
    except MemorydError as error:
        sys.stderr.write(f"memoryd: {error.message}\n")
        if error.hint:
            sys.stderr.write(f"  {error.hint}\n")
        return EX_CONFIG if isinstance(error, ConfigError) else 1
    return 0


def look_around(env: MutableMapping[str, str], version: str) -> World:
    """Reads environment and settings; ConfigError names what cannot be used."""
    supervisor = Supervisor(env, os.getpid())
    places = paths.places(env, sys.platform, os.getuid(), str(Path.home()))
    try:
        text = Path(places.config_file).read_text(encoding="utf-8")
    except FileNotFoundError:
        text = ""
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(
            f"cannot read {places.config_file}: {error}", hint="mend the file or move it away"
        ) from error
    return World(places, config_file.load_settings(text, env), env, version, supervisor)


async def serve(world: World, stack: ExitStack) -> None:
    """Runs every part until the stop event is set."""
    state = State.open(world.places.state_db)
    stack.callback(state.close)
    stop = anyio.Event()
    hub = Hub()
    scopes = Scopes(world.places, world.env, state)
    history = History(state)
    store = Store(
        history,
        now=time.time,
        skip_index=world.settings.index.skip,
        tell=_teller(hub, scopes),
    )
    errors = [f"state.db was damaged; it is now {state.put_aside}"] if state.put_aside else []
    memories = Memories(scopes, store, time.time)
    following = Following(world, state, scopes, hub)
    await following.tail.begin()
    methods = Methods(
        version=world.version,
        scopes=scopes,
        memories=memories,
        versions=Versions(scopes, memories, store, history),
        transcripts=following.methods,
        log_path=world.places.log_file,
        socket_path=world.places.socket,
        errors=errors,
        stop=stop.set,
    )
    server = Server(methods.answer, hub, scopes.root)
    _raise_handle_limit()
    with Door(world.places.socket, world.supervisor.sockets()) as door:
        async with anyio.create_task_group() as tasks:
            await tasks.start(_stop_on_signal, stop)
            await door.open(server, tasks)
            tasks.start_soon(following.tail.run)
            tasks.start_soon(following.backfill.run)
            tasks.start_soon(_give_signs_of_life, world.supervisor)
            world.supervisor.ready("serving")
            log.info("started", version=world.version, socket=world.places.socket)
            await stop.wait()
            world.supervisor.stopping()
            hub.publish(events.DaemonStopping())
            door.close()
            with anyio.move_on_after(GRACE_SECONDS) as grace:
                await server.drain()
            log.info("stopped", in_time=not grace.cancelled_caught)
            tasks.cancel_scope.cancel()


class Following:
    """The parts that follow transcripts, put together."""

    def __init__(self, world: World, state: State, scopes: Scopes, hub: Hub) -> None:
        root = f"{world.places.claude_dir}/projects"
        cursors, queue = Cursors(state), TurnQueue(state)
        model = world.settings.model.extraction
        self.tail = Tail(
            root=root,
            cursors=cursors,
            reader=Reader(root, cursors, queue, scopes.root, time.time),
            publish=hub.publish,
            sweep_seconds=world.settings.transcripts.sweep_seconds,
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
            on_change=lambda: None,
        )
        self.methods = TranscriptMethods(
            self.tail, queue, Sessions(root, scopes.root), self.backfill
        )


class Door:
    """Our sockets: handed over by a supervisor, or bound by ourselves and kept in place."""

    def __init__(self, path: str, handed_over: list[socket.socket]) -> None:
        self._handed_over = handed_over
        self._bound = None if handed_over else BoundSocket(path)
        self._accepting = anyio.CancelScope()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    async def open(self, server: Server, tasks: TaskGroup) -> None:
        """From here on clients are answered."""
        for one in self._handed_over:
            await self._listen(one, server, tasks)
        if self._bound is not None:
            await self._listen(self._bound.listening, server, tasks)
            tasks.start_soon(self._stay_in_place, server, tasks)

    def close(self) -> None:
        self._accepting.cancel()
        if self._bound is not None:
            self._bound.remove()

    async def _listen(self, one: socket.socket, server: Server, tasks: TaskGroup) -> None:
        tasks.start_soon(self._accept, await SocketListener.from_socket(one), server, tasks)

    async def _accept(self, listener: SocketListener, server: Server, tasks: TaskGroup) -> None:
        with self._accepting:
            await server.accept(listener, tasks)

    async def _stay_in_place(self, server: Server, tasks: TaskGroup) -> None:
        """A cleaner of temporary files may take our socket away; we put it back."""
        while True:
            await anyio.sleep(SOCKET_CHECK_SECONDS)
            if self._bound is not None and not self._bound.is_in_place():
                log.warning("socket-lost", path=self._bound.path)
                self._bound = BoundSocket(self._bound.path)
                await self._listen(self._bound.listening, server, tasks)


def _teller(hub: Hub, scopes: Scopes) -> Callable[[Change], None]:
    """Turns the store's notices, which come from any thread, into events on the loop."""
    loop = asyncio.get_running_loop()

    def tell(change: Change) -> None:
        scope, path = change.directory.scope, f"{change.directory.path}/{change.file}"
        project = scopes.owner(change.directory)
        event: events.Event
        if change.version:
            event = events.MemorySaved(
                project=project,
                path=path,
                type=change.type or "",
                scope=scope,
                cause=change.cause,
                session_id=change.session_id,
            )
        else:
            event = events.MemoryForgotten(
                project=project, path=path, scope=scope, cause=change.cause
            )
        loop.call_soon_threadsafe(hub.publish, event)

    return tell


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


def _start_log(world: World) -> None:
    wanted = world.settings.log
    journal.start(
        world.places.log_file,
        level=wanted.level,
        max_bytes=wanted.max_bytes,
        keep_files=wanted.keep_files,
        terminal=journal.terminal_for(sys.stderr),
    )


def _raise_handle_limit() -> None:
    """A thousand clients need more handles than many systems give at first."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 8192 if hard == resource.RLIM_INFINITY else min(8192, hard)
    if soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
