"""The daemon's sockets: passed in by a supervisor, or bound by the daemon and kept in place."""

import socket
from typing import Final, Self

import anyio
import anyio.to_thread
from anyio.abc import SocketListener, TaskGroup

from memoryd.api.server import Server
from memoryd.base.errors import MemorydError
from memoryd.daemon.instance import BoundSocket
from memoryd.system.early_log import EarlyLog

CHECK_SECONDS: Final = 20.0

log = EarlyLog(__name__)


class DaemonListener:
    """Bound when constructed, until closed; inherited sockets remain the supervisor's."""

    def __init__(
        self,
        path: str,
        inherited: list[socket.socket],
        *,
        check_seconds: float = CHECK_SECONDS,
    ) -> None:
        self._inherited = inherited
        self._check_seconds = check_seconds
        self._bound = None if inherited else BoundSocket(path)
        self._accepting: list[anyio.CancelScope] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    async def open(self, server: Server, tasks: TaskGroup) -> None:
        """Starts answering clients."""
        for one in self._inherited:
            await self._listen(one, server, tasks)
        if self._bound is not None:
            await self._listen(self._bound.listening, server, tasks)
            tasks.start_soon(self._stay_in_place, server, tasks)

    def close(self) -> None:
        """Stops accepting and removes the socket; it will not be recreated."""
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
            with one, scope:  # closed only here, after the event loop has dropped its handle
                await server.accept(listener, tasks)

        tasks.start_soon(accept)

    async def _stay_in_place(self, server: Server, tasks: TaskGroup) -> None:
        """Recreates the socket when a cleaner of temporary files has removed it."""
        while self._bound is not None:
            await anyio.sleep(self._check_seconds)
            try:
                await self._put_back(server, tasks)
            except (MemorydError, OSError) as error:
                log.warning("socket-not-recreated", error=str(error))

    async def _put_back(self, server: Server, tasks: TaskGroup) -> None:
        lost = self._bound
        if lost is None or await anyio.to_thread.run_sync(lost.is_in_place):
            return
        log.warning("socket-lost", path=lost.path)
        # The lost socket stays open meanwhile, so that no new file gets its inode.
        found = await anyio.to_thread.run_sync(BoundSocket, lost.path)
        if self._bound is not lost:  # closed while the thread was binding
            found.remove()
            return
        self._bound = found
        self._stop_accepting()
        await self._listen(found.listening, server, tasks)
