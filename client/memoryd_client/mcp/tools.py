"""The tools and resources that an MCP client sees, and what each asks of the daemon."""

import os
from collections.abc import Callable, Mapping
from typing import NamedTuple

from memoryd_client.cli.naming import SCOPES, TYPES, description_for, name_for
from memoryd_client.connection.answers import (
    Json,
    Memory,
    as_object,
    items_at,
    number_at,
    objects_at,
    text_at,
)
from memoryd_client.connection.failures import LocalFailure

CALL_SECONDS = 10.0
RECALL_SECONDS = 5.0
INDEX = "memory://index"
TOPIC = "memory://topic/"

Schema = dict[str, object]


class Tool(NamedTuple):
    """One tool: `run` takes the arguments and returns the text that the model reads."""

    name: str
    title: str
    description: str
    properties: Schema
    required: tuple[str, ...]
    run: Callable[[Json], str]
    only_reads: bool


def words(description: str, **more: object) -> Schema:
    return {"type": "string", "description": description, **more}


def cwd() -> str:
    """The project that the client works in."""
    try:
        return os.environ.get("CLAUDE_PROJECT_DIR") or str(os.getcwd())  # noqa: PTH109 - pathlib is slow to load
    except FileNotFoundError as error:
        raise LocalFailure("the project's folder is gone", "start the agent again") from error


def call(method: str, params: Json, timeout_seconds: float = CALL_SECONDS) -> Json:
    """The daemon's answer; sockets are loaded for the first one, after the agent was greeted."""
    from memoryd_client.connection import call as door  # noqa: PLC0415 - see above

    return door.call(method, params, timeout_seconds)


def params(**values: object) -> dict[str, object]:
    return {"cwd": cwd()} | {key: value for key, value in values.items() if value}


def recall(arguments: Json) -> str:
    """What this session has not been given yet; when that is nothing, what it has."""
    asked = params(
        query=text_at(arguments, "query"),
        limit=int(number_at(arguments, "limit")),
    )
    session = os.environ.get("CLAUDE_CODE_SESSION_ID", "")
    new = asked | {"session_id": session} if session else asked
    found = text_at(call("recall", new, RECALL_SECONDS), "text")
    if not found and session:
        found = text_at(call("recall", asked, RECALL_SECONDS), "text")
    return found or "Nothing in memory fits this."


def remember(arguments: Json) -> str:
    text = text_at(arguments, "text")
    asked = params(
        name=text_at(arguments, "name") or name_for(text),
        description=text_at(arguments, "description") or description_for(text),
        type=text_at(arguments, "type"),
        body=text,
        scope=text_at(arguments, "scope"),
        supersedes=text_at(arguments, "supersedes"),
        by="agent",
    )
    return f"Saved as {text_at(call('memory/save', asked), 'path')}."


def forget(arguments: Json) -> str:
    answer = call("memory/forget", params(path=text_at(arguments, "memory"), by="agent"))
    kept = int(number_at(answer, "version"))
    return f"Forgotten. The history keeps it as version {kept}; memoryd restore brings it back."


def list_memories(arguments: Json) -> str:
    asked = params(
        type=text_at(arguments, "type"),
        scope=text_at(arguments, "scope"),
        retired=arguments.get("retired") is True,
    )
    found = [Memory.read(one) for one in objects_at(call("memory/list", asked), "memories")]
    return "\n".join(map(line_of, found)) or "There are no memories yet."


def line_of(memory: Memory) -> str:
    mark = ", retired" if memory.retired else ""
    file = memory.path.rpartition("/")[2]
    return f"- [{memory.type}] {file} ({memory.scope}, {memory.age}{mark}): {memory.description}"


def history(arguments: Json) -> str:
    version = int(number_at(arguments, "version"))
    answer = call("memory/history", params(path=text_at(arguments, "memory"), version=version))
    if version:
        return text_at(answer, "content")
    return "\n".join(map(version_line, objects_at(answer, "versions")))


def version_line(one: Json) -> str:
    size = int(number_at(one, "bytes"))
    what = f"{size} bytes" if text_at(one, "sha256") else "removed"
    number, cause = int(number_at(one, "version")), text_at(one, "cause")
    return f"- version {number}: by {cause}, {what}, at {text_at(one, 'at')}"


MEMORY = words("the memory's file name, or its title")

TOOLS = (
    Tool(
        "recall",
        "Recall memories",
        "Finds what is remembered about a question: decisions, preferences, corrections, places to "
        "look. Ask before you assume how this person or project works. Each memory comes with its "
        "age; check an old one against the code before you rely on it.",
        {
            "query": words("what you want to know, in a sentence or a few words"),
            "limit": {
                "type": "integer",
                "minimum": 1,
                "maximum": 20,
                "description": "how many memories at the most; 5 if not given",
            },
        },
        ("query",),
        recall,
        only_reads=True,
    ),
    Tool(
        "remember",
        "Remember something",
        "Saves one thing for later sessions. Use it when the person asks you to remember, corrects "
        "how you work, or tells what the code cannot show. Not for what the repository says "
        "already, and never for secrets.",
        {
            "text": words("what to remember; for feedback and project facts also why it is so"),
            "type": words(
                "user: who the person is; feedback: how to work; project: what is going on; "
                "reference: where to look outside the repository",
                enum=list(TYPES),
            ),
            "name": words("a short title; the first words of the text if not given"),
            "description": words("one line that tells whether to open it"),
            "scope": words("project if not given; user follows the person", enum=list(SCOPES)),
            "supersedes": words("an older memory that this one replaces"),
        },
        ("text", "type"),
        remember,
        only_reads=False,
    ),
    Tool(
        "forget",
        "Forget a memory",
        "Removes a memory that is wrong or not wanted any more. Its history stays.",
        {"memory": MEMORY},
        ("memory",),
        forget,
        only_reads=False,
    ),
    Tool(
        "list_memories",
        "List memories",
        "Lists what is remembered here, newest first, one line each.",
        {
            "type": words("only this type", enum=list(TYPES)),
            "scope": words("only this scope", enum=list(SCOPES)),
            "retired": {"type": "boolean", "description": "also those that were replaced"},
        },
        (),
        list_memories,
        only_reads=True,
    ),
    Tool(
        "history",
        "History of a memory",
        "Lists the versions of a memory, newest first; with a version, the text it had then.",
        {
            "memory": MEMORY,
            "version": {"type": "integer", "minimum": 1, "description": "show this version's text"},
        },
        ("memory",),
        history,
        only_reads=True,
    ),
)


def tool_json(tool: Tool) -> Schema:
    return {
        "name": tool.name,
        "title": tool.title,
        "description": tool.description,
        "inputSchema": {
            "type": "object",
            "properties": tool.properties,
            "required": list(tool.required),
            "additionalProperties": False,
        },
        "annotations": {
            "readOnlyHint": tool.only_reads,
            "destructiveHint": tool.name == "forget",
            "openWorldHint": False,
        },
    }


def wrong_arguments(tool: Tool, arguments: Mapping[str, object]) -> str:
    """What a caller must mend in its arguments; empty when nothing."""
    unknown = [name for name in arguments if name not in tool.properties]
    if unknown:
        return f"{tool.name} has no {', '.join(unknown)}; it has {', '.join(tool.properties)}"
    missing = [name for name in tool.required if is_blank(arguments.get(name))]
    if missing:
        return f"{tool.name} needs {', '.join(missing)}"
    complaints = (
        f"{name} must be {wanted}"
        for name, value in arguments.items()
        if (wanted := what_is_wanted(as_object(tool.properties[name]), value))
    )
    return "; ".join(complaints)


def is_blank(value: object) -> bool:
    return value is None or (isinstance(value, str) and not value.strip())


def what_is_wanted(schema: Json, value: object) -> str:
    """What a value of this schema is, for one that is not; empty where it is."""
    kind, choices = text_at(schema, "type"), items_at(schema, "enum")
    if kind == "boolean":
        return "" if isinstance(value, bool) else "true or false"
    if kind == "integer":
        least, most = number_at(schema, "minimum"), number_at(schema, "maximum")
        fits = isinstance(value, int) and not isinstance(value, bool) and value >= least
        if fits and not (most and isinstance(value, int) and value > most):
            return ""
        return f"a whole number from {least}" + (f" to {most}" if most else "")
    if choices:
        return "" if value in choices else f"one of {', '.join(map(str, choices))}"
    return "" if isinstance(value, str) else "text"


def resources() -> list[Schema]:
    """The index, and one resource for each memory."""
    found = [Memory.read(one) for one in objects_at(call("memory/list", params()), "memories")]
    index: Schema = {
        "uri": INDEX,
        "name": "index",
        "title": "What is remembered here",
        "mimeType": "text/markdown",
    }
    return [index] + [
        {
            "uri": f"{TOPIC}{memory.path.rpartition('/')[2]}",
            "name": memory.name,
            "description": memory.description,
            "mimeType": "text/markdown",
        }
        for memory in found
    ]


def resource_text(uri: str) -> str:
    """The text behind a resource's address; the daemon says when there is none."""
    if uri == INDEX:
        return list_memories({})
    if not uri.startswith(TOPIC):
        raise LocalFailure(f"there is no resource {uri!r}", "resources/list shows them")
    return text_at(call("memory/get", params(path=uri.removeprefix(TOPIC))), "content")
