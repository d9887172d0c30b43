"""The requests for recall, and its start: the ranking is loaded in the background, once.

Arrays and vectors take longer to import than everything else together. So the daemon answers before
they are there; whoever asks for recall meanwhile waits for them, or until its own deadline.
"""

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

import anyio
import anyio.to_thread
import structlog

from memoryd.api.rules import protocol
from memoryd.base.timestamps import moment
from memoryd.memories.records import MemoryChanged
from memoryd.recall.rules import rendering as recall_text
from memoryd.recall.surfaced import Surfaced

if TYPE_CHECKING:
    from memoryd.recall.answer import Recall, RecallAnswer

log = structlog.get_logger(__name__)


class RecallMethods:
    def __init__(self, load: "Callable[[], Recall]", surfaced: Surfaced) -> None:
        self._load = load
        self._surfaced = surfaced
        self._recall: Recall | None = None
        self._is_loaded = anyio.Event()

    async def run(self) -> None:
        """Loads, in a thread, what recall needs."""
        self._recall = await anyio.to_thread.run_sync(self._load, abandon_on_cancel=True)
        self._is_loaded.set()
        log.info("recall-ready")

    async def answer(self, params: protocol.RecallParams) -> "RecallAnswer":
        from memoryd.recall.answer import Asked  # noqa: PLC0415 - loaded by now, in the background

        recall = await self._ready()
        return await recall.answer(
            Asked(
                query=params.query,
                cwd=params.cwd,
                session_id=params.session_id or "",
                recent_tools=tuple(params.recent_tools or ()),
                limit=params.limit,
                deadline_ms=params.deadline_ms,
                agent=params.agent or "",
                as_of=moment(params.as_of) if params.as_of else None,
            )
        )

    async def for_hook(self, params: protocol.RecallParams, limit_units: int) -> str:
        """The memories as a hook may inject them."""
        answer = await self.answer(params)
        return recall_text.hook_text(answer.memories, time.time(), limit_units)

    @property
    def problems(self) -> list[str]:
        """What a person should know of: vectors or an encoder that cannot be used."""
        return [] if self._recall is None else self._recall.problems

    def is_worth_asking(self, prompt: str) -> bool:
        """Not before the ranking is loaded, nor about a prompt like "yes" or "go on"."""
        return self._recall is not None and self._recall.is_asked_something(prompt)

    @property
    def asks_a_model(self) -> bool:
        return self._recall is not None and self._recall.asks_a_model

    async def warm(self, cwd: str) -> None:
        await (await self._ready()).warm(cwd)

    def changed(self, change: MemoryChanged) -> None:
        if self._recall is not None:
            self._recall.changed(change)

    def forget_session(self, session_id: str) -> None:
        self._surfaced.forget(session_id)

    async def _ready(self) -> "Recall":
        while self._recall is None:
            await self._is_loaded.wait()
        return self._recall
