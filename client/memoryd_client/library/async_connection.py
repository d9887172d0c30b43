"""One connection to the daemon under asyncio; `connection.call` has the same without it."""

import asyncio
import socket
from collections.abc import AsyncIterator

from memoryd_client.connection.answers import Json
from memoryd_client.connection.call import (
    ANSWER_BYTES,
    CHUNK_BYTES,
    RETRY_SECONDS,
    is_answer,
    is_silent,
    message_in,
    request_line,
    result_in,
)
from memoryd_client.connection.failures import ProtocolError
from memoryd_client.connection.locations import socket_location
from memoryd_client.connection.peer import DOCTOR_HINT, check_owner, check_peer, failure_for


class AsyncConnection:
    """Made by `opened`; has no deadline of its own."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket.setblocking(False)
        self._rest = b""

    @classmethod
    async def opened(cls) -> "AsyncConnection":
        made = cls(str(socket_location()))
        try:
            check_owner(made._path)
            await made._connect()
            check_peer(made._socket, made._path)
        except BaseException as error:
            made.close()
            if isinstance(error, OSError):
                raise failure_for(error, made._path) from error
            raise
        return made

    def close(self) -> None:
        self._socket.close()

    def is_open(self) -> bool:
        """Whether the daemon is still at the other end, and owes nothing."""
        return not self._rest and is_silent(self._socket)

    async def ask(self, method: str, params: Json) -> Json:
        """The result of one request; other messages that arrive first are skipped."""
        try:
            await asyncio.get_running_loop().sock_sendall(
                self._socket, request_line(method, params)
            )
        except OSError as error:
            raise failure_for(error, self._path) from error
        async for message in self.messages():
            if is_answer(message):
                return result_in(message)
        raise ProtocolError("the daemon closed the connection without an answer", DOCTOR_HINT)

    async def messages(self) -> AsyncIterator[Json]:
        """Messages from the daemon, until it closes the connection."""
        while line := await self._next_line():
            yield message_in(line)

    async def _next_line(self) -> bytes:
        """The next whole line; empty at the end of the stream, where half a line is an error."""
        chunks, size = [self._rest], len(self._rest)
        while b"\n" not in chunks[-1]:
            chunk = await self._receive()
            if not chunk and not size:
                return b""
            chunks.append(chunk)
            size += len(chunk)
            if not chunk or size > ANSWER_BYTES:
                raise ProtocolError("the daemon's answer is incomplete or too long", DOCTOR_HINT)
        line, _, self._rest = b"".join(chunks).partition(b"\n")
        return line + b"\n"

    async def _receive(self) -> bytes:
        try:
            return await asyncio.get_running_loop().sock_recv(self._socket, CHUNK_BYTES)
        except OSError as error:
            raise failure_for(error, self._path) from error

    async def _connect(self) -> None:
        """The loop's own way would take a full backlog for a connection."""
        while True:
            try:
                self._socket.connect(self._path)
            except BlockingIOError:
                await asyncio.sleep(RETRY_SECONDS)
            else:
                return
