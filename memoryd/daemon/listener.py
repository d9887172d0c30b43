"""The daemon's sockets: handed over by a supervisor, or bound by ourselves and kept in place."""

import socket
from typing import Final, Self

import anyio
import structlog
from anyio.abc import SocketListener, TaskGroup

from memoryd.api.server import Server
from memoryd.base.errors import MemorydError
from memoryd.daemon.instance import BoundSocket

CHECK_SECONDS: Final = 20.0

log = structlog.get_logger(__name__)


class DaemonListener:
    """Open from its making until it is closed; what is handed over stays the supervisor's."""

    def __init__(
        self,
        path: str,
        handed_over: list[socket.socket],
        *,
        check_seconds: float = CHECK_SECONDS,
    ) -> None:
        self._handed_over = handed_over
        self._check_seconds = check_seconds
        self._bound = None if handed_over else BoundSocket(path)
        self._accepting: list[anyio.CancelScope] = []

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
        """Nobody is accepted any more, and nothing is put back in place."""
        self._stop_accepting()
        bound, self._bound = self._bound, None
        if bound is not None:
            bound.remove()

    def _stop_accepting(self) -> None:
        for scope in self._accepting:
            scope.cancel()
        self._accepting.clear()

    async def _listen(self, one: socket.socket, server: Server, tasks: TaskGroup) -> None:
        listener = await SocketListener.from_socket(one)
        scope = anyio.CancelScope()
        self._accepting.append(scope)

        async def accept() -> None:
            with one, scope:  # closed only here: the loop must have let go of its handle first
                await server.accept(listener, tasks)

        tasks.start_soon(accept)

    async def _stay_in_place(self, server: Server, tasks: TaskGroup) -> None:
        """A cleaner of temporary files may take our socket away; we put it back."""
        while self._bound is not None:
            await anyio.sleep(self._check_seconds)
            try:
                await self._put_back(server, tasks)
            except (MemorydError, OSError) as error:
                log.warning("socket-not-put-back", error=str(error))

    async def _put_back(self, server: Server, tasks: TaskGroup) -> None:
        if self._bound is None or self._bound.is_in_place():
            return
        log.warning("socket-lost", path=self._bound.path)
        # The lost one stays open until then: it keeps its inode from being given to another file.
        self._bound = BoundSocket(self._bound.path)
        self._stop_accepting()
        await self._listen(self._bound.listening, server, tasks)
