"""The tools that an MCP client sees; `tool_calls` has what each asks of the daemon.

The first list of them is waited for, so this loads nothing that takes a while.
"""

from __future__ import annotations

import posix
import sys

from memoryd_client import hook
from memoryd_client.cli.naming import SCOPES, TYPES
from memoryd_client.connection import quick_json
from memoryd_client.connection.answers import as_object, object_at, text_at

REVIEWER_SECONDS = 5.0
INBOX_BYTES = 64 * 1024 * 1024
INDEX = "memory://index"
TOPIC = "memory://topic/"

Schema = dict[str, object]


class Tool:
    """One tool; a model reads all of it."""

    def __init__(
        self,
        name: str,
        title: str,
        description: str,
        properties: Schema,
        required: tuple[str, ...],
        *,
        only_reads: bool,
    ) -> None:
        self.name = name
        self.title = title
        self.description = description
        self.properties = properties
        self.required = required
        self.only_reads = only_reads


def words(description: str, **more: object) -> Schema:
    return {"type": "string", "description": description, **more}


def tools_now() -> list[Tool]:
    """The tools that make sense here: only an agent that is the reviewer sorts the inbox."""
    return [tool for tool in TOOLS if tool.name != "sort_inbox" or reviewer() == "agent"]


def reviewer() -> str:
    """Who sorts the inbox of this project; empty if the daemon does not say."""
    try:
        folder = posix.environ.get(b"CLAUDE_PROJECT_DIR") or posix.getcwdb()
        params = {"cwd": folder.decode("utf-8", "surrogateescape")}
        request = {"jsonrpc": "2.0", "id": 1, "method": "inbox/list", "params": params}
        path = hook.found_socket(posix.environ, posix.getuid(), sys.platform)
        if not hook.is_ours(path, posix.getuid()):
            return ""
        line = quick_json.dumps(request) + b"\n"
        answer = hook.ask(path, line, REVIEWER_SECONDS, INBOX_BYTES)
        return text_at(object_at(as_object(quick_json.loads(answer)), "result"), "reviewer")
    except (OSError, ValueError):
        return ""


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
        only_reads=False,
    ),
    Tool(
        "forget",
        "Forget a memory",
        "Removes a memory that is wrong or no longer wanted. Its history stays.",
        {"memory": MEMORY, "agent": AGENT},
        ("memory",),
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
