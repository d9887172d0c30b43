"""The typed half of the Python client, as source: made from the OpenRPC document by `make schema`.

- `wire_types`: a TypedDict for each answer, and for each event.
- `calls`: a method for each method of the socket, once for `Memory` and once for `AsyncMemory`.
  The project's folder (`cwd`) and who asks (`by`) are the client's to add.
"""

import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

Schema = dict[str, Any]

PLAIN = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None"}
NOT_CALLED = {"events/subscribe"}  # `events()` does it
ADDED = {"cwd", "by"}
REF = "#/components/schemas/"
IMPORTS = """from collections.abc import Mapping, Sequence
from typing import Any, Literal

"""
# What a stream of events tells by itself.
RECONNECTED: Schema = {
    "description": "The daemon was away; events may have been missed.",
    "properties": {"kind": {"enum": ["client/reconnected"]}, "project": {"type": "string"}},
    "required": ["kind", "project"],
}


def wire_types(document: Schema) -> str:
    schemas = document["components"]["schemas"]
    events = [name_in(one) for one in document["x-events"]["kinds"].values()]
    parts = [
        '"""What the daemon answers and tells. Written by `make schema`."""',
        "from typing import Literal, NotRequired, TypedDict",
        *(typed_dict(name, schemas[name]) for name in in_order(schemas)),
        typed_dict("Reconnected", RECONNECTED),
        f"Event = {' | '.join(sorted([*events, 'Reconnected']))}",
        f"EventKind = Literal[{', '.join(map(quoted, document['x-events']['kinds']))}]",
    ]
    return formatted("\n\n\n".join(parts))


def calls(document: Schema) -> str:
    methods = [one for one in document["methods"] if one["name"] not in NOT_CALLED]
    used = {name for one in methods for name in names_in(one["result"]["schema"])}
    names = ", ".join(sorted(used, key=str.lower))
    parts = [
        '"""One method for each method of the socket. Written by `make schema`."""',
        IMPORTS + f"from memoryd_client.library.wire_types import {names}",
        class_of("Calls", methods, "", ""),
        class_of("AsyncCalls", methods, "async ", "await "),
    ]
    return formatted("\n\n\n".join(parts))


def class_of(name: str, methods: list[Schema], how: str, waits: str) -> str:
    head = f'''class {name}:
    """Every question that the daemon answers, about the project of one folder."""

    {how}def _ask(self, method: str, params: Mapping[str, object]) -> Any:
        """The result of one request, with the folder added to the params that are not None."""
        raise NotImplementedError
'''
    return "\n".join(
        [head, *(textwrap.indent(method_of(one, how, waits), "    ") for one in methods)]
    )


def method_of(method: Schema, how: str, waits: str) -> str:
    params = [one for one in method["params"] if one["name"] not in ADDED]
    needed = [f"{one['name']}: {param_type(one['schema'])}" for one in params if one["required"]]
    optional = [
        f"{one['name']}: {param_type(one['schema'])} = {one['schema'].get('default')!r}"
        if not isinstance(one["schema"].get("default"), dict | list)
        else f"{one['name']}: {param_type(one['schema'])} | None = None"
        for one in params
        if not one["required"]
    ]
    signature = ", ".join(["self", *needed, *(["*", *optional] if optional else [])])
    given = ", ".join(f"{quoted(one['name'])}: {one['name']}" for one in params)
    result = type_of(method["result"]["schema"])
    about = method["summary"] + "."
    if "description" in method:
        about += "\n\n" + method["description"] + "\n"
    return f"""
{how}def {python_name(method["name"])}({signature}) -> {result}:
    {docstring(about)}
    answer: {result} = {waits}self._ask({quoted(method["name"])}, {{{given}}})
    return answer
"""


def python_name(method: str) -> str:
    """`memory/list` is `list`, any other name has its family before it."""
    return method.removeprefix("memory/").replace("/", "_")


def param_type(schema: Schema) -> str:
    """As wide as it can be: callers may give any sequence."""
    return type_of(schema).replace("list[", "Sequence[").replace("dict[", "Mapping[")


def typed_dict(name: str, schema: Schema) -> str:
    about = [docstring(schema["description"]), ""] if "description" in schema else []
    fields = [
        f"{field}: {kind if field in schema['required'] else f'NotRequired[{kind}]'}"
        for field, kind in ((field, type_of(one)) for field, one in schema["properties"].items())
    ]
    body = "\n".join([*about, *fields]) or "pass"
    return f"class {name}(TypedDict):\n{textwrap.indent(body, '    ')}"


def docstring(text: str) -> str:
    """The text in quotes, its lines for a block that is indented by four blanks."""
    lines = [line for part in text.strip().split("\n") for line in textwrap.wrap(part, 88) or [""]]
    first, *rest = lines
    closing = '"""' if not rest else '\n    """'
    return "\n".join([f'"""{first}', *(f"    {one}".rstrip() for one in rest)]) + closing


def type_of(schema: Schema) -> str:
    if "$ref" in schema:
        return name_in(schema)
    if "anyOf" in schema:
        return " | ".join(type_of(one) for one in schema["anyOf"])
    if "enum" in schema:
        return f"Literal[{', '.join(map(quoted, schema['enum']))}]"
    kind = schema.get("type")
    if kind == "array":
        return f"list[{type_of(schema.get('items', {}))}]"
    if kind == "object":
        return f"dict[str, {type_of(schema.get('additionalProperties', {}))}]"
    return PLAIN.get(str(kind), "object")


def name_in(reference: Schema) -> str:
    return str(reference["$ref"]).removeprefix(REF)


def names_in(schema: object) -> Iterator[str]:
    if isinstance(schema, dict):
        yield from [name_in(schema)] if "$ref" in schema else []
        for one in schema.values():
            yield from names_in(one)
    if isinstance(schema, list):
        for one in schema:
            yield from names_in(one)


def in_order(schemas: dict[str, Schema]) -> list[str]:
    """Each type after those that it holds."""
    ordered: list[str] = []

    def put(name: str) -> None:
        if name not in ordered:
            for other in names_in(schemas[name]):
                put(other)
            ordered.append(name)

    for name in schemas:
        put(name)
    return ordered


def quoted(text: str) -> str:
    return f'"{text}"'


def formatted(source: str) -> str:
    """The source as `make lint` wants it."""
    ruff = Path(sys.executable).with_name("ruff")
    done = subprocess.run(  # noqa: S603 - our own formatter
        [ruff, "format", "--line-length", "100", "-"],
        input=source,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout
