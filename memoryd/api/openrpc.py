"""The protocol of the socket as an OpenRPC 1.3 document, made from the types that the daemon uses.

- A field of a result is required if every answer has it. Clients still ignore what they do not
  know, and answers may get new fields.
- OpenRPC has no place for what a server sends by itself: `x-events` describes the events.
- `memoryd schema` prints the copy that `make schema` writes. A test compares the two.
"""

from collections.abc import Iterator, Sequence
from typing import Any, Final

import msgspec
from msgspec import inspect

from memoryd.api.results import ANSWERS, Answers
from memoryd.api.rules import envelope, protocol
from memoryd.base import errors
from memoryd.base.events import Event, kind_of

Schema = dict[str, Any]

_REF: Final = "#/components/schemas/{name}"
_ABOUT: Final = (
    "memoryd listens on a Unix socket that only its user can open. One JSON object per line, or"
    " Content-Length headers as language servers have them: the first byte of a connection decides."
    " Errors have data.kind, for programs, and data.hint, which tells people what to type next."
)
_STANDARD_ERRORS: Final = {
    "parse-error": (envelope.PARSE_ERROR, "not valid JSON"),
    "invalid-request": (envelope.INVALID_REQUEST, "not a valid request"),
    "unknown-method": (envelope.METHOD_NOT_FOUND, "there is no such method"),
    "invalid-params": (envelope.INVALID_PARAMS, "the params do not match the method"),
    "bug": (envelope.INTERNAL_ERROR, "a bug in memoryd; the log has details"),
}
_OWN_ERRORS: Final[dict[type[errors.MemorydError], str]] = {
    errors.InvalidInput: "the params make no sense",
    errors.NotFound: "no such memory, session, checkpoint or version",
    errors.Conflict: "another program changed it first; nothing was overwritten",
    errors.Refused: "a safety rule forbids it",
    errors.ConfigError: "the settings cannot be used",
    errors.StorageError: "reading or writing a file failed",
    errors.Unavailable: "something that it needs is off, paused or missing",
    errors.AlreadyRunning: "another daemon serves this user",
}
# What no method answers: a request that never reaches one, and what only `memoryd serve` says.
_NOT_OF_A_METHOD: Final = {"parse-error", "invalid-request", "unknown-method", "already-running"}


def document(version: str) -> Schema:
    """The whole document, for this version of memoryd."""
    events = list(Event.__subclasses__())
    return {
        "openrpc": "1.3.2",
        "info": {
            "title": "memoryd",
            "version": version,
            "description": _ABOUT,
            "license": {"name": "MIT"},
        },
        "methods": [_method(name, answers) for name, answers in ANSWERS.items()],
        "components": {
            "schemas": _components(
                [one for answers in ANSWERS.values() for one in _results(answers)]
                + [envelope.ErrorData, *events]
            ),
            "errors": dict(sorted(_errors())),
        },
        "x-events": {
            "notification": "event",
            "kinds": {kind_of(one): _reference(one) for one in events},
        },
    }


def _method(name: str, answers: Answers) -> Schema:
    params = protocol.METHODS[name]
    (_,), found_params = msgspec.json.schema_components([params], schema_hook=_anything)
    schema = found_params[params.__name__]
    about = {"description": schema["description"]} if "description" in schema else {}
    found = [_reference(one) for one in _results(answers)]
    return {
        "name": name,
        "summary": answers.summary,
        **about,
        "paramStructure": "by-name",
        "params": [
            {"name": field, "required": field in schema["required"], "schema": of_field}
            for field, of_field in schema["properties"].items()
        ],
        "result": {
            "name": answers.result.__name__,
            "schema": found[0] if len(found) == 1 else {"anyOf": found},
        },
        "errors": [
            {"$ref": f"#/components/errors/{kind}"}
            for kind, _ in sorted(_errors())
            if kind not in _NOT_OF_A_METHOD
        ],
    }


def _results(answers: Answers) -> list[type[msgspec.Struct]]:
    return [answers.result, *([answers.otherwise] if answers.otherwise else [])]


def _reference(kind: type[msgspec.Struct]) -> Schema:
    return {"$ref": _REF.format(name=kind.__name__)}


def _components(kinds: Sequence[type[msgspec.Struct]]) -> dict[str, Schema]:
    """The schemas of these answers and of all that they hold, by name."""
    _, found = msgspec.json.schema_components(kinds, ref_template=_REF)
    structs = {one.__name__: one for kind in kinds for one in _structs_in(inspect.type_info(kind))}
    for name, schema in found.items():
        schema["required"] = [*_always_sent(structs[name], schema)]
        for field in schema["required"]:
            schema["properties"][field].pop("default", None)
    return dict(sorted(found.items()))


def _always_sent(kind: type[msgspec.Struct], schema: Schema) -> Iterator[str]:
    optional = {
        field.encode_name
        for field in msgspec.structs.fields(kind)
        if not field.required
        and (kind.__struct_config__.omit_defaults or field.default is msgspec.UNSET)
    }
    return (name for name in schema["properties"] if name not in optional)


def _structs_in(found: inspect.Type) -> Iterator[type[msgspec.Struct]]:
    match found:
        case inspect.StructType():
            yield found.cls
            for field in found.fields:
                yield from _structs_in(field.type)
        case inspect.UnionType():
            for one in found.types:
                yield from _structs_in(one)
        case inspect.ListType() | inspect.VarTupleType():
            yield from _structs_in(found.item_type)
        case inspect.DictType():
            yield from _structs_in(found.value_type)


def _anything(kind: type) -> Schema:
    """What the daemon takes as it is; any other type must have a schema of its own."""
    if kind is not object:
        raise TypeError(kind)
    return {"description": "any value"}


def _errors() -> Iterator[tuple[str, Schema]]:
    own = {one.kind: (one.code, words) for one, words in _OWN_ERRORS.items()}
    for kind, (code, words) in {**_STANDARD_ERRORS, **own}.items():
        yield kind, {"code": code, "message": words, "data": {"kind": kind, "hint": ""}}
