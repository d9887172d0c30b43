"""A small, quick model chooses among memories by their headers, or nobody waits for it."""

from collections.abc import Sequence
from typing import Final

import anyio
import msgspec
import structlog

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
MOST_REMEMBERED: Final = 256

log = structlog.get_logger(__name__)


class Choice(msgspec.Struct, frozen=True):
    """What the model answers with: names from the list."""

    selected_memories: list[str]


class ModelSelector:
    def __init__(self, provider: Provider, model: str) -> None:
        self._provider = provider
        self._model = model
        self._remembered: dict[tuple[str, ...], list[str]] = {}

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
        """The names that the model chose; None when it cannot or does not answer in time."""
        asked = (session_id, query, *recent_tools, "\n", *manifest)
        known = self._remembered.get(asked)
        if known is not None:
            return known
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
        chosen = await self._asked(request, deadline_seconds)
        if chosen is not None:
            if len(self._remembered) >= MOST_REMEMBERED:
                self._remembered.clear()
            self._remembered[asked] = chosen
        return chosen

    async def _asked(self, request: ModelRequest, deadline_seconds: float) -> list[str] | None:
        try:
            with anyio.move_on_after(deadline_seconds):
                answer = await self._provider.complete(request, deadline_seconds)
                if answer.outcome != "complete":
                    return None
                return list(dict.fromkeys(read_json(answer, Choice).selected_memories))
        except (BudgetReached, ProviderDown, ProviderPaused, ProviderRefused) as error:
            log.debug("recall-without-model", reason=error.kind)
        return None
