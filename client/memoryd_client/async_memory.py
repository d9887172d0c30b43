"""The memories of a project, for Python programs that use asyncio. Standard library only.

from memoryd_client.async_memory import AsyncMemory

async with AsyncMemory("/path/of/a/project") as memory:
    async for event in memory.events("memory/saved"):
        print(event["path"])
"""

import asyncio
import os
from collections.abc import AsyncIterator, Mapping
from contextlib import suppress
from types import TracebackType
from typing import Any, Self, cast

from memoryd_client.cli.naming import description_for, name_for
from memoryd_client.connection.answers import Json, object_at
from memoryd_client.connection.call import said_by
from memoryd_client.connection.failures import DaemonError, TimedOut
from memoryd_client.connection.locations import socket_location
from memoryd_client.connection.peer import failure_for
from memoryd_client.library.async_connection import AsyncConnection
from memoryd_client.library.calls import AsyncCalls
from memoryd_client.library.wire_types import Event, EventKind, Saved
from memoryd_client.library.words import (
    AWAY,
    RECONNECTED,
    MemoryType,
    Scope,
    given,
    next_pause,
    subscription_params,
)


class AsyncMemory(AsyncCalls):
    """What the daemon of this user remembers of the project of `cwd`; like `Memory`.

    Tasks may share it; they are answered one after the other.
    """

    def __init__(self, cwd: str | os.PathLike[str] = ".", *, timeout_seconds: float = 30.0) -> None:
        self.cwd = os.path.abspath(cwd)  # noqa: PTH100 - links stay as they are written
        self.timeout_seconds = timeout_seconds
        self._connection: AsyncConnection | None = None
        self._lock = asyncio.Lock()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Closes the connection; the next question opens another one."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    async def call(self, method: str, params: Mapping[str, object]) -> dict[str, Any]:
        """The result of any method with exactly these params, as docs/socket.md has them."""
        async with self._lock:
            try:
                async with asyncio.timeout(self.timeout_seconds):
                    connection = await self._connected()
                    return dict(await connection.ask(method, {**params, **said_by()}))
            except TimeoutError as error:
                self.close()
                raise failure_for(error, str(socket_location())) from error
            except BaseException as failure:
                # An answer that comes too late must not be taken for the next one's.
                if not isinstance(failure, DaemonError):
                    self.close()
                raise

    async def remember(
        self,
        text: str,
        *,
        type: MemoryType = "project",  # noqa: A002 - what the wire calls it
        scope: Scope = "auto",
        anyway: bool = False,
    ) -> Saved:
        """Save a text; its name and its description are made from its beginning."""
        return await self.save(
            name_for(text), description_for(text), type, text, scope=scope, anyway=anyway
        )

    def events(self, *kinds: EventKind) -> "AsyncEventStream":
        """Events of these kinds, or of all, about this project, as they happen."""
        return AsyncEventStream(self.cwd, kinds)

    async def _ask(self, method: str, params: Mapping[str, object]) -> Any:  # noqa: ANN401 - each has its own
        return await self.call(method, given(self.cwd, params))

    async def _connected(self) -> AsyncConnection:
        if self._connection is not None and not self._connection.is_open():
            self.close()
        if self._connection is None:
            self._connection = await AsyncConnection.opened()
        return self._connection


class AsyncEventStream(AsyncIterator[Event]):
    """Events from the moment it was entered or first awaited, until it is closed.

    When the daemon goes away, it waits for the next one. It then gives an event of the kind
    `client/reconnected`: others may have been missed in between.
    """

    def __init__(self, cwd: str, kinds: tuple[EventKind, ...] = ()) -> None:
        self._params = subscription_params(cwd, kinds)
        self._connection: AsyncConnection | None = None
        self._messages: AsyncIterator[Json] | None = None
        self._is_closed = False

    async def __aenter__(self) -> Self:
        await self._subscribe()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        self._is_closed = True
        self._disconnect()

    async def __anext__(self) -> Event:
        if self._is_closed:
            raise StopAsyncIteration
        messages = self._messages or await self._subscribe()
        with suppress(*AWAY):
            async for message in messages:
                if message.get("method") == "event":
                    return cast("Event", dict(object_at(message, "params")))
        await self._wait()
        return RECONNECTED

    def _disconnect(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    async def _subscribe(self) -> AsyncIterator[Json]:
        self._disconnect()
        self._connection = await AsyncConnection.opened()
        try:
            async with asyncio.timeout(10.0):
                await self._connection.ask("events/subscribe", self._params)
        except TimeoutError as error:
            raise TimedOut("the daemon did not answer in time") from error
        self._messages = self._connection.messages()
        return self._messages

    async def _wait(self) -> None:
        """Returns when there is a daemon again, and it was told what is wanted."""
        pause = 0.0
        while True:
            pause = next_pause(pause)
            await asyncio.sleep(pause)
            try:
                await self._subscribe()
            except AWAY:
                continue
            return
