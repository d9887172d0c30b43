"""The commands `search` and `shell`: find a memory as you type, also with a key of the shell."""

import os
import sys
from pathlib import Path

from memoryd_client.cli.commands import (
    INTERRUPTED,
    Arguments,
    Commands,
    add_agent,
    add_json,
    add_project,
    whose,
)
from memoryd_client.cli.render import one_line, print_json
from memoryd_client.connection.answers import objects_at, text_at
from memoryd_client.connection.call import call
from memoryd_client.connection.failures import LocalFailure
from memoryd_client.connection.memory_header import Memory

SHELLS = {"bash": "memoryd.bash", "zsh": "memoryd.zsh", "fish": "memoryd.fish"}
BINDINGS = Path(__file__).parent.with_name("shell")


def search(arguments: Arguments) -> int:
    """Lets the person pick a memory, or prints those that match to a pipe."""
    if arguments.json or not (arguments.pick or is_on_a_terminal()):
        return print_found(arguments)
    from memoryd_client.search import loop, source, terminal  # noqa: PLC0415 - a pipe needs none of it

    call("ping")  # without a daemon there is nothing to pick from
    asked = source.Source(whose(arguments))
    try:
        screen = terminal.Terminal()
    except OSError as error:
        raise LocalFailure("there is no terminal", "in a script: memoryd search --json") from error
    try:
        with screen:
            chosen = loop.Search(screen, asked, " ".join(arguments.query)).run()
    finally:
        asked.close()
    if chosen is None:
        return INTERRUPTED
    print(one_line(chosen.path))
    return 0


def is_on_a_terminal() -> bool:
    return sys.stdin.isatty() and sys.stdout.isatty() and os.environ.get("TERM") != "dumb"


def print_found(arguments: Arguments) -> int:
    """One line for each match, best first: its path, a tab, what it says."""
    from memoryd_client.search.matching import matching, row_of  # noqa: PLC0415 - as above

    query = " ".join(arguments.query)
    answer = call("memory/list", whose(arguments))
    recalled = call("recall", {**whose(arguments), "query": query, "limit": 20}) if query else {}
    best = [text_at(one, "path") for one in objects_at(recalled, "memories")]
    listed = {text_at(one, "path"): one for one in objects_at(answer, "memories")}
    found = matching(query, [Memory.read(one) for one in listed.values()], best)
    if arguments.json:
        print_json({"memories": [listed[one.path] for one in found]})
        return 0
    for one in found:
        print(f"{one_line(one.path)}\t{row_of(one)}")
    return 0


def print_binding(arguments: Arguments) -> int:
    print((BINDINGS / SHELLS[arguments.shell]).read_text("utf-8"), end="")
    return 0


def add_commands(commands: Commands) -> None:
    command = commands.add(
        "search",
        search,
        "pick a memory as you type; in a pipe, print the path and the line of each match",
        example="$EDITOR $(memoryd search --pick)",
    )
    command.add_argument("query", metavar="QUERY", nargs="*", help="what to begin with")
    command.add_argument(
        "--pick", action="store_true", help="pick on the terminal even if the output is a pipe"
    )
    add_project(command)
    add_agent(command)
    add_json(command)
    binding = commands.add(
        "shell",
        print_binding,
        "print a key binding for your shell: Alt-M searches memories and inserts a path",
        example="source <(memoryd shell bash)",
        needs_daemon=False,
    )
    binding.add_argument("shell", metavar="SHELL", choices=tuple(SHELLS), help="one of %(choices)s")
