"""The command `mcp`: a bridge from the Model Context Protocol on standard input to the daemon.

It speaks both generations of the protocol: with a handshake (`initialize`, up to 2025-11-25) and
without sessions (`server/discover`, 2026-07-28), where every request names its version. It keeps no
state, so it need not know which of the two is in use. An agent waits for its first list of tools,
so what that needs loads nothing that takes a while: not json, not typing, not even os.
"""

from __future__ import annotations

import posix
import sys

from memoryd_client.connection import quick_json
from memoryd_client.connection.answers import Json, object_at, text_at
from memoryd_client.connection.failures import Failure
from memoryd_client.mcp.tools import TOPIC, tool_json, tools_now
from memoryd_client.version import __version__

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import BinaryIO

HANDSHAKES = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
MODERN = ("2026-07-28",)
META = "io.modelcontextprotocol/"
LINE_BYTES = 8 * 1024 * 1024

PARSE_ERROR, INVALID_REQUEST, NO_METHOD, INVALID_PARAMS = -32700, -32600, -32601, -32602
INTERNAL_ERROR = -32603
UNSUPPORTED_VERSION, NO_RESOURCE = -32022, -32002

INSTRUCTIONS = (
    "memoryd keeps what this person and this project want remembered between sessions. Use recall "
    "before you assume how something is done here; use remember when the person corrects you or "
    "says something that the code cannot show."
)
IDENTITY: dict[str, object] = {"name": "memoryd", "title": "memoryd", "version": __version__}
CAPABILITIES: dict[str, object] = {"tools": {}, "resources": {}}


class RpcError(Exception):
    """An error response, with the protocol's code for it."""

    def __init__(self, code: int, message: str, data: object = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.data = data


def main() -> int:
    """Answers until standard input ends or the agent goes away."""
    try:  # noqa: SIM105 - contextlib takes a while to load
        serve(sys.stdin.buffer, sys.stdout.buffer)
    except (KeyboardInterrupt, BrokenPipeError):
        pass
    # Keeps the interpreter's flush at exit from failing on a closed pipe.
    posix.dup2(posix.open("/dev/null", posix.O_WRONLY), sys.stdout.fileno())
    return 0


def serve(lines: BinaryIO, out: BinaryIO) -> None:
    for line in bounded_lines(lines):
        answer = answer_to(line)
        if answer is not None:
            out.write(quick_json.dumps(answer) + b"\n")
            out.flush()


def bounded_lines(lines: BinaryIO) -> Iterable[bytes]:
    """Lines with text in them; a line that is too long is cut and its rest skipped."""
    while line := lines.readline(LINE_BYTES):
        if not line.endswith(b"\n") and len(line) == LINE_BYTES:
            while (rest := lines.readline(LINE_BYTES)) and not rest.endswith(b"\n"):
                pass
        if line.strip():
            yield line


def answer_to(line: bytes) -> dict[str, object] | None:
    """The answer to one message; None for a notification."""
    try:
        message = quick_json.loads(line)
    except (ValueError, RecursionError):
        return error_answer(None, RpcError(PARSE_ERROR, "not valid JSON"))
    if not isinstance(message, dict) or not isinstance(message.get("method"), str):
        is_reply = isinstance(message, dict) and ("result" in message or "error" in message)
        return None if is_reply else error_answer(None, RpcError(INVALID_REQUEST, "not a request"))
    if "id" not in message:
        return None
    if not isinstance(message["id"], str | int) or isinstance(message["id"], bool):
        return error_answer(None, RpcError(INVALID_REQUEST, "an id must be a string or an integer"))
    try:
        result = result_of(message["method"], object_at(message, "params"))
    except RpcError as fault:
        return error_answer(message["id"], fault)
    except Failure as failure:
        return error_answer(message["id"], RpcError(-32000, words_of(failure)))
    except Exception:  # noqa: BLE001 - one bad call must not end the tools for the whole session
        return error_answer(
            message["id"], RpcError(INTERNAL_ERROR, "memoryd failed; this is a bug")
        )
    return {"jsonrpc": "2.0", "id": message["id"], "result": result}


def error_answer(id_: object, fault: RpcError) -> dict[str, object]:
    error = {"code": fault.code, "message": fault.message}
    if fault.data is not None:
        error["data"] = fault.data
    return {"jsonrpc": "2.0", "id": id_, "error": error}


def result_of(method: str, params: Json) -> Mapping[str, object]:
    meta = object_at(params, "_meta")
    asked = text_at(meta, f"{META}protocolVersion")
    if asked and asked not in MODERN:
        supported = {"supported": [*MODERN], "requested": asked}
        raise RpcError(UNSUPPORTED_VERSION, f"protocol version {asked} is not supported", supported)
    match method:
        case "initialize":
            return initialized(text_at(params, "protocolVersion"))
        case "server/discover":
            return complete(cached(discovered()))
        case "ping":
            return complete({}) if asked else {}
        case "tools/list":
            return complete(cached({"tools": [tool_json(tool) for tool in tools_now()]}))
        case "tools/call":
            return complete(called(text_at(params, "name"), object_at(params, "arguments")))
        case "resources/list":
            return complete(cached({"resources": resources()}))
        case "resources/templates/list":
            return complete(cached({"resourceTemplates": [TEMPLATE]}))
        case "resources/read":
            return complete(cached(read(text_at(params, "uri"))))
        case _:
            raise RpcError(NO_METHOD, f"there is no method {method}")


TEMPLATE = {
    "uriTemplate": f"{TOPIC}{{file}}",
    "name": "memory",
    "title": "One memory",
    "mimeType": "text/markdown",
}


def initialized(version: str) -> dict[str, object]:
    return {
        "protocolVersion": version if version in HANDSHAKES else HANDSHAKES[-1],
        "capabilities": CAPABILITIES,
        "serverInfo": IDENTITY,
        "instructions": INSTRUCTIONS,
    }


def discovered() -> dict[str, object]:
    return {
        "supportedVersions": [*MODERN],
        "capabilities": CAPABILITIES,
        "instructions": INSTRUCTIONS,
    }


def complete(result: dict[str, object]) -> dict[str, object]:
    """With the fields of the later protocol; the earlier one ignores them."""
    return result | {"resultType": "complete", "_meta": {f"{META}serverInfo": IDENTITY}}


def cached(result: dict[str, object]) -> dict[str, object]:
    return result | {"ttlMs": 0, "cacheScope": "private"}


def called(name: str, arguments: Json) -> dict[str, object]:
    from memoryd_client.mcp.tool_calls import CALLS  # noqa: PLC0415 - a list does not need it

    if name not in CALLS:
        raise RpcError(INVALID_PARAMS, f"there is no tool {name}")
    try:
        text, is_error = CALLS[name](arguments), False
    except Failure as failure:
        text, is_error = words_of(failure), True
    return {"content": [{"type": "text", "text": text}], "isError": is_error}


def resources() -> list[dict[str, object]]:
    from memoryd_client.mcp import tool_calls  # noqa: PLC0415 - likewise

    return tool_calls.resources()


def read(uri: str) -> dict[str, object]:
    from memoryd_client.mcp.tool_calls import resource_text  # noqa: PLC0415 - likewise

    try:
        text = resource_text(uri)
    except Failure as failure:
        raise RpcError(NO_RESOURCE, words_of(failure), {"uri": uri}) from failure
    return {"contents": [{"uri": uri, "mimeType": "text/markdown", "text": text}]}


def words_of(failure: Failure) -> str:
    return f"{failure.message}\n{failure.hint}".strip()
