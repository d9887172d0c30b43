"""The tools and resources that an MCP client sees, and what each asks of the daemon.

Arguments go to the daemon as they are: it checks them, and its error names the field.
"""

import os
from collections.abc import Callable
from typing import NamedTuple

from memoryd_client.cli.naming import SCOPES, TYPES, description_for, name_for
from memoryd_client.connection.answers import (
    Json,
    Memory,
    is_true_at,
    number_at,
    objects_at,
    text_at,
)
from memoryd_client.connection.failures import Failure, LocalFailure

CALL_SECONDS = 10.0
RECALL_SECONDS = 5.0
INDEX = "memory://index"
TOPIC = "memory://topic/"

Schema = dict[str, object]


class Tool(NamedTuple):
    """One tool; `run` takes the arguments and returns the text for the model."""

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
        raise LocalFailure("the project's folder is gone", "restart the agent") from error


def session_id() -> str:
    """The session that the client runs; empty if it does not say."""
    return os.environ.get("CLAUDE_CODE_SESSION_ID", "")


def call(method: str, params: Json, timeout_seconds: float = CALL_SECONDS) -> Json:
    """The daemon's answer; sockets are imported late, so that the agent's handshake is fast."""
    from memoryd_client.connection import call as connection  # noqa: PLC0415 - see above

    return connection.call(method, params, timeout_seconds)


def params(**values: object) -> dict[str, object]:
    """The daemon's params, without what the model left out or left empty."""
    return {"cwd": cwd()} | {key: value for key, value in values.items() if value not in (None, "")}


def recall(arguments: Json) -> str:
    """Memories that this session does not have yet; if there are none, those that it has."""
    question = params(
        query=arguments.get("query"), limit=arguments.get("limit"), agent=arguments.get("agent")
    )
    session = session_id()
    for_session = question | {"session_id": session} if session else question
    found = text_at(call("recall", for_session, RECALL_SECONDS), "text")
    if not found and session:
        found = text_at(call("recall", question, RECALL_SECONDS), "text")
    return found or "No memory matches this."


def remember(arguments: Json) -> str:
    text = text_at(arguments, "text")
    memory = params(
        name=arguments.get("name") or name_for(text),
        type=arguments.get("type"),
        body=arguments.get("text"),
        scope=arguments.get("scope"),
        supersedes=arguments.get("supersedes"),
        session_id=session_id(),
        agent=arguments.get("agent"),
        by="agent",
    ) | {"description": arguments.get("description") or description_for(text)}
    return f"Saved as {text_at(call('memory/save', memory), 'path')}."


def forget(arguments: Json) -> str:
    memory = arguments.get("memory")
    call("memory/forget", params(path=memory, agent=arguments.get("agent"), by="agent"))
    return f"Forgotten. The person can undo this with: memoryd restore {memory}"


def list_memories(arguments: Json) -> str:
    wanted = params(
        type=arguments.get("type"),
        scope=arguments.get("scope"),
        retired=arguments.get("retired"),
        agent=arguments.get("agent"),
    )
    found = [Memory.read(one) for one in objects_at(call("memory/list", wanted), "memories")]
    return "\n".join(map(line_of, found)) or "There are no memories yet."


def line_of(memory: Memory) -> str:
    about = f"{memory.scope} scope, {memory.age}{', retired' if memory.retired else ''}"
    return f"- [{memory.type}] {memory.file} ({about}): {memory.description}"


def history(arguments: Json) -> str:
    version = arguments.get("version")
    answer = call("memory/history", params(path=arguments.get("memory"), version=version))
    if version is not None:
        return text_at(answer, "content")
    return "\n".join(map(version_line, objects_at(answer, "versions")))


def version_line(one: Json) -> str:
    size = int(number_at(one, "bytes"))
    what = f"{size} bytes" if text_at(one, "sha256") else "removed"
    number, cause = int(number_at(one, "version")), text_at(one, "cause")
    return f"- version {number}: by {cause}, {what}, at {text_at(one, 'at')}"


def sort_inbox(arguments: Json) -> str:
    """Keeps some statements and drops others, one call each, and says what became of each."""
    decisions = list(objects_at(arguments, "decisions"))
    if not decisions:
        raise LocalFailure("there is nothing to sort", "give decisions, one for each id")
    lines: list[str] = []
    failures: list[Failure] = []
    for decision in decisions:
        try:
            lines.append(sorted_one(decision))
        except Failure as failure:
            failures.append(failure)
            number = int(number_at(decision, "id"))
            lines.append(f"{number}: {failure.message} ({failure.hint})")
    if len(failures) == len(decisions):
        raise failures[0]
    return "\n".join(lines)


def sorted_one(decision: Json) -> str:
    number = int(number_at(decision, "id"))
    if not is_true_at(decision, "keep"):
        call("inbox/reject", {"ids": [number], "by": "agent"})
        return f"{number}: dropped"
    text, type_ = text_at(decision, "text").strip(), text_at(decision, "type")
    if not text and not type_:
        answer = call("inbox/accept", {"ids": [number], "by": "agent"})
    else:
        changed = {"ids": [number], "text": text or None, "type": type_ or None, "by": "agent"}
        answer = call("inbox/edit", changed)
    return "".join(
        f"{number}: saved as {text_at(one, 'path')}" for one in objects_at(answer, "kept")
    )


def tools_now() -> list[Tool]:
    """The tools that make sense here: only an agent that is the reviewer sorts the inbox."""
    try:
        reviewer = text_at(call("inbox/list", params(), RECALL_SECONDS), "reviewer")
    except Failure:
        reviewer = ""
    return [tool for tool in TOOLS if tool.name != "sort_inbox" or reviewer == "agent"]


AGENT = words("your own name, if you are a sub-agent with a memory of its own")
MEMORY = words("the memory's file name, or its title")

TOOLS = (
    Tool(
        "recall",
        "Recall memories",
        "Finds what is remembered about a question: decisions, preferences, corrections, where to "
        "look. Use it before you assume how this person or project works. Each memory has its age; "
        "check an old one against the code before you rely on it.",
        {
            "query": words("what you want to know, in a sentence or a few words"),
            "limit": {
                "type": "integer",
                "minimum": 1,
                "maximum": 20,
                "description": "at most this many memories (default: 5)",
            },
            "agent": AGENT,
        },
        ("query",),
        recall,
        only_reads=True,
    ),
    Tool(
        "remember",
        "Remember something",
        "Saves one thing for later sessions. Use it when the person asks you to remember, corrects "
        "how you work, or says what the code cannot show. Not for what the repository already "
        "says, and never for secrets.",
        {
            "text": words("what to remember; for feedback and project facts, also why"),
            "type": words(
                "user: who the person is; feedback: how to work; project: what is going on; "
                "reference: where to look outside the repository",
                enum=list(TYPES),
            ),
            "name": words("a short title (default: the first sentence of the text)"),
            "description": words("one line that says when it matters"),
            "scope": words(
                "user: for all projects; group: for this one and its sisters (default: project)",
                enum=list(SCOPES),
            ),
            "supersedes": words("an older memory that this one replaces"),
            "agent": AGENT,
        },
        ("text", "type"),
        remember,
        only_reads=False,
    ),
    Tool(
        "forget",
        "Forget a memory",
        "Removes a memory that is wrong or no longer wanted. Its history stays.",
        {"memory": MEMORY, "agent": AGENT},
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
            "retired": {"type": "boolean", "description": "include memories that were replaced"},
            "agent": AGENT,
        },
        (),
        list_memories,
        only_reads=True,
    ),
    Tool(
        "history",
        "History of a memory",
        "Lists the versions of a memory, newest first; with a version, returns its text.",
        {
            "memory": MEMORY,
            "version": {"type": "integer", "minimum": 1, "description": "show this version's text"},
        },
        ("memory",),
        history,
        only_reads=True,
    ),
    Tool(
        "sort_inbox",
        "Sort the inbox",
        "Decides about statements that memoryd quoted at the start of the session: keep what would "
        "still be wanted in another task next week, drop the rest. Say nothing about it.",
        {
            "decisions": {
                "type": "array",
                "minItems": 1,
                "maxItems": 20,
                "items": {
                    "type": "object",
                    "properties": {
                        "id": {"type": "integer", "description": "the number before the quotation"},
                        "keep": {"type": "boolean"},
                        "text": words("a clearer wording to keep, if the quotation needs one"),
                        "type": words("what it is about, if you know better", enum=list(TYPES)),
                    },
                    "required": ["id", "keep"],
                    "additionalProperties": False,
                },
            }
        },
        ("decisions",),
        sort_inbox,
        only_reads=False,
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
            "uri": f"{TOPIC}{memory.file}",
            "name": memory.name,
            "description": memory.description,
            "mimeType": "text/markdown",
        }
        for memory in found
    ]


def resource_text(uri: str) -> str:
    """The text of a resource; raises Failure if it does not exist."""
    if uri == INDEX:
        return list_memories({})
    if not uri.startswith(TOPIC):
        raise LocalFailure(f"there is no resource {uri!r}", "resources/list lists them")
    return text_at(call("memory/get", params(path=uri.removeprefix(TOPIC))), "content")
