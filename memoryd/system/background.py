"""Tasks that run in the background on the event loop; a failure is logged and goes no further."""

from collections.abc import Awaitable, Callable
from typing import Final

import anyio
import structlog

from memoryd.base.errors import MemorydError

MOST_WAITING: Final = 1000

log = structlog.get_logger(__name__)

BackgroundTask = Callable[[], Awaitable[object]]
Soon = Callable[[str, BackgroundTask], bool]


class Background:
    def __init__(self) -> None:
        self._send, self._receive = anyio.create_memory_object_stream[tuple[str, BackgroundTask]](
            MOST_WAITING
        )

    def soon(self, name: str, task: BackgroundTask) -> bool:
        """Starts a task; False if it was dropped. To be called on the event loop."""
        try:
            self._send.send_nowait((name, task))
        except (anyio.WouldBlock, anyio.ClosedResourceError):  # too many, or shutdown
            log.warning("background-task-dropped", task=name)
            return False
        return True

    async def run(self) -> None:
        """Runs the tasks concurrently until cancelled."""
        with self._send, self._receive:
            async with anyio.create_task_group() as tasks:
                async for name, task in self._receive:
                    tasks.start_soon(_run, name, task)


async def _run(name: str, task: BackgroundTask) -> None:
    try:
        await task()
    except MemorydError as error:
        log.warning("background-task-failed", task=name, reason=error.message)
    except Exception:
        log.exception("background-task-failed", task=name)
