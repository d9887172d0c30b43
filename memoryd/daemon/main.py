"""The process: reads its environment, builds every area, connects them, and stops in order.

It listens first and loads the areas (`build`) in a thread then, so this module imports little.
Everything lives in one exit stack and one task group. A signal or a `shutdown` request only sets an
event. What follows is always the same: stop accepting, let answers finish, cancel the rest, exit.
Work still running after that is abandoned; every part is crash-safe.
"""

import gc
import importlib
import os
import resource
import signal
import sys
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING, Final

import anyio
import anyio.to_thread
from anyio.abc import TaskStatus
from anyio.lowlevel import checkpoint

from memoryd.api.server import Server, most_connections
from memoryd.api.subscriptions import Subscriptions
from memoryd.base.errors import ConfigError, MemorydError
from memoryd.base.events import DaemonStopping
from memoryd.base.paths import Places
from memoryd.daemon.early_answers import EarlyAnswers
from memoryd.daemon.environment import Environment, read_environment
from memoryd.daemon.instance import InstanceLock
from memoryd.daemon.listener import DaemonListener
from memoryd.daemon.shutdown import leave_after
from memoryd.daemon.supervisor import Supervisor
from memoryd.system import blas, early_log, heap
from memoryd.system.early_log import EarlyLog

if TYPE_CHECKING:
    from memoryd.daemon.build import Built

__all__ = ("main", "read_environment")

GRACE_SECONDS: Final = 3.0
LAST_SECONDS: Final = 4.5
CLOSING_SECONDS: Final = 0.5
# How long a thread may keep the interpreter before the loop can answer. Python's default of 5 ms,
# several times within one answer, would be noticeable while a large memory is read.
SWITCH_SECONDS: Final = 0.0005
FIRST_TURNS: Final = 12  # of the loop; a ping takes about half as many
EX_CONFIG: Final = 78  # the unit does not restart us until the settings are fixed

log = EarlyLog(__name__)


def main(version: str, *, shows_log: bool = False) -> int:
    """Serves until asked to stop; returns the exit code. Errors go to standard error."""
    os.umask(0o077)
    try:
        environment = read_environment(os.environ, version)
        with ExitStack() as stack:
            lock = InstanceLock.take(environment.places.state_dir)
            stack.callback(lock.release)
            early_log.hold()
            _raise_handle_limit()
            sys.setswitchinterval(SWITCH_SECONDS)
            heap.keep_small()
            blas.use_one_thread(os.environ)
            anyio.run(partial(serve, environment, stack, shows_log=shows_log))
    except MemorydError as error:
        sys.stderr.write(f"memoryd: {error.message}\n")
        if error.hint:
            sys.stderr.write(f"  {error.hint}\n")
        return EX_CONFIG if isinstance(error, ConfigError) else 1
    return 0


async def serve(environment: Environment, stack: ExitStack, *, shows_log: bool) -> None:
    """Runs every area until the stop event is set.

    It listens before the areas are loaded: who comes early waits a moment for an answer instead of
    being refused. Not at the very first start, where all that is on disk counts as read: what a
    client writes after an answer is new.
    """
    stop, subscriptions = anyio.Event(), Subscriptions()
    answers = EarlyAnswers(environment.version, environment.problems)
    handles, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    server = Server(answers.answer, subscriptions, answers.root_of, most_connections(handles))
    places, failure = environment.places, None
    with DaemonListener(places.socket, environment.supervisor.sockets()) as listener:
        async with anyio.create_task_group() as tasks:
            await tasks.start(_stop_on_signal, stop)
            opened = partial(listener.open, server, tasks)
            is_first_start = _is_first_start(places)
            try:
                if not is_first_start:
                    await opened()
                    await _answer_those_waiting()
                await _start_log(environment, stack, shows_log=shows_log)
                built = await _load(environment, stack, subscriptions, stop)
                built.areas.dreamer.quiet = server.quiet
                await tasks.start(built.areas.dreamer.run)
                answers.begin(built.answer, built.root_of)
                if is_first_start:
                    await opened()
            except (MemorydError, ImportError, OSError) as error:
                failure = error
            else:
                for run in built.runs:
                    tasks.start_soon(run)
                tasks.start_soon(_feed_watchdog, environment.supervisor)
                _say_ready(environment, built)
                await stop.wait()
                began, in_time = await _stop(environment, built, listener, server)
            tasks.cancel_scope.cancel()
    if failure is not None:
        raise failure
    if built.areas.models is not None:
        with anyio.move_on_after(CLOSING_SECONDS):
            await built.areas.models.aclose()
    log.info("stopped", in_time=in_time, ms=round((anyio.current_time() - began) * 1000))


async def _answer_those_waiting() -> None:
    """Gives the first turns of the loop to clients; loading would compete with their answers."""
    for _ in range(FIRST_TURNS):
        await checkpoint()


def _is_first_start(places: Places) -> bool:
    return not os.access(places.state_db, os.F_OK)


async def _load(
    environment: Environment, stack: ExitStack, subscriptions: Subscriptions, stop: anyio.Event
) -> "Built":
    """Imports and builds the areas; what is imported is never garbage, so none is looked for."""
    gc.disable()
    module = await anyio.to_thread.run_sync(importlib.import_module, "memoryd.daemon.build")
    gc.freeze()
    gc.enable()
    built: Built = await module.build(environment, stack, subscriptions, stop.set)
    return built


def _say_ready(environment: Environment, built: "Built") -> None:
    environment.supervisor.ready("serving")
    log.info("started", version=environment.version, socket=environment.places.socket)
    for problem in built.services.problems:
        log.error("settings-problem", problem=problem)


async def _stop(
    environment: Environment, built: "Built", listener: DaemonListener, server: Server
) -> tuple[float, bool]:
    """Lets answers finish; returns when that began, and whether it was in time."""
    began = anyio.current_time()
    leave_after(LAST_SECONDS)
    environment.supervisor.stopping()
    built.services.notices.announce(DaemonStopping())
    return began, await _finish_answers(listener, server)


async def _finish_answers(listener: DaemonListener, server: Server) -> bool:
    """Stops accepting; returns whether every answer was finished in time."""
    listener.close()
    with anyio.move_on_after(GRACE_SECONDS) as grace:
        await server.drain()
    return not grace.cancelled_caught


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


async def _start_log(environment: Environment, stack: ExitStack, *, shows_log: bool) -> None:
    """Loading it takes a while, and who asks whether the daemon is there need not wait for it."""
    start = partial(_log_file, environment, shows_log=shows_log)
    stack.callback(await anyio.to_thread.run_sync(start))
    early_log.release()


def _log_file(environment: Environment, *, shows_log: bool) -> Callable[[], None]:
    """Starts the log; returns what stops it."""
    from memoryd.daemon import log_file  # noqa: PLC0415 - see above

    log_file.start_for(environment, shows_log=shows_log)
    return log_file.stop


def _raise_handle_limit() -> None:
    """A thousand clients need more file handles than many systems allow by default."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 8192 if hard == resource.RLIM_INFINITY else min(8192, hard)
    if soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
