"""The OpenRPC document: current, whole, and valid by its own schemas."""

import json
import re
from collections.abc import Iterator
from typing import Any, get_args

import jsonschema
import pytest

import generate_schema
from memoryd.api import openrpc
from memoryd.api.results import ANSWERS, Result
from memoryd.api.rules import protocol
from memoryd.base import errors, events
from memoryd_client.cli import main
from tests.test_docs import params_of

DOCUMENT: dict[str, Any] = openrpc.document("1.2.3")
METHODS = {one["name"]: one for one in DOCUMENT["methods"]}


@pytest.mark.parametrize("path", generate_schema.generated(), ids=lambda path: path.name)
def test_the_generated_file_is_current(path: Any) -> None:
    assert path.read_text("utf-8") == generate_schema.generated()[path], "run: make schema"


def test_the_command_prints_the_document(capsys: pytest.CaptureFixture[str]) -> None:
    assert main.main(["schema"]) == 0
    assert capsys.readouterr().out == main.OPENRPC.read_text("utf-8")


def test_every_method_has_one_result_type_and_every_result_type_a_method() -> None:
    assert ANSWERS.keys() == protocol.METHODS.keys()
    told = {one.result for one in ANSWERS.values()} | {one.otherwise for one in ANSWERS.values()}
    assert told - {None} == set(get_args(Result))


def test_every_method_is_told_with_its_params() -> None:
    told = {
        name: [one["name"] + "?" * (not one["required"]) for one in method["params"]]
        for name, method in METHODS.items()
    }
    assert told == {name: params_of(kind) for name, kind in protocol.METHODS.items()}


def test_params_have_their_limits_and_their_words() -> None:
    params = {one["name"]: one["schema"] for one in METHODS["memory/save"]["params"]}
    assert params["type"] == {"enum": ["feedback", "project", "reference", "user"]}
    assert params["by"] == {"enum": ["agent", "user"], "default": "user"}
    days = METHODS["cost"]["params"][0]["schema"]
    assert (days["minimum"], days["maximum"], days["default"]) == (1, 3660, 30)


def test_what_an_answer_always_has_is_required_and_what_it_may_leave_out_is_not() -> None:
    schemas = DOCUMENT["components"]["schemas"]
    assert schemas["SwitchAnswer"]["required"] == ["enabled"]
    assert schemas["HistoryAnswer"]["required"] == ["versions"]
    assert "problems" in schemas["Pong"]["required"]
    assert "default" not in schemas["Pong"]["properties"]["problems"]


def test_every_error_and_every_event_is_told() -> None:
    own = [one for one in errors.MemorydError.__subclasses__() if one.__module__ == errors.__name__]
    told = DOCUMENT["components"]["errors"]
    assert {(one.kind, one.code) for one in own} <= {(k, one["code"]) for k, one in told.items()}
    assert all(one["data"]["kind"] == kind for kind, one in told.items())
    kinds = DOCUMENT["x-events"]["kinds"]
    assert set(kinds) == set(events.KINDS)
    for kind, reference in kinds.items():
        assert resolved(reference["$ref"])["properties"]["kind"] == {"enum": [kind]}


def resolved(reference: str) -> Any:
    value: Any = DOCUMENT
    for part in reference.removeprefix("#/").split("/"):
        value = value[part]
    return value


def references(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        yield from [value["$ref"]] if "$ref" in value else []
        for one in value.values():
            yield from references(one)
    if isinstance(value, list):
        for one in value:
            yield from references(one)


def test_every_reference_leads_somewhere_and_every_schema_is_used() -> None:
    found = set(references(DOCUMENT))
    assert all(resolved(one) for one in found)
    unused = {f"#/components/schemas/{name}" for name in DOCUMENT["components"]["schemas"]} - found
    assert unused == {"#/components/schemas/ErrorData"}


def test_every_schema_is_one_and_is_named_by_one_word() -> None:
    schemas = DOCUMENT["components"]["schemas"]
    for name, schema in schemas.items():
        assert re.fullmatch("[A-Z][A-Za-z]+", name)
        jsonschema.Draft202012Validator.check_schema(schema)
    for method in METHODS.values():
        for one in method["params"]:
            jsonschema.Draft202012Validator.check_schema(one["schema"])


# What OpenRPC 1.3 allows and demands of each object.
SHAPES: dict[str, tuple[set[str], set[str]]] = {
    "document": ({"openrpc", "info", "methods"}, {"components", "x-events"}),
    "info": ({"title", "version"}, {"description", "license"}),
    "method": (
        {"name", "params", "result"},
        {"summary", "description", "paramStructure", "errors"},
    ),
    "descriptor": ({"name", "schema"}, {"required", "summary", "description"}),
    "error": ({"code", "message"}, {"data"}),
}


def has_shape(shape: str, value: dict[str, Any]) -> bool:
    demanded, allowed = SHAPES[shape]
    return demanded <= value.keys() <= demanded | allowed


def test_the_document_has_the_shape_of_the_standard() -> None:
    assert DOCUMENT["openrpc"] == "1.3.2"
    assert has_shape("document", DOCUMENT)
    assert has_shape("info", DOCUMENT["info"])
    for method in METHODS.values():
        assert has_shape("method", method)
        assert method["paramStructure"] == "by-name"
        assert all(has_shape("descriptor", one) for one in [*method["params"], method["result"]])
    assert all(has_shape("error", one) for one in DOCUMENT["components"]["errors"].values())
    assert json.loads(json.dumps(DOCUMENT)) == DOCUMENT
