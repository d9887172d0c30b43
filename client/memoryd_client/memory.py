"""The memories of a project, for Python programs. Standard library only.

    from memoryd_client.memory import Memory

    with Memory("/path/of/a/project") as memory:
        print(memory.recall("how do we deploy?")["text"])

`memoryd_client.async_memory` has the same for asyncio; docs/python.md shows both.
"""

import os
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from types import TracebackType
from typing import Any, Self, cast

from memoryd_client.cli.naming import description_for, name_for
from memoryd_client.connection.answers import Json, object_at
from memoryd_client.connection.call import Connection, said_by
from memoryd_client.connection.failures import (
    DaemonError,
    Denied,
    Failure,
    LocalFailure,
    NotRunning,
    ProtocolError,
    TimedOut,
)
from memoryd_client.library.calls import Calls
from memoryd_client.library.wire_types import Event, EventKind, Reconnected, Saved
from memoryd_client.library.words import (
    AWAY,
    RECONNECTED,
    MemoryType,
    Scope,
    given,
    next_pause,
    subscription_params,
)

__all__ = [
    "DaemonError",
    "Denied",
    "EventStream",
    "Failure",
    "LocalFailure",
    "Memory",
    "NotRunning",
    "ProtocolError",
    "Reconnected",
    "TimedOut",
]


class Memory(Calls):
    """What the daemon of this user remembers of the project of `cwd`.

    It connects when it is first asked, and again if the daemon was restarted since. Threads may
    share it; they are answered one after the other. Whatever goes wrong is a `Failure`, whose
    `kind` is for programs and whose `hint` says what to type next.
    """

    def __init__(self, cwd: str | os.PathLike[str] = ".", *, timeout_seconds: float = 30.0) -> None:
        self.cwd = os.path.abspath(cwd)  # noqa: PTH100 - links stay as they are written
        self.timeout_seconds = timeout_seconds
        self._connection: Connection | None = None
        self._lock = threading.Lock()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Closes the connection; the next question opens another one."""
        with self._lock:
            self._disconnect()

    def call(self, method: str, params: Mapping[str, object]) -> dict[str, Any]:
        """The result of any method with exactly these params, as docs/socket.md has them."""
        with self._lock:
            try:
                return dict(self._connected().ask(method, {**params, **said_by()}))
            except BaseException as failure:
                # An answer that comes too late must not be taken for the next one's.
                if not isinstance(failure, DaemonError):
                    self._disconnect()
                raise

    def remember(
        self,
        text: str,
        *,
        type: MemoryType = "project",  # noqa: A002 - what the wire calls it
        scope: Scope = "auto",
        anyway: bool = False,
    ) -> Saved:
        """Save a text; its name and its description are made from its beginning."""
        return self.save(
            name_for(text), description_for(text), type, text, scope=scope, anyway=anyway
        )

    def events(self, *kinds: EventKind) -> "EventStream":
        """Events of these kinds, or of all, about this project, as they happen."""
        return EventStream(self.cwd, kinds)

    def _ask(self, method: str, params: Mapping[str, object]) -> Any:  # noqa: ANN401 - each has its own
        return self.call(method, given(self.cwd, params))

    def _connected(self) -> Connection:
        """The open connection, or a new one; nothing was sent on it yet that could be lost."""
        deadline = time.monotonic() + self.timeout_seconds
        if self._connection is not None and not self._connection.is_open():
            self._disconnect()
        if self._connection is None:
            self._connection = Connection(deadline).__enter__()
        self._connection.extend(deadline)
        return self._connection

    def _disconnect(self) -> None:
        if self._connection is not None:
            self._connection.__exit__(None, None, None)
            self._connection = None


class EventStream(Iterator[Event]):
    """Events from the moment it was made, until it is closed.

    When the daemon goes away, it waits for the next one. It then gives an event of the kind
    `client/reconnected`: others may have been missed in between.
    """

    def __init__(self, cwd: str, kinds: tuple[EventKind, ...] = ()) -> None:
        self._params = subscription_params(cwd, kinds)
        self._open = ExitStack()
        self._is_closed = False
        self._messages = self._subscribed()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        self._is_closed = True
        self._open.close()

    def __next__(self) -> Event:
        if self._is_closed:
            raise StopIteration
        try:
            for message in self._messages:
                if message.get("method") == "event":
                    return cast("Event", dict(object_at(message, "params")))
        except AWAY:
            pass
        self._wait()
        return RECONNECTED

    def _subscribed(self) -> Iterator[Json]:
        self._open.close()
        connection = self._open.enter_context(Connection(time.monotonic() + 10.0))
        connection.ask("events/subscribe", self._params)
        connection.remove_deadline()
        return connection.messages()

    def _wait(self) -> None:
        """Returns when there is a daemon again, and it was told what is wanted."""
        pause = 0.0
        while True:
            pause = next_pause(pause)
            time.sleep(pause)
            try:
                self._messages = self._subscribed()
            except AWAY:
                continue
            return
