"""Recall for the rest of the daemon: it answers once the index is loaded in the background.

Numpy and the vectors take longer to load than everything else together, so the daemon serves
before they are ready. A query that arrives meanwhile waits for them.
"""

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

import anyio
import anyio.to_thread
import structlog

from memoryd.memories.records import MemoryChanged
from memoryd.recall.rules import rendering
from memoryd.recall.rules.query import RecallQuery
from memoryd.recall.surfaced import Surfaced

if TYPE_CHECKING:
    from memoryd.recall.answer import Recall, RecallAnswer

log = structlog.get_logger(__name__)


class RecallService:
    def __init__(self, load: "Callable[[], Recall]", surfaced: Surfaced) -> None:
        self._load = load
        self._surfaced = surfaced
        self._recall: Recall | None = None
        self._is_loaded = anyio.Event()

    async def run(self) -> None:
        """Loads what recall needs, and saves what sessions are given, until cancelled."""
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._surfaced.run)
            self._recall = await anyio.to_thread.run_sync(self._load, abandon_on_cancel=True)
            self._is_loaded.set()
            log.info("recall-ready")

    async def answer(self, query: RecallQuery) -> "RecallAnswer":
        """The memories for somebody who asks."""
        return await (await self._ready()).answer(query)

    async def for_hook(self, query: RecallQuery, limit_units: int) -> str:
        """The memories that are worth injecting although nobody asked; mostly none."""
        answer = await (await self._ready()).answer(query, unasked=True)
        return rendering.hook_text(answer.memories, time.time(), limit_units)

    @property
    def problems(self) -> list[str]:
        """For `status`: word vectors or an encoder that cannot be used."""
        return [] if self._recall is None else self._recall.problems

    def is_worth_asking(self, prompt: str) -> bool:
        """False before the ranking is loaded, and for a prompt like "yes" or "go on"."""
        return self._recall is not None and self._recall.is_substantial(prompt)

    @property
    def asks_a_model(self) -> bool:
        return self._recall is not None and self._recall.asks_a_model

    async def warm(self, cwd: str) -> None:
        await (await self._ready()).warm(cwd)

    def changed(self, change: MemoryChanged) -> None:
        if self._recall is not None:
            self._recall.changed(change)

    def forget_session(self, session_id: str) -> None:
        """After a compaction, a session may be given again what it was given before."""
        self._surfaced.forget(session_id)

    async def _ready(self) -> "Recall":
        while self._recall is None:
            await self._is_loaded.wait()
        return self._recall
