"""Work that nobody waits for: begun on the event loop, ended with it, and never an end of it."""

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

    def soon(self, name: str, errand: BackgroundTask) -> bool:
        """Whether it will be done; to be called on the event loop."""
        try:
            self._send.send_nowait((name, errand))
        except (anyio.WouldBlock, anyio.ClosedResourceError):  # too many, or the daemon ends
            log.warning("errand-dropped", errand=name)
            return False
        return True

    async def run(self) -> None:
        """Does what it is given, side by side, until cancelled."""
        with self._send, self._receive:
            async with anyio.create_task_group() as tasks:
                async for name, errand in self._receive:
                    tasks.start_soon(_done, name, errand)


async def _done(name: str, errand: BackgroundTask) -> None:
    try:
        await errand()
    except MemorydError as error:
        log.warning("errand-failed", errand=name, reason=error.message)
    except Exception:
        log.exception("errand-failed", errand=name)
