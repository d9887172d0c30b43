"""Answers while the rest of the daemon is loaded: a ping at once, everything else when it can."""

import os
import time

import anyio

from memoryd.api.pong import Pong
from memoryd.api.rules.protocol import Params, PingParams
from memoryd.api.server import Handler, RootOf


class EarlyAnswers:
    """The daemon's handler from its first moment on; `begin` gives it the real one."""

    def __init__(self, version: str, problems: list[str]) -> None:
        self._version = version
        self._problems = problems
        self._began = time.monotonic()
        self._whole: tuple[Handler, RootOf] | None = None
        self._is_whole = anyio.Event()

    def begin(self, handler: Handler, root_of: RootOf) -> None:
        self._whole = handler, root_of
        self._is_whole.set()

    async def answer(self, params: Params) -> object:
        if self._whole is None and isinstance(params, PingParams):
            uptime = round(time.monotonic() - self._began, 3)
            return Pong(self._version, os.getpid(), uptime, self._problems)
        handler, _ = await self._loaded()
        return await handler(params)

    async def root_of(self, cwd: str) -> str:
        _, root_of = await self._loaded()
        return await root_of(cwd)

    async def _loaded(self) -> tuple[Handler, RootOf]:
        while self._whole is None:
            await self._is_whole.wait()
        return self._whole
