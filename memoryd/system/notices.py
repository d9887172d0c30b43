"""The notice board: parts tell each other, and the socket's subscribers, what happened.

- A notice is a struct. A handler gets every notice of one type and of its subtypes.
- `post` may be called from any thread. Handlers run on the event loop, in the order in which they
  were added, and must not block. One that fails is logged; the others still run.
- An event (base/events.py) is a notice that people may see: `announce` logs it and posts it.
"""

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar

import msgspec
import structlog

from memoryd.base.events import Event, kind_of

Notice = TypeVar("Notice", bound=msgspec.Struct)

log = structlog.get_logger(__name__)


class Notices:
    """Belongs to the loop it was made on. Made without one, handlers run where `post` is called."""

    def __init__(self) -> None:
        self._handlers: list[tuple[type[msgspec.Struct], Callable[[Any], object]]] = []
        self._loop: asyncio.AbstractEventLoop | None = None
        with suppress(RuntimeError):
            self._loop = asyncio.get_running_loop()
        self._thread = threading.get_ident()

    def on(self, kind: type[Notice], handler: Callable[[Notice], object]) -> None:
        self._handlers.append((kind, handler))

    def post(self, notice: msgspec.Struct) -> None:
        if self._loop is None or threading.get_ident() == self._thread:
            self._deliver(notice)
            return
        with suppress(RuntimeError):  # the loop is closed: the daemon has stopped
            self._loop.call_soon_threadsafe(self._deliver, notice)

    def announce(self, event: Event) -> None:
        """One line in the log and one notice, with the same fields."""
        log.info(kind_of(event).replace("/", "-"), **msgspec.structs.asdict(event))
        self.post(event)

    def _deliver(self, notice: msgspec.Struct) -> None:
        for kind, handler in self._handlers:
            if isinstance(notice, kind):
                try:
                    handler(notice)
                except Exception:
                    log.exception("notice-failed", notice=type(notice).__name__)
