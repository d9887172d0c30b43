"""The envelope of a message: request, result, error and event, as JSON-RPC 2.0 has them."""

from typing import Final, Literal

import msgspec

from memoryd.base.errors import MemorydError

PARSE_ERROR: Final = -32700
INVALID_REQUEST: Final = -32600
METHOD_NOT_FOUND: Final = -32601
INVALID_PARAMS: Final = -32602
INTERNAL_ERROR: Final = -32603

Id = int | float | str | None


class Request(msgspec.Struct, frozen=True, gc=False):
    """One call. Without an id it is a notification and gets no answer."""

    method: str
    jsonrpc: Literal["2.0"]
    id: Id | msgspec.UnsetType = msgspec.UNSET
    params: msgspec.Raw = msgspec.Raw(b"{}")


class IdAlone(msgspec.Struct, frozen=True, gc=False):
    """The id of a bad request, so that its sender gets the error."""

    id: Id = None


class ErrorData(msgspec.Struct, frozen=True):
    kind: str
    hint: str = ""


class ErrorBody(msgspec.Struct, frozen=True):
    code: int
    message: str
    data: ErrorData


class ResultResponse(msgspec.Struct, frozen=True, kw_only=True):
    jsonrpc: str = "2.0"
    id: Id
    result: msgspec.Raw


class ErrorResponse(msgspec.Struct, frozen=True, kw_only=True):
    jsonrpc: str = "2.0"
    id: Id
    error: ErrorBody


class EventNotification(msgspec.Struct, frozen=True, kw_only=True):
    """A notification to a subscriber; `params` names the kind and holds its data."""

    jsonrpc: str = "2.0"
    method: str = "event"
    params: msgspec.Raw


class RequestError(MemorydError):
    """A request that the standard itself has a code for."""

    def __init__(self, code: int, message: str, kind: str, hint: str = "") -> None:
        super().__init__(message, hint)
        self.wire_code = code
        self.wire_kind = kind


def failure_of(error: BaseException) -> ErrorBody:
    """The one place where an exception becomes a wire error; a bug shows no inner text."""
    match error:
        case RequestError():
            return ErrorBody(error.wire_code, error.message, ErrorData(error.wire_kind, error.hint))
        case MemorydError():
            return ErrorBody(error.code, error.message, ErrorData(error.kind, error.hint))
        case _:
            hint = "memoryd logs shows what happened"
            return ErrorBody(INTERNAL_ERROR, "internal error", ErrorData("bug", hint))
