"""A small, fast model chooses memories by their headers, if it answers before the deadline.

How long it takes is measured: a hook asks it only if the answer can be expected in time, since one
that comes too late is paid for all the same.
"""

from collections.abc import Sequence
from typing import Final

import anyio
import msgspec
import structlog

from memoryd.base.errors import StorageError
from memoryd.llm.anthropic_client import Provider
from memoryd.llm.rules import prompts
from memoryd.llm.rules.messages import (
    BudgetReached,
    ModelRequest,
    ProviderDown,
    ProviderPaused,
    ProviderRefused,
    Text,
    UserTurn,
    read_json,
)
from memoryd.text.masking.mask import mask

MOST_CHOSEN: Final = 5
ANSWER_TOKENS: Final = 256
CACHE_ENTRIES: Final = 256
MARGIN: Final = 1.25

log = structlog.get_logger(__name__)


class Choice(msgspec.Struct, frozen=True):
    """The model's answer: names from the manifest."""

    selected_memories: list[str]


class ModelSelector:
    def __init__(self, provider: Provider, model: str) -> None:
        self._provider = provider
        self._model = model
        self._cache: dict[tuple[str, ...], list[str]] = {}
        self._usual_seconds: float | None = None

    def answers_within(self, seconds: float) -> bool:
        """Whether an answer can be expected in this time; false until one was measured."""
        return self._usual_seconds is not None and self._usual_seconds * MARGIN <= seconds

    async def choose(
        self,
        query: str,
        manifest: Sequence[str],
        *,
        recent_tools: Sequence[str],
        session_id: str,
        project: str,
        deadline_seconds: float,
    ) -> list[str] | None:
        """The names that the model chose; None if it fails or does not answer in time."""
        cache_key = (session_id, query, *recent_tools, "\n", *manifest)
        cached = self._cache.get(cache_key)
        if cached is not None:
            return cached
        request = ModelRequest(
            job="recall",
            project=project,
            model=self._model,
            max_tokens=ANSWER_TOKENS,
            system=(Text(prompts.RECALL_SYSTEM),),
            turns=(UserTurn(prompts.recall_opening(mask(query), manifest, recent_tools)),),
            answer_type=Choice,
            thinks=False,
        )
        chosen = await self._ask(request, deadline_seconds)
        if chosen is not None:
            if len(self._cache) >= CACHE_ENTRIES:
                self._cache.clear()
            self._cache[cache_key] = chosen
        return chosen

    async def _ask(self, request: ModelRequest, deadline_seconds: float) -> list[str] | None:
        try:
            began = anyio.current_time()
            with anyio.move_on_after(deadline_seconds):
                answer = await self._provider.complete(request, deadline_seconds)
                self._measure(anyio.current_time() - began)
                if answer.outcome != "complete":
                    return None
                return list(dict.fromkeys(read_json(answer, Choice).selected_memories))
        # A disk that is full keeps the debit from being written: then no model is asked.
        except (
            BudgetReached,
            ProviderDown,
            ProviderPaused,
            ProviderRefused,
            StorageError,
        ) as error:
            log.debug("recall-without-model", reason=error.kind)
            return None
        self._at_least(deadline_seconds)
        return None

    def _at_least(self, seconds: float) -> None:
        """It took longer than this; a deadline of nothing says nothing."""
        if seconds > 0:
            self._usual_seconds = max(self._usual_seconds or 0.0, seconds)

    def _measure(self, seconds: float) -> None:
        """A running mean in which the last few answers count most."""
        usual = self._usual_seconds
        self._usual_seconds = seconds if usual is None else 0.7 * usual + 0.3 * seconds
