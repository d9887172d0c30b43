"""Log lines that nobody waits for: written on the event loop, right after what they are about."""

from typing import Any

import anyio
import structlog

log = structlog.get_logger(__name__)


class LaterLog:
    """To be used on the event loop; `run` writes the lines."""

    def __init__(self) -> None:
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
                self._is_behind = anyio.Event()
                self._write()
        finally:
            self._write()

    def _write(self) -> None:
        lines, self._lines = self._lines, []
        for event, fields in lines:
            log.info(event, **fields)
