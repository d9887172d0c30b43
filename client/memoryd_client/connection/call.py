"""Calls the daemon, one JSON object per line, and maps every failure to a kind.

One deadline covers connecting, sending and receiving. The client never connects to a socket of
another user, nor asks a process of another user. `failures` lists what a call can raise.
"""

import errno
import json
import os
import socket
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import TracebackType
from typing import Self

from memoryd_client.connection.answers import Json, as_object, number_at, object_at, text_at
from memoryd_client.connection.failures import DaemonError, ProtocolError
from memoryd_client.connection.locations import socket_location
from memoryd_client.connection.peer import DOCTOR_HINT, check_owner, check_peer, failure_for

ANSWER_BYTES = 64 * 1024 * 1024
CHUNK_BYTES = 64 * 1024
# A full backlog refuses at once instead of waiting; this is the pause before the next try.
RETRY_SECONDS = 0.01
# What agents set for the commands that they run. The daemon has the same list.
AGENT_VARIABLES = (
    "CLAUDECODE",
    "CLAUDE_CODE_ENTRYPOINT",
    "CODEX_SANDBOX",
    "CODEX_THREAD_ID",
    "CURSOR_AGENT",
    "GEMINI_CLI",
    "OPENCODE",
    "AI_AGENT",
)


def call(method: str, params: Json | None = None, timeout_seconds: float = 10.0) -> Json:
    """The daemon's result for one request; raises one of the `Failure` kinds otherwise."""
    with Connection(time.monotonic() + timeout_seconds) as connection:
        return connection.ask(method, {**(params or {}), **said_by()})


def said_by() -> Json:
    """The param that says who asks, if it is an agent."""
    return {"by": "agent"} if is_in_an_agent() else {}


def is_in_an_agent() -> bool:
    """Whether a coding agent runs this command; the daemon looks for itself where it can."""
    return any(os.environ.get(name) for name in AGENT_VARIABLES)


@contextmanager
def subscription(kinds: Sequence[str], cwd: str = "") -> Iterator[Iterator[Json]]:
    """Events as they happen, until the daemon closes the connection.

    None is missed that happens after the context was entered.
    """
    params = {"kinds": list(kinds)} | ({"cwd": cwd} if cwd else {})
    with Connection(time.monotonic() + 10.0) as connection:
        connection.ask("events/subscribe", params)
        connection.remove_deadline()
        yield (
            object_at(message, "params")
            for message in connection.messages()
            if message.get("method") == "event"
        )


def result_in(message: Json) -> Json:
    """The result in a response; raises DaemonError when it is an error."""
    if "error" in message:
        error = object_at(message, "error")
        data = object_at(error, "data")
        raise DaemonError(
            code=int(number_at(error, "code")),
            message=text_at(error, "message") or "the daemon failed and gave no reason",
            kind=text_at(data, "kind"),
            hint=text_at(data, "hint"),
        )
    return as_object(message.get("result"))


def message_in(line: bytes) -> Json:
    try:
        message = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise ProtocolError("the daemon's answer is not JSON", DOCTOR_HINT) from error
    if not isinstance(message, dict):
        raise ProtocolError("the daemon's answer is not an object", DOCTOR_HINT)
    return message


def is_answer(message: Json) -> bool:
    return "method" not in message and message.get("id") in {1, None}


def is_silent(connection: socket.socket) -> bool:
    """Whether the other end neither closed the connection nor said anything; does not wait."""
    connection.settimeout(0)
    try:
        connection.recv(1, socket.MSG_PEEK)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False


def request_line(method: str, params: Json) -> bytes:
    return (
        json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode() + b"\n"
    )


class Connection:
    """One connection to the daemon, closed with the context."""

    def __init__(self, deadline: float) -> None:
        self._deadline: float | None = deadline
        self._path = str(socket_location())
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._rest = b""

    def __enter__(self) -> Self:
        try:
            check_owner(self._path)
            self._connect()
            check_peer(self._socket, self._path)
        except BaseException as error:
            self._socket.close()
            if isinstance(error, OSError):
                raise failure_for(error, self._path) from error
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._socket.close()

    def remove_deadline(self) -> None:
        self._deadline = None

    def extend(self, deadline: float) -> None:
        """The next request has until then."""
        self._deadline = deadline

    def fileno(self) -> int:
        """The socket, for those who wait for several things."""
        return self._socket.fileno()

    def drain(self) -> bool:
        """Throws away what has arrived; returns whether the daemon is still at the other end."""
        self._rest = b""
        self._socket.settimeout(0)
        try:
            while self._socket.recv(CHUNK_BYTES):
                pass
        except BlockingIOError:
            return True
        except OSError:
            return False
        return False

    def is_open(self) -> bool:
        """Whether the daemon is still at the other end, and owes nothing."""
        return not self._rest and is_silent(self._socket)

    def ask(self, method: str, params: Json) -> Json:
        """The result of one request; other messages that arrive first are skipped."""
        try:
            self._socket.settimeout(self._remaining())
            self._socket.sendall(request_line(method, params))
        except OSError as error:
            raise failure_for(error, self._path) from error
        for message in self.messages():
            if is_answer(message):
                return result_in(message)
        raise ProtocolError("the daemon closed the connection without an answer", DOCTOR_HINT)

    def messages(self) -> Iterator[Json]:
        """Messages from the daemon, until it closes the connection."""
        while line := self._next_line():
            yield message_in(line)

    def _next_line(self) -> bytes:
        """The next whole line; empty at the end of the stream, where half a line is an error."""
        chunks, size = [self._rest], len(self._rest)
        while b"\n" not in chunks[-1]:
            chunk = self._receive()
            if not chunk and not size:
                return b""
            chunks.append(chunk)
            size += len(chunk)
            if not chunk or size > ANSWER_BYTES:
                raise ProtocolError("the daemon's answer is incomplete or too long", DOCTOR_HINT)
        line, _, self._rest = b"".join(chunks).partition(b"\n")
        return line + b"\n"

    def _receive(self) -> bytes:
        try:
            self._socket.settimeout(self._remaining())
            return self._socket.recv(CHUNK_BYTES)
        except OSError as error:
            raise failure_for(error, self._path) from error

    def _connect(self) -> None:
        while True:
            self._socket.settimeout(self._remaining())
            try:
                self._socket.connect(self._path)
            except BlockingIOError as error:
                if error.errno != errno.EAGAIN:
                    raise
                time.sleep(min(RETRY_SECONDS, self._remaining() or RETRY_SECONDS))
            else:
                return

    def _remaining(self) -> float | None:
        """Seconds left until the deadline; None without one."""
        if self._deadline is None:
            return None
        left = self._deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError
        return left
