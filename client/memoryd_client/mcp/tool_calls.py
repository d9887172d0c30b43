"""What each tool and resource of the MCP server asks of the daemon.

Arguments go to the daemon as they are: it checks them, and its error names the field.
"""

import os
from collections.abc import Callable
from pathlib import Path
from types import MappingProxyType

from memoryd_client.cli.naming import description_for, name_for
from memoryd_client.connection.answers import Json, is_true_at, number_at, objects_at, text_at
from memoryd_client.connection.call import call
from memoryd_client.connection.failures import Failure, LocalFailure
from memoryd_client.connection.memory_header import Memory
from memoryd_client.mcp.tools import INDEX, TOPIC, Schema

RECALL_SECONDS = 5.0


def cwd() -> str:
    """The project that the client works in."""
    try:
        return os.environ.get("CLAUDE_PROJECT_DIR") or str(Path.cwd())
    except FileNotFoundError as error:
        raise LocalFailure("the project's folder is gone", "restart the agent") from error


def session_id() -> str:
    """The session that the client runs; empty if it does not say."""
    return os.environ.get("CLAUDE_CODE_SESSION_ID", "")


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


# Each takes the arguments of a tool and returns the text for the model.
CALLS: MappingProxyType[str, Callable[[Json], str]] = MappingProxyType(
    {
        "recall": recall,
        "remember": remember,
        "forget": forget,
        "list_memories": list_memories,
        "history": history,
        "sort_inbox": sort_inbox,
    }
)
