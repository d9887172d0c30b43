"""A model server for tests: real HTTP on loopback, the Messages API, and every fault by script.

It runs in threads of its own, so that sync and async tests and other processes can talk to it:

    with ScriptedModel([says("hello"), Reset(), Status(529)]) as server:
        ... server.base_url ... server.requests

A script is any iterable of replies (`itertools.repeat(...)` never ends) or a function from the
request to a reply. A request beyond the end of a script is answered by 418 and counted as overrun.
"""

import json
import socket
import struct
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from typing import Any, Self

import msgspec

from memoryd.llm.rules.messages import ModelAnswer, read_answer


class SeenRequest(msgspec.Struct, frozen=True):
    path: str
    headers: Mapping[str, str]
    body: dict[str, Any]

    @property
    def roles(self) -> list[str]:
        return [message["role"] for message in self.body["messages"]]


class Call(msgspec.Struct, frozen=True):
    """A tool call that the scripted model makes."""

    name: str
    input: Any
    call_id: str | None = None


class Message(msgspec.Struct, frozen=True):
    """An answer with status 200; the fields named in `without` are missing from its JSON."""

    content: Sequence[Mapping[str, Any]]
    stop_reason: str | None = "end_turn"
    usage: Mapping[str, Any] | None = None
    without: Sequence[str] = ()


class Body(msgspec.Struct, frozen=True):
    """Any bytes at all, with status 200."""

    content: bytes
    content_type: str = "application/json"


class CutBody(msgspec.Struct, frozen=True):
    """A message whose connection ends half-way through the promised length."""

    message: Message


class StalledBody(msgspec.Struct, frozen=True):
    """Half of a message is sent, then `sent` is called, and nothing more comes."""

    message: Message
    sent: Callable[[], object] = lambda: None


class Stream(msgspec.Struct, frozen=True):
    """Server-sent events in place of a body; `ends` says what happens to the connection then."""

    events: Sequence[Mapping[str, Any]]
    ends: str = "closed"
    headers: Mapping[str, str] = {}


class Status(msgspec.Struct, frozen=True):
    status: int
    headers: Mapping[str, str] = {}
    content: bytes | None = None


class Reset(msgspec.Struct, frozen=True):
    """The connection is reset after the request has been read."""


class Hang(msgspec.Struct, frozen=True):
    """Nothing comes until the server is closed."""


class Held(msgspec.Struct, frozen=True):
    """A reply that `hold` keeps back, for as long as it does not return."""

    hold: Callable[[], object]
    reply: "Reply"


Reply = Message | Body | CutBody | StalledBody | Stream | Status | Reset | Hang | Held
Script = Iterable[Reply] | Callable[[SeenRequest], Reply]

_ids = count(1)


def says(text: str, stop_reason: str | None = "end_turn", **usage: int) -> Message:
    return Message([{"type": "text", "text": text}], stop_reason, usage or None)


def asks(*calls: Call, stop_reason: str | None = "tool_use", **usage: int) -> Message:
    blocks = [
        {
            "type": "tool_use",
            "id": call.call_id or f"toolu_{next(_ids):06}",
            "name": call.name,
            "input": call.input,
        }
        for call in calls
    ]
    return Message(blocks, stop_reason, usage or None)


def stream_events(message: Message, usage: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The events in which a streaming server would send this message."""
    start = {**message_json(message, "scripted", usage), "content": [], "stop_reason": None}
    events: list[Mapping[str, Any]] = [{"type": "message_start", "message": start}]
    for index, block in enumerate(message.content):
        events += [
            {"type": "content_block_start", "index": index, "content_block": block},
            {"type": "content_block_stop", "index": index},
        ]
    delta = {"stop_reason": message.stop_reason}
    return [
        *events,
        {"type": "message_delta", "delta": delta, "usage": usage},
        {"type": "message_stop"},
    ]


def message_json(message: Message, model: str, usage: Mapping[str, Any]) -> dict[str, Any]:
    fields = {
        "id": f"msg_{next(_ids):06}",
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": list(message.content),
        "stop_reason": message.stop_reason,
        "stop_sequence": None,
        "usage": dict(message.usage or usage),
    }
    return {name: value for name, value in fields.items() if name not in message.without}


def answer_of(message: Message) -> ModelAnswer:
    """The message as a provider in this process would hand it on."""
    return read_answer(json.dumps(message_json(message, "scripted", {})).encode())


class PrefixCache:
    """A provider's prompt cache, counted in characters: what a marked prefix costs and saves."""

    def __init__(self) -> None:
        self._known: set[str] = set()

    def usage_of(self, body: Mapping[str, Any]) -> dict[str, int]:
        """Usage of a request: the longest known prefix is read, up to the last mark is written."""
        read = marked = total = 0
        prefix = ""
        for block in _blocks_in_order(body):
            bare = {name: value for name, value in block.items() if name != "cache_control"}
            prefix += json.dumps(bare, sort_keys=True)
            total = len(prefix)
            if prefix in self._known:
                read = total
            if "cache_control" in block:
                marked = total
                self._known.add(prefix)
        written = max(marked - read, 0)
        return {
            "input_tokens": (total - read - written) // 4,
            "cache_read_input_tokens": read // 4,
            "cache_creation_input_tokens": written // 4,
            "output_tokens": 20,
        }


def _blocks_in_order(body: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    yield from body.get("tools", ())
    yield from body.get("system", ())
    for message in body["messages"]:
        content = message["content"]
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        for block in blocks:
            yield {"role": message["role"], **block}


class ScriptedModel:
    """The server; a context manager that starts and stops it."""

    def __init__(self, script: Script) -> None:
        self._reply_to = script if callable(script) else _in_order(script)
        self._lock = threading.Lock()
        self._cache = PrefixCache()
        self.requests: list[SeenRequest] = []
        self.asked = threading.Event()
        self.overruns = 0
        self.closing = threading.Event()
        self._server = _Server(("127.0.0.1", 0), _handler_of(self))
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))

    @property
    def base_url(self) -> str:
        host, port = self._server.server_address[:2]
        return f"http://{host!s}:{port}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.closing.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def next_reply(self, request: SeenRequest) -> tuple[Reply, dict[str, int]]:
        with self._lock:
            self.requests.append(request)
            self.asked.set()
            try:
                reply = self._reply_to(request)
            except StopIteration:
                self.overruns += 1
                reply = Status(418)
            return reply, self._cache.usage_of(request.body)


def _in_order(script: Iterable[Reply]) -> Callable[[SeenRequest], Reply]:
    replies = iter(script)
    return lambda _request: next(replies)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignores clients that were killed between two requests."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


def _handler_of(model: ScriptedModel) -> type[BaseHTTPRequestHandler]:
    class Handler(_Handler):
        scripted = model

    return Handler


class _Handler(BaseHTTPRequestHandler):
    scripted: ScriptedModel
    protocol_version = "HTTP/1.1"
    # A client that gives up must not leave this thread waiting for its next request.
    timeout = 10

    def do_POST(self) -> None:
        length = int(self.headers.get("content-length", 0))
        raw = self.rfile.read(length)
        if len(raw) < length:  # the client died in the middle of it
            self.close_connection = True
            return
        body = json.loads(raw)
        headers = {name.lower(): value for name, value in self.headers.items()}
        reply, usage = self.scripted.next_reply(SeenRequest(self.path, headers, body))
        try:
            self._give(reply, str(body["model"]), usage)
        except ConnectionError:
            self.close_connection = True

    def _give(self, reply: Reply, model: str, usage: Mapping[str, Any]) -> None:
        match reply:
            case Message():
                self._send(200, json.dumps(message_json(reply, model, usage)).encode())
            case Body():
                self._send(200, reply.content, {"content-type": reply.content_type})
            case CutBody():
                whole = json.dumps(message_json(reply.message, model, usage)).encode()
                self._send(200, whole[: len(whole) // 2], {"content-length": str(len(whole))})
                self.close_connection = True
            case StalledBody():
                whole = json.dumps(message_json(reply.message, model, usage)).encode()
                self._send(200, whole[: len(whole) // 2], {"content-length": str(len(whole))})
                reply.sent()
                self.scripted.closing.wait()
                self.close_connection = True
            case Status():
                error = {"type": "api_error", "message": f"scripted, key {self._sent_key()}"}
                usual = json.dumps({"type": "error", "error": error}).encode()
                content = usual if reply.content is None else reply.content
                self._send(reply.status, content, reply.headers)
            case Stream():
                self._stream(reply)
            case Reset():
                self._reset()
            case Hang():
                self.scripted.closing.wait()
                self.close_connection = True
            case Held():
                reply.hold()
                self._give(reply.reply, model, usage)

    def _sent_key(self) -> str:
        """Echoed in every error, as careless servers do."""
        return self.headers.get("authorization", "").removeprefix("Bearer ")

    def _send(self, status: int, content: bytes, headers: Mapping[str, str] | None = None) -> None:
        given = {"content-type": "application/json", "content-length": str(len(content))}
        self.send_response(status)
        for name, value in (given | dict(headers or {})).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    def _stream(self, stream: Stream) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("transfer-encoding", "chunked")
        for name, value in stream.headers.items():
            self.send_header(name, value)
        self.end_headers()
        for event in stream.events:
            chunk = f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode()
            self.wfile.write(b"%x\r\n%s\r\n" % (len(chunk), chunk))
        if stream.ends == "closed":
            self.wfile.write(b"0\r\n\r\n")
        elif stream.ends == "stalled":
            self.scripted.closing.wait()
        self.close_connection = True

    def _reset(self) -> None:
        self.close_connection = True
        linger_off = struct.pack("ii", 1, 0)
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger_off)
        # The buffered files would hold the socket open and turn the reset into a plain end.
        self.connection.shutdown(socket.SHUT_RD)
        self.connection.close()

    def log_message(self, *_: object) -> None:
        """Tests read `requests`, not a log."""
