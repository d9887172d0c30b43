"""Answers `statusline`: one line for the agent's own status line, which asks often."""

import anyio.to_thread

from memoryd.api.handlers.spending import SpendingReports
from memoryd.api.rules import session_params
from memoryd.api.rules.status_line import status_line
from memoryd.dreams.dreamer import Dreamer
from memoryd.extraction.inbox import Inbox
from memoryd.memories.scopes import Scopes
from memoryd.recall.service import RecallService


class StatusLine:
    def __init__(
        self,
        *,
        scopes: Scopes,
        recall: RecallService,
        inbox: Inbox,
        dreamer: Dreamer,
        spending: SpendingReports,
    ) -> None:
        self._scopes = scopes
        self._recall = recall
        self._inbox = inbox
        self._dreamer = dreamer
        self._spending = spending

    async def stdout(self, params: session_params.StatusLineParams) -> str:
        given = await self._recall.given_to(params.session_id)
        return await anyio.to_thread.run_sync(self._line, params.cwd, given)

    def _line(self, cwd: str, given: int) -> str:
        return status_line(
            is_on=self._scopes.project(cwd or "/").switch.enabled,
            given=given,
            waiting=self._inbox.count(cwd or None),
            is_dreaming=self._dreamer.is_dreaming,
            pause_reason=self._spending.spending().reason,
        )
