"""The daemon's sockets: handed over by a supervisor, or bound by ourselves and kept in place."""

import socket
from typing import Final, Self

import anyio
import structlog
from anyio.abc import SocketListener, TaskGroup

from memoryd.instance import BoundSocket
from memoryd.rpc import Server

CHECK_SECONDS: Final = 20.0

log = structlog.get_logger(__name__)


class Door:
    """Open from its making until it is closed; what is handed over stays the supervisor's."""

    def __init__(self, path: str, handed_over: list[socket.socket]) -> None:
        self._handed_over = handed_over
        self._bound = None if handed_over else BoundSocket(path)
        self._accepting = anyio.CancelScope()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    async def open(self, server: Server, tasks: TaskGroup) -> None:
        """From here on clients are answered."""
        for one in self._handed_over:
            await self._listen(one, server, tasks)
        if self._bound is not None:
            await self._listen(self._bound.listening, server, tasks)
            tasks.start_soon(self._stay_in_place, server, tasks)

    def close(self) -> None:
        self._accepting.cancel()
        if self._bound is not None:
            self._bound.remove()

    async def _listen(self, one: socket.socket, server: Server, tasks: TaskGroup) -> None:
        tasks.start_soon(self._accept, await SocketListener.from_socket(one), server, tasks)

    async def _accept(self, listener: SocketListener, server: Server, tasks: TaskGroup) -> None:
        with self._accepting:
            await server.accept(listener, tasks)

    async def _stay_in_place(self, server: Server, tasks: TaskGroup) -> None:
        """A cleaner of temporary files may take our socket away; we put it back."""
        while True:
            await anyio.sleep(CHECK_SECONDS)
            if self._bound is not None and not self._bound.is_in_place():
                log.warning("socket-lost", path=self._bound.path)
                self._bound = BoundSocket(self._bound.path)
                await self._listen(self._bound.listening, server, tasks)
