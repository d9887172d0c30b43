"""JSON texts as requests, and refusals of those that are none.

A text is one request or a batch of them. Whatever it is, its answer has the standard's error code,
and the request's id if that can be read.
"""

import itertools
import json
from typing import Final

import msgspec

from memoryd.api.rules import envelope
from memoryd.api.rules.envelope import ErrorResponse, IdAlone, Request, RequestError

BATCH_CALLS: Final = 10_000
BATCH_ANSWER_BYTES: Final = 16 * 1024 * 1024
LONG_BATCH_BYTES: Final = 256 * 1024
REPAIR_LIMIT_BYTES: Final = 1024 * 1024

_encode = msgspec.json.Encoder().encode
_decode_request = msgspec.json.Decoder(Request).decode


def calls_in(text: bytes) -> list[msgspec.Raw]:
    """The calls of a batch; RequestError if it is not one, or has too many."""
    try:
        if len(text) > LONG_BATCH_BYTES:
            _check_long_batch(text)
        calls = msgspec.json.decode(text, type=list[msgspec.Raw])
    except msgspec.ValidationError as error:
        raise invalid_request(str(error)) from error
    except (msgspec.DecodeError, RecursionError) as error:
        raise _parse_error() from error
    if not calls:
        raise invalid_request("an empty batch")
    if len(calls) > BATCH_CALLS:
        raise _batch_too_long()
    return calls


def _check_long_batch(text: bytes) -> None:
    """Rejects it at the first call over the limit, or the first that is not an object.

    8 MiB can hold four million values. Decoding them all takes half a second, during which no
    client is answered: the decoder holds the GIL.
    """
    numbers = itertools.count(1)

    class Call(msgspec.Struct):
        def __post_init__(self) -> None:
            if next(numbers) > BATCH_CALLS:
                raise _batch_too_long()

    msgspec.json.decode(text, type=list[Call])


def decoded(text: bytes) -> Request:
    """The envelope of a request; RequestError with the standard's code if it is invalid."""
    try:
        return _decode_request(text)
    except msgspec.ValidationError as error:
        raise invalid_request(str(error)) from error
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        if len(text) <= REPAIR_LIMIT_BYTES and b"\\ud" in text.lower():
            return _decoded_with_lone_surrogates(text)
        raise _parse_error() from error


def _decoded_with_lone_surrogates(text: bytes) -> Request:
    """JavaScript can cut a text inside a character; the remaining half becomes `?`."""
    try:
        whole = json.dumps(json.loads(text), ensure_ascii=False).encode("utf-8", "replace")
        return _decode_request(whole)
    except (ValueError, RecursionError) as error:
        raise _parse_error() from error


def id_in(request: Request) -> envelope.Id:
    return None if isinstance(request.id, msgspec.UnsetType) else request.id


def id_of(text: bytes) -> envelope.Id:
    try:
        return msgspec.json.decode(text, type=IdAlone).id
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def refusal(id_: envelope.Id, error: BaseException) -> bytes:
    return _encode(ErrorResponse(id=id_, error=envelope.failure_of(error)))


def _parse_error() -> RequestError:
    return RequestError(envelope.PARSE_ERROR, "this is not JSON", "parse-error")


def _batch_too_long() -> RequestError:
    message = f"a batch may have at most {BATCH_CALLS} calls"
    return RequestError(envelope.INVALID_REQUEST, message, "invalid-request")


def answer_too_large() -> RequestError:
    message = (
        f"the answers of a batch may have at most {BATCH_ANSWER_BYTES} bytes; send it in parts"
    )
    return RequestError(envelope.INVALID_REQUEST, message, "invalid-request")


def invalid_request(reason: str) -> RequestError:
    return RequestError(envelope.INVALID_REQUEST, f"not a request: {reason}", "invalid-request")
