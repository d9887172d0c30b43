"""The commands about memories: list, show, remember, edit, forget."""

import sys

from memoryd_client.cli.commands import (
    Arguments,
    Commands,
    Parser,
    add_agent,
    add_anyway,
    add_as_of,
    add_json,
    add_memory,
    add_project,
    answer_to,
    whole_number,
    whose,
)
from memoryd_client.cli.editor import edited
from memoryd_client.cli.naming import SCOPES, TYPES, WHERE, description_for, name_for
from memoryd_client.cli.purge import purge
from memoryd_client.cli.render import one_line, paint, print_json, printable, table, wrapped
from memoryd_client.connection.answers import Json, number_at, objects_at, text_at
from memoryd_client.connection.call import call
from memoryd_client.connection.failures import LocalFailure
from memoryd_client.connection.memory_header import Memory

HEADING = ("FILE", "TYPE", "SCOPE", "AGE", "DESCRIPTION")


def given(**values: object) -> dict[str, object]:
    """Params without those that the person left out."""
    return {key: value for key, value in values.items() if value not in {None, "", False}}


def list_memories(arguments: Arguments) -> int:
    """Prints a line for each memory."""
    if arguments.limit == 0:
        raise LocalFailure("--limit needs a number above 0", "memoryd list --limit 20")
    params = given(
        **whose(arguments),
        scope=arguments.scope,
        type=arguments.type,
        retired=arguments.retired,
        as_of=arguments.as_of,
        forgotten=arguments.forgotten,
        limit=arguments.limit,
    )
    answer = call("memory/list", params)
    if arguments.json:
        print_json(answer)
        return 0
    memories = [Memory.read(item) for item in objects_at(answer, "memories")]
    for line in table([row_of(memory) for memory in memories], HEADING):
        print(line)
    left = number_at(answer, "total") - len(memories)
    if left > 0:
        print(f"... and {left:.0f} more")
    if arguments.forgotten:
        print("Bring one back with: memoryd restore FILE" if memories else "Nothing is forgotten.")
    elif not memories and arguments.as_of:
        print("No memories are known from that date.")
    elif not memories:
        print(wrapped('No memories here yet. Save one with: memoryd remember "..."'))
    return 0


def row_of(memory: Memory) -> tuple[str, ...]:
    age = "retired" if memory.retired else memory.age
    return (memory.file, memory.type, memory.scope, age, memory.description or memory.name)


def show(arguments: Arguments) -> int:
    """Prints one memory as its file has it, after what the file does not say."""
    answer = call("memory/get", {**whose(arguments), "path": arguments.memory})
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
    rows.append(("written by", text_at(answer, "author")))
    if not text_at(answer, "content").startswith("---"):
        described = [("name", memory.name), ("description", memory.description)]
        rows = [*described, ("type", memory.type), *rows]
    if memory.retired:
        by = text_at(answer, "superseded_by")
        rows.append(("retired", f"{by} replaced it" if by else "it no longer holds"))
    return [f"{key}: {one_line(value)}" for key, value in rows if value]


def remember(arguments: Arguments) -> int:
    """Saves a text as a memory and prints its path."""
    text = text_to_remember(arguments.text)
    if arguments.where and not arguments.agent:
        raise LocalFailure("--where goes with the name of an agent", "add --agent NAME")
    params = given(
        **whose(arguments),
        where=arguments.where,
        name=arguments.name or name_for(text),
        description=arguments.description or description_for(text),
        type=arguments.type,
        body=text,
        scope=arguments.scope or "auto",
        supersedes=arguments.supersedes,
        anyway=arguments.anyway,
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
        raise LocalFailure("there is nothing to remember", 'type: memoryd remember "..."')
    return text.strip()


def edit(arguments: Arguments) -> int:
    """Opens a memory in the person's editor and saves what they made of it."""
    wanted = {**whose(arguments), "path": arguments.memory}
    memory = call("memory/get", wanted)
    before, name = text_at(memory, "content"), one_line(text_at(memory, "file"))
    with edited(before) as after:
        if after == before:
            print_json({"changed": False}) if arguments.json else print(f"{name} is unchanged")
            return 0
        params = given(
            **whose(arguments),
            path=text_at(memory, "path"),
            content=after,
            version=int(number_at(memory, "version")),
            anyway=arguments.anyway,
        )
        answer = call("memory/edit", params)
    if arguments.json:
        print_json({"changed": True, **answer})
    else:
        print(f"changed {one_line(text_at(answer, 'path'))}. Undo: memoryd restore {name}")
    return 0


def forget(arguments: Arguments) -> int:
    """Removes a memory; the history keeps its last version.

    A person who named it loosely is asked first; a program has to name it exactly.
    """
    if arguments.purge:
        return purge(arguments)
    place = whose(arguments)
    memory = Memory.read(call("memory/get", {**place, "path": arguments.memory}))
    if not arguments.yes and not is_named_exactly(memory, arguments.memory):
        confirm(memory, arguments)
    answer = call("memory/forget", {**place, "path": memory.path or arguments.memory})
    if arguments.json:
        print_json(answer)
    else:
        file = one_line(memory.file or arguments.memory)
        only = " on this machine; for the whole team: memoryd team rm" if is_teams(memory) else ""
        print(f"forgot {file}{only}. Undo: memoryd restore {file}")
    return 0


def is_teams(memory: Memory) -> bool:
    return memory.scope == "team"


def is_named_exactly(memory: Memory, named: str) -> bool:
    """By its path or file, or by the title or the description that lists show."""
    stem = memory.file.removesuffix(".md")
    titles = {plain(memory.name), plain(memory.description)}
    places = {memory.path, memory.file, stem, f"{memory.scope}/{memory.file}"}
    return named in places or plain(named) in titles


def plain(title: str) -> str:
    return title.strip().rstrip(".").casefold()


def confirm(memory: Memory, arguments: Arguments) -> None:
    """Asks whether this is the memory that was meant; raises LocalFailure if not."""
    file = one_line(memory.file)
    if arguments.json or not sys.stdin.isatty():
        raise LocalFailure(
            f"{one_line(arguments.memory)} is not the name of a memory; {file} comes near",
            f"memoryd forget {file}",
        )
    print(f"{file}: {one_line(memory.description or memory.name)}")
    if answer_to("Forget this one? [Y/n] ", "y") not in {"y", "yes"}:
        raise LocalFailure("nothing was forgotten")


def add_scope(command: Parser, purpose: str) -> None:
    command.add_argument("--scope", metavar="SCOPE", choices=SCOPES, help=f"{purpose}: %(choices)s")


def add_commands(commands: Commands) -> None:
    listing = commands.add(
        "list",
        list_memories,
        "list the memories of this project",
        example="memoryd list --type feedback",
    )
    add_project(listing)
    add_agent(listing)
    add_scope(listing, "only memories of this scope")
    listing.add_argument(
        "--type", metavar="TYPE", choices=TYPES, help="only memories of this type: %(choices)s"
    )
    listing.add_argument(
        "--retired", action="store_true", help="include memories that were replaced or taken back"
    )
    listing.add_argument(
        "--forgotten", action="store_true", help="instead, what was forgotten and can be restored"
    )
    listing.add_argument(
        "--limit", metavar="N", type=whole_number, help="only the newest N of them"
    )
    add_as_of(listing)
    add_json(listing)

    showing = commands.add(
        "show",
        show,
        "print one memory",
        example="memoryd show feedback_use_tabs_makefiles.md",
    )
    add_memory(showing)
    add_project(showing)
    add_agent(showing)
    add_json(showing)

    saving = commands.add(
        "remember",
        remember,
        "save a memory, word for word",
        example='memoryd remember "Use tabs in Makefiles" --type feedback',
    )
    saving.add_argument(
        "text", metavar="TEXT", nargs="+", help="what to remember; - reads standard input"
    )
    add_project(saving)
    add_agent(saving)
    saving.add_argument(
        "--type",
        metavar="TYPE",
        choices=TYPES,
        default="feedback",
        help="what it is about: %(choices)s (default: %(default)s)",
    )
    saving.add_argument("--name", help="a short name (default: the first sentence)")
    saving.add_argument("--description", metavar="TEXT", help="one line that says when it matters")
    add_scope(saving, "where it is kept (default: where it holds)")
    saving.add_argument(
        "--where",
        metavar="SCOPE",
        choices=WHERE,
        help="which memory of the agent: %(choices)s (default: the one that it has)",
    )
    saving.add_argument("--supersedes", metavar="MEMORY", help="the memory that this one replaces")
    add_anyway(saving)
    add_json(saving)

    editing = commands.add(
        "edit",
        edit,
        "change a memory in your editor ($VISUAL or $EDITOR)",
        example="memoryd edit feedback_use_tabs_makefiles.md",
    )
    add_memory(editing)
    add_anyway(editing)
    add_project(editing)
    add_agent(editing)
    add_json(editing)

    forgetting = commands.add(
        "forget",
        forget,
        "remove a memory; memoryd restore brings it back",
        example="memoryd forget feedback_use_tabs_makefiles.md",
    )
    add_memory(forgetting)
    forgetting.add_argument(
        "--yes", action="store_true", help="do not ask, not even when the name is not exact"
    )
    forgetting.add_argument(
        "--purge",
        action="store_true",
        help="for good: also from history, inbox, notes, checkpoints and logs, and search for it",
    )
    add_project(forgetting)
    add_agent(forgetting)
    add_json(forgetting)
