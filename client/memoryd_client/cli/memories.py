"""The commands about memories: list, show, remember, forget."""

import sys

from memoryd_client.cli.commands import JSON, PROJECT, Argument, Arguments, Command, project_of
from memoryd_client.cli.naming import SCOPES, TYPES, description_for, name_for
from memoryd_client.cli.render import one_line, paint, print_json, printable, table, wrapped
from memoryd_client.connection.answers import Json, Memory, objects_at, text_at
from memoryd_client.connection.call import call
from memoryd_client.connection.failures import LocalFailure


def given(**values: object) -> dict[str, object]:
    """Params without those that the person left out."""
    return {key: value for key, value in values.items() if value not in {None, "", False}}


def list_memories(arguments: Arguments) -> int:
    """Print the headers of the memories that fit."""
    params = given(
        cwd=project_of(arguments),
        scope=arguments.scope,
        type=arguments.type,
        retired=arguments.retired,
        as_of=arguments.as_of,
    )
    answer = call("memory/list", params)
    if arguments.json:
        print_json(answer)
        return 0
    memories = [Memory.read(item) for item in objects_at(answer, "memories")]
    for line in table([row_of(memory) for memory in memories]):
        print(line)
    if not memories and arguments.as_of:
        print("Nothing is known of what was believed then.")
    elif not memories:
        print(wrapped('No memories here yet. Save one with: memoryd remember "..."'))
    return 0


def row_of(memory: Memory) -> tuple[str, ...]:
    name = memory.path.rpartition("/")[2]
    age = "retired" if memory.retired else memory.age
    return (name, memory.type, memory.scope, age, memory.description or memory.name)


def show(arguments: Arguments) -> int:
    """Print one memory as it is in its file, after what is known about it."""
    answer = call("memory/get", {"cwd": project_of(arguments), "path": arguments.memory})
    if arguments.json:
        print_json(answer)
        return 0
    for line in header_lines(answer):
        print(paint(line, "dim"))
    print()
    print(printable(text_at(answer, "content")).rstrip("\n"))
    return 0


def header_lines(answer: Json) -> list[str]:
    """What the text itself does not say."""
    memory = Memory.read(answer)
    age = f"{memory.age} (check it before you rely on it)" if memory.stale else memory.age
    rows = [("path", memory.path), ("scope", memory.scope), ("age", age)]
    if not text_at(answer, "content").startswith("---"):
        described = [("name", memory.name), ("description", memory.description)]
        rows = [*described, ("type", memory.type), *rows]
    if memory.retired:
        rows.append(("retired", "a newer memory has taken its place"))
    return [f"{key}: {one_line(value)}" for key, value in rows if value]


def remember(arguments: Arguments) -> int:
    """Save a text as a memory and say where it is."""
    text = text_to_remember(arguments.text)
    params = given(
        cwd=project_of(arguments),
        name=arguments.name or name_for(text),
        description=arguments.description or description_for(text),
        type=arguments.type,
        body=text,
        scope=arguments.scope,
        supersedes=arguments.supersedes,
    )
    answer = call("memory/save", params)
    if arguments.json:
        print_json(answer)
    else:
        print(f"remembered in {one_line(text_at(answer, 'path'))}")
    return 0


def text_to_remember(words: list[str]) -> str:
    """What the person typed, or standard input for a lone dash."""
    from_input = words == ["-"]
    text = sys.stdin.buffer.read().decode("utf-8", "replace") if from_input else " ".join(words)
    if not text.strip():
        raise LocalFailure("there is nothing to remember", 'say: memoryd remember "..."')
    return text.strip()


def forget(arguments: Arguments) -> int:
    """Remove a memory; its last version stays in the history."""
    answer = call("memory/forget", {"cwd": project_of(arguments), "path": arguments.memory})
    if arguments.json:
        print_json(answer)
    else:
        print(f"forgot {one_line(arguments.memory)}; version {answer.get('version')} is kept")
    return 0


MEMORY = Argument(("memory",), "a file name as `memoryd list` shows it, or a path", "NAME")
SCOPE = Argument(("--scope",), "whose memory it is", choices=SCOPES)

COMMANDS = (
    Command(
        "list",
        "show the memories of this project",
        "memoryd list --type feedback",
        list_memories,
        (
            PROJECT,
            SCOPE,
            Argument(("--type",), "only memories of this type", choices=TYPES),
            Argument(("--retired",), "also those that newer ones replaced", is_switch=True),
            Argument(("--as-of",), "what was believed at a date (2026-03-30)", "DATE"),
            JSON,
        ),
    ),
    Command(
        "show",
        "print one memory",
        "memoryd show feedback_use_tabs_in_makefiles.md",
        show,
        (MEMORY, PROJECT, JSON),
    ),
    Command(
        "remember",
        "save a memory, word for word",
        'memoryd remember "Use tabs in Makefiles" --type feedback',
        remember,
        (
            Argument(
                ("text",), "what to remember; - reads it from input", "TEXT", is_repeated=True
            ),
            PROJECT,
            Argument(("--type",), "what it is about", choices=TYPES, default="feedback"),
            Argument(("--name",), "a short name (the first words, if not given)"),
            Argument(("--description",), "one line that says when it matters"),
            SCOPE,
            Argument(("--supersedes",), "the memory that this one replaces", "NAME"),
            JSON,
        ),
    ),
    Command(
        "forget",
        "remove a memory; the history keeps its last version",
        "memoryd forget feedback_use_tabs_in_makefiles.md",
        forget,
        (MEMORY, PROJECT, JSON),
    ),
)
