"""Connections: bytes in, requests answered one after the other, bytes out.

A peer can only harm itself. A connection from another user is closed before a byte is read; a peer
that does not finish a message, does not read its answers, or breaks the framing is disconnected.
One too many is told so and disconnected, while there are file handles left to do the work.
"""

import errno
import math
import os
import socket
import struct
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import Final

import anyio
import anyio.lowlevel
import anyio.to_thread
import msgspec
from anyio.abc import SocketAttribute, SocketListener, SocketStream, TaskGroup

from memoryd.api.rules import envelope, protocol
from memoryd.api.rules.envelope import Request, RequestError, ResultResponse
from memoryd.api.rules.framing import Frames, Framing, FramingError, framed
from memoryd.api.rules.protocol import Params
from memoryd.api.rules.requests import (
    BATCH_ANSWER_BYTES,
    answer_too_large,
    calls_in,
    decoded,
    id_in,
    id_of,
    invalid_request,
    refusal,
)
from memoryd.api.subscriptions import SubscribedAnswer, Subscription, Subscriptions
from memoryd.base.errors import MemorydError, Unavailable
from memoryd.system.ancestry import is_run_by_an_agent
from memoryd.system.early_log import EarlyLog

HALF_MESSAGE_SECONDS: Final = 10
UNREAD_ANSWER_SECONDS: Final = 10
READ_BYTES: Final = 65_536
MOST_CONNECTIONS: Final = 4096
# What the daemon itself has open, and a save and a scan on top.
OWN_HANDLES: Final = 48
_OUT_OF_HANDLES: Final = {errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM}

Handler = Callable[[Params], Awaitable[object]]
RootOf = Callable[[str], Awaitable[str]]

log = EarlyLog(__name__)
_encode = msgspec.json.Encoder().encode


def most_connections(handle_limit: int) -> int:
    """How many clients there is room for: files must still be opened for them."""
    return max(4, min(MOST_CONNECTIONS, handle_limit - OWN_HANDLES))


class Server:
    def __init__(
        self,
        handle: Handler,
        subscriptions: Subscriptions,
        root_of: RootOf,
        most_connections: int = MOST_CONNECTIONS,
    ) -> None:
        self._handle = handle
        self._connected = 0
        self._most_connections = most_connections
        self._subscriptions = subscriptions
        self._root_of = root_of
        self._answering = 0
        self._was_idle = anyio.Event()
        self.quiet = threading.Event()
        """Set while nobody waits for an answer; for threads, which give way."""
        self.quiet.set()

    async def accept(self, listener: SocketListener, connections: TaskGroup) -> None:
        """Accepts until cancelled; pauses when the process is out of file handles."""
        while True:
            try:
                stream = await listener.accept()
            except (OSError, anyio.BrokenResourceError) as error:
                # anyio hides the system's error behind its own.
                cause = error if isinstance(error, OSError) else error.__cause__
                if not isinstance(cause, OSError) or cause.errno not in _OUT_OF_HANDLES:
                    raise
                log.warning("accept-paused", error=cause.strerror)
                await anyio.sleep(0.1)
            else:
                connections.start_soon(self._welcome, stream)

    async def drain(self) -> None:
        """Returns when no request is being answered and every subscriber has its events."""
        while self._answering:
            self._was_idle = anyio.Event()
            await self._was_idle.wait()
        await self._subscriptions.drain()

    async def _welcome(self, stream: SocketStream) -> None:
        async with stream:
            uid = peer_uid(stream.extra(SocketAttribute.raw_socket))
            if uid != os.getuid():
                log.warning("peer-refused", peer_uid=uid)
                return
            if self._connected >= self._most_connections:
                log.warning("peer-refused", connections=self._connected)
                with _peer_may_vanish(), anyio.move_on_after(UNREAD_ANSWER_SECONDS):
                    await stream.send(refusal(None, _too_many_connections()) + b"\n")
                return
            self._connected += 1
            try:
                async with anyio.create_task_group() as tasks:
                    with _peer_may_vanish():
                        await Connection(stream, self, tasks).run()
                    tasks.cancel_scope.cancel()
            except Exception:
                log.exception("connection-failed")
            finally:
                self._connected -= 1

    @contextmanager
    def answering(self) -> Iterator[None]:
        """Wraps a request and the sending of its answer: a shutdown waits for both."""
        self._answering += 1
        if self._answering == 1:
            self.quiet.clear()
        try:
            yield
        finally:
            self._answering -= 1
            if self._answering == 0:
                self.quiet.set()
                self._was_idle.set()

    async def answer(self, text: bytes, connection: "Connection") -> bytes | None:
        """The answer to one JSON text, which may be a batch; None for notifications."""
        if text.lstrip()[:1] == b"[":
            return await self._answer_batch(text, connection)
        return await self._answer_one(text, connection)

    async def _answer_batch(self, text: bytes, connection: "Connection") -> bytes | None:
        try:
            calls = calls_in(text)
        except RequestError as error:
            return refusal(None, error)
        answers: list[bytes] = []
        left_bytes = BATCH_ANSWER_BYTES
        for call in calls:
            # A small call can have a large answer, and all of them are sent as one.
            if left_bytes <= 0:
                answer: bytes | None = refusal(id_of(bytes(call)), answer_too_large())
            else:
                answer = await self._answer_one(bytes(call), connection)
            if answer is not None:
                answers.append(answer)
                left_bytes -= len(answer)
            await anyio.lowlevel.checkpoint()  # lets other connections run
        return b"[" + b",".join(answers) + b"]" if answers else None

    async def _answer_one(self, text: bytes, connection: "Connection") -> bytes | None:
        try:
            request = decoded(text)
        except RequestError as error:
            return refusal(id_of(text), error)
        log.debug("request", method=request.method)
        try:
            result = await self._result(request, connection)
            # What is encoded already may have megabytes, and is not copied.
            raw = result if isinstance(result, msgspec.Raw) else msgspec.Raw(_encode(result))
            answer = _encode(ResultResponse(id=id_in(request), result=raw))
        except MemorydError as error:
            answer = refusal(id_in(request), error)
        except Exception as error:
            log.exception("request-failed", method=request.method)
            answer = refusal(id_in(request), error)
        return None if request.id is msgspec.UNSET else answer

    async def _result(self, request: Request, connection: "Connection") -> object:
        params = protocol.params_of(request)
        if isinstance(params, protocol.SubscribeParams):
            project = await self._root_of(params.cwd) if params.cwd else None
            kinds = None if params.kinds is None else frozenset(params.kinds)
            connection.follow(self._subscriptions.subscribe(kinds, project))
            return SubscribedAnswer(subscribed=True)
        if protocol.is_a_persons(params) and await connection.is_from_an_agent():
            params = protocol.as_an_agents(params)
        return await self._handle(params)

    def leave(self, subscription: Subscription) -> None:
        self._subscriptions.leave(subscription)


class Connection:
    """One peer, from its first byte to its last."""

    def __init__(self, stream: SocketStream, server: Server, tasks: TaskGroup) -> None:
        self._stream = stream
        self._socket = stream.extra(SocketAttribute.raw_socket)
        self._server = server
        self._tasks = tasks
        self._frames = Frames()
        self._sending = anyio.Lock(fast_acquire=True)
        self._is_from_an_agent: bool | None = None

    async def is_from_an_agent(self) -> bool:
        """Whether the peer runs inside a coding agent; looked up when it first matters."""
        if self._is_from_an_agent is None:
            found = await anyio.to_thread.run_sync(_is_from_an_agent, self._socket)
            self._is_from_an_agent = found
        return self._is_from_an_agent

    async def run(self) -> None:
        began: float | None = None
        while True:
            limit = math.inf if began is None else began + HALF_MESSAGE_SECONDS
            data = await self._receive(limit)
            if not data:
                return
            try:
                texts = self._frames.feed(data)
            except FramingError as error:
                await self._send(refusal(None, invalid_request(str(error))))
                return
            for text in texts:
                with self._server.answering():
                    answer = await self._server.answer(text, self)
                    if answer is None:
                        await anyio.lowlevel.checkpoint()  # lets other connections run
                    else:
                        await self._send(answer)
            if not self._frames.is_waiting_for_more:
                began = None
            elif began is None or texts:
                began = anyio.current_time()

    async def _receive(self, deadline: float) -> bytes:
        """What the peer sent; nothing at its end, and after the deadline.

        The stream would first try to read, in vain: the peer waits for an answer until it has one.
        """
        with anyio.CancelScope(deadline=deadline):
            while True:
                await anyio.wait_readable(self._socket.fileno())
                try:
                    return self._socket.recv(READ_BYTES)
                except BlockingIOError:
                    continue
                except OSError as error:
                    raise anyio.BrokenResourceError from error
        return b""

    async def _send(self, text: bytes) -> None:
        framing: Framing = self._frames.framing or "lines"
        data = framed(text, framing)
        sent = 0 if self._sending.locked() else self._sent_at_once(data)
        if sent == len(data):
            await anyio.lowlevel.checkpoint()  # lets other connections run
            return
        with anyio.move_on_after(UNREAD_ANSWER_SECONDS) as patience:
            async with self._sending:
                # Sent as a view, since a copy would take as long as sending.
                await self._stream.send(memoryview(data)[sent:])  # type: ignore[arg-type]
        if patience.cancelled_caught:
            log.warning("slow-reader-cut-off")
            self._tasks.cancel_scope.cancel()

    def _sent_at_once(self, data: bytes) -> int:
        """How much the peer's buffer takes; mostly all, and then nobody waits for the loop."""
        try:
            return self._socket.send(data)
        except BlockingIOError:
            return 0
        except OSError as error:
            raise anyio.BrokenResourceError from error

    def follow(self, subscription: Subscription) -> None:
        self._tasks.start_soon(self._forward, subscription)

    async def _forward(self, subscription: Subscription) -> None:
        try:
            with _peer_may_vanish():
                async for event in subscription:
                    await self._send(
                        _encode(envelope.EventNotification(params=msgspec.Raw(_encode(event))))
                    )
        finally:
            self._server.leave(subscription)
        self._tasks.cancel_scope.cancel()


def _peer_may_vanish() -> AbstractContextManager[None]:
    return suppress(anyio.BrokenResourceError, anyio.ClosedResourceError)


def _is_from_an_agent(peer: socket.socket) -> bool:
    pid = peer_pid(peer)
    return pid is not None and is_run_by_an_agent(pid)


def peer_pid(peer: socket.socket) -> int | None:
    """The process at the other end when it connected; None where the kernel does not say."""
    if not hasattr(socket, "SO_PEERCRED"):
        return None
    size = struct.calcsize("3i")
    return int(struct.unpack("3i", peer.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size))[0])


def peer_uid(peer: socket.socket) -> int:
    """The user at the other end, according to the kernel."""
    if hasattr(socket, "SO_PEERCRED"):
        size = struct.calcsize("3i")
        credentials = peer.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size)
        return int(struct.unpack("3i", credentials)[1])
    local_peercred, xucred = 1, struct.Struct("IIh")
    raw = peer.getsockopt(0, local_peercred, 76)
    return int(xucred.unpack_from(raw)[1])


def _too_many_connections() -> MemorydError:
    return Unavailable("too many clients are connected", hint="close some, or raise ulimit -n")
