"""Asks the daemon, one JSON object per line, and folds every failure into a kind.

One deadline covers connecting, sending and receiving. A socket that does not belong to this user is
not spoken to. What a call can raise is drawn in `failures`.
"""

import errno
import json
import os
import socket
import time
from collections.abc import Iterator, Sequence
from types import TracebackType
from typing import NamedTuple, Self

from memoryd_client import hook
from memoryd_client.connection.answers import Json, as_object, number_at, object_at, text_at
from memoryd_client.connection.failures import (
    DaemonError,
    Denied,
    NotRunning,
    ProtocolError,
    TimedOut,
)
from memoryd_client.connection.locations import socket_location

ANSWER_BYTES = 64 * 1024 * 1024
CHUNK_BYTES = 64 * 1024
# A full backlog refuses at once instead of waiting; this is how often we knock again.
KNOCK_SECONDS = 0.01
START_HINT = "start it with memoryd serve, or for good with memoryd install --service"
LOOK_HINT = "look for the reason with: memoryd doctor"


class Event(NamedTuple):
    """One thing that happened in the daemon."""

    kind: str
    data: Json


def call(method: str, params: Json | None = None, timeout_seconds: float = 10.0) -> Json:
    """The daemon's result for one request; raises one of the `Failure` kinds otherwise."""
    with Conversation(time.monotonic() + timeout_seconds) as talk:
        return talk.ask(method, params or {})


def subscribe(kinds: Sequence[str] = (), cwd: str = "") -> Iterator[Event]:
    """Events as they happen, until the daemon ends the conversation."""
    params: dict[str, object] = {"kinds": list(kinds)} if kinds else {}
    if cwd:
        params["cwd"] = cwd
    with Conversation(time.monotonic() + 10.0) as talk:
        talk.ask("events/subscribe", params)
        talk.wait_for_ever()
        for message in talk.messages():
            data = object_at(message, "params")
            if message.get("method") == "event":
                yield Event(text_at(data, "kind"), data)


def result_in(message: Json) -> Json:
    """What an answer carries; raises DaemonError when it is an error."""
    if "error" in message:
        error = object_at(message, "error")
        data = object_at(error, "data")
        raise DaemonError(
            code=int(number_at(error, "code")),
            message=text_at(error, "message") or "the daemon failed without saying why",
            kind=text_at(data, "kind"),
            hint=text_at(data, "hint"),
        )
    return as_object(message.get("result"))


class Conversation:
    """One connection to the daemon, closed with the context."""

    def __init__(self, deadline: float) -> None:
        self._deadline: float | None = deadline
        self._path = str(socket_location())
        self._line = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._rest = b""

    def __enter__(self) -> Self:
        try:
            self._check_owner()
            self._connect()
        except BaseException as error:
            self._line.close()
            if isinstance(error, OSError):
                raise self._folded(error) from error
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._line.close()

    def wait_for_ever(self) -> None:
        self._deadline = None

    def ask(self, method: str, params: Json) -> Json:
        """The result of one request; messages that are not its answer are passed over."""
        request = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        try:
            self._line.settimeout(self._remaining())
            self._line.sendall(json.dumps(request).encode() + b"\n")
        except OSError as error:
            raise self._folded(error) from error
        for message in self.messages():
            if "method" not in message and message.get("id") in {1, None}:
                return result_in(message)
        raise ProtocolError("the daemon closed the connection without an answer", LOOK_HINT)

    def messages(self) -> Iterator[Json]:
        """What the daemon says, object by object, until it closes the connection."""
        while line := self._next_line():
            try:
                message = json.loads(line)
            except (ValueError, RecursionError) as error:
                raise ProtocolError("the daemon's answer is not JSON", LOOK_HINT) from error
            if not isinstance(message, dict):
                raise ProtocolError("the daemon's answer is not an object", LOOK_HINT)
            yield message

    def _next_line(self) -> bytes:
        """The next whole line; empty at the end, where half a line is an error."""
        chunks, size = [self._rest], len(self._rest)
        while b"\n" not in chunks[-1]:
            chunk = self._receive()
            if not chunk and not size:
                return b""
            chunks.append(chunk)
            size += len(chunk)
            if not chunk or size > ANSWER_BYTES:
                raise ProtocolError("the daemon's answer has no end", LOOK_HINT)
        line, _, self._rest = b"".join(chunks).partition(b"\n")
        return line + b"\n"

    def _receive(self) -> bytes:
        try:
            self._line.settimeout(self._remaining())
            return self._line.recv(CHUNK_BYTES)
        except OSError as error:
            raise self._folded(error) from error

    def _check_owner(self) -> None:
        if not hook.is_ours(os.fsencode(self._path), os.getuid()):
            raise Denied(
                f"{self._path} belongs to somebody else, so nothing was said to it",
                "choose another place with MEMORYD_SOCKET, for the daemon and for you",
            )

    def _connect(self) -> None:
        while True:
            self._line.settimeout(self._remaining())
            try:
                self._line.connect(self._path)
            except BlockingIOError as error:
                if error.errno != errno.EAGAIN:
                    raise
                time.sleep(min(KNOCK_SECONDS, self._remaining() or KNOCK_SECONDS))
            else:
                return

    def _remaining(self) -> float | None:
        """Seconds that are left; None when this conversation waits for ever."""
        if self._deadline is None:
            return None
        left = self._deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError
        return left

    def _folded(self, error: OSError) -> NotRunning | Denied | TimedOut | ProtocolError:
        """The kind of failure that an operating system's error means here."""
        if isinstance(error, FileNotFoundError | ConnectionRefusedError | NotADirectoryError):
            return NotRunning(
                f"the daemon is not running: nobody listens on {self._path}", START_HINT
            )
        if isinstance(error, PermissionError):
            return Denied(f"{self._path} may not be opened by this user", LOOK_HINT)
        if isinstance(error, TimeoutError):
            return TimedOut(f"the daemon did not answer in time on {self._path}", LOOK_HINT)
        reason = error.strerror or type(error).__name__
        return ProtocolError(f"the talk with the daemon broke off: {reason}", LOOK_HINT)
