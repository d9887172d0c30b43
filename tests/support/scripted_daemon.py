"""A daemon with scripted answers, on a real Unix socket, in threads."""

import json
import socket
import threading
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, Self


class Result(NamedTuple):
    """Answers with this result."""

    value: object


class Fault(NamedTuple):
    """Answers with this JSON-RPC error."""

    code: int
    message: str
    kind: str = ""
    hint: str = ""


class Raw(NamedTuple):
    """Sends these bytes as they are, then closes the connection."""

    sent: bytes


class Stream(NamedTuple):
    """Acknowledges a subscription, sends these events, then closes the connection."""

    events: tuple[Mapping[str, object], ...]


class Silence(NamedTuple):
    """Reads the request and never answers."""


Answer = Result | Fault | Raw | Stream | Silence


class Request(NamedTuple):
    method: str
    params: object


def lines_for(answer: Answer, request_id: object) -> bytes:
    """The bytes on the wire for an answer."""
    envelope: dict[str, object] = {"jsonrpc": "2.0", "id": request_id}
    messages: list[dict[str, object]]
    match answer:
        case Result(value):
            messages = [envelope | {"result": value}]
        case Fault(code, message, kind, hint):
            data = {"kind": kind, "hint": hint}
            messages = [envelope | {"error": {"code": code, "message": message, "data": data}}]
        case Stream(events):
            messages = [envelope | {"result": {}}]
            messages += ({"jsonrpc": "2.0", "method": "event", "params": event} for event in events)
        case Raw(sent):
            return sent
        case Silence():
            return b""
    return b"".join(json.dumps(message).encode() + b"\n" for message in messages)


class ScriptedDaemon:
    """Serves `answers` by method name while the context is open, and records the requests."""

    def __init__(self, path: Path, answers: Mapping[str, Answer]) -> None:
        self.path = path
        self.requests: list[Request] = []
        self._answers = answers
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._connections: list[socket.socket] = []
        self._acceptor = threading.Thread(target=self._accept, daemon=True)

    def __enter__(self) -> Self:
        self._listener.bind(str(self.path))
        self.path.chmod(0o600)
        self._listener.listen(128)
        self._acceptor.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        _close(self._listener)
        self._acceptor.join()  # no connection is added after this
        for connection in self._connections:
            _close(connection)
        self.path.unlink(missing_ok=True)

    def asked(self, method: str) -> list[object]:
        """The params of every request for `method`, in order."""
        return [request.params for request in self.requests if request.method == method]

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            self._connections.append(connection)
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        try:
            with connection.makefile("rb") as lines:
                for line in lines:
                    if not self._reply(connection, json.loads(line)):
                        connection.shutdown(socket.SHUT_RDWR)
                        return
        except OSError:
            return

    def _reply(self, connection: socket.socket, message: dict[str, object]) -> bool:
        """Answers one request; False if the connection is to be closed after it."""
        method = str(message["method"])
        self.requests.append(Request(method, message.get("params")))
        answer = self._answers.get(method, Fault(-32601, "no such method"))
        connection.sendall(lines_for(answer, message.get("id")))
        return not isinstance(answer, Raw | Stream)


def _close(connection: socket.socket) -> None:
    """Also wakes a thread that waits in accept or recv; close alone would not."""
    with suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)
    connection.close()
