"""The `memoryd` command: every command, and one way out for every failure.

Exit codes: 0 done, 1 refused or failed, 2 wrong usage, 69 the daemon is not running, 130 Ctrl-C,
141 the reader of our output went away.
"""

import io
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from memoryd_client import hook, statusline
from memoryd_client.cli import (
    adopt,
    agent,
    archive,
    config,
    cost,
    daemon,
    devices,
    dream,
    history,
    inbox,
    install,
    memories,
    notes,
    recall,
    review,
    scopes,
    search,
    sessions,
    status,
    team,
    trust,
    why,
)
from memoryd_client.cli.commands import INTERRUPTED, Arguments, Commands
from memoryd_client.cli.render import one_line, paint, print_json
from memoryd_client.connection.failures import Failure, LocalFailure, UsageError, as_json
from memoryd_client.connection.peer import DOCTOR_HINT
from memoryd_client.mcp import server

READER_GONE = 141
# Written by `make manual` from the parsers below.
GENERATED = Path(__file__).with_name("generated")
MANUAL = "memoryd.1"
# Written by `make schema` from the daemon's types.
OPENRPC = Path(__file__).parent.with_name("openrpc.json")
PAGES = (
    *("devices", "editors", "glossary", "models", "python", "settings", "socket"),
    *("team", "walkthrough"),
)
COMPLETIONS = {"bash": "memoryd.bash", "zsh": "_memoryd", "fish": "memoryd.fish"}


# By what people want to do; a command in none of these is listed last.
GROUPS = {
    "start here": ("demo", "install", "status", "doctor", "uninstall"),
    "what is remembered": ("list", "show", "recall", "search", "remember", "forget", "edit", "why"),
    "earlier versions": ("history", "restore"),
    "decide and tidy up": ("inbox", "review", "trust", "dream"),
    "move and share": (
        *("promote", "demote", "team", "device", "agent", "adopt"),
        *("export", "import-archive"),
    ),
    "sessions": ("sessions", "notes", "checkpoint", "context", "import"),
    "the daemon and its settings": (
        *("serve", "stop", "on", "off", "config", "cost", "logs"),
        *("manual", "completions", "shell", "schema"),
    ),
    "run by the agent": ("hook", "mcp", "statusline"),
}


def command_line() -> Commands:
    """Every command, in the order of the help."""
    commands = Commands(GROUPS)
    for area in (
        status,
        daemon,
        memories,
        trust,
        inbox,
        review,
        history,
        scopes,
        team,
        devices,
        agent,
        why,
        dream,
        recall,
        search,
        notes,
        sessions,
        adopt,
        archive,
        cost,
        config,
        install,
    ):
        area.add_commands(commands)
    demo = commands.add(
        "demo",
        run_demo,
        "show the whole life of a memory, offline, in a throwaway home",
        example="memoryd demo",
        needs_daemon=False,
    )
    demo.add_argument("--keep", action="store_true", help="keep the throwaway home afterwards")
    commands.add(
        "hook",
        run_hook,
        "pass an agent's hook to the daemon; reads JSON from standard input and never fails",
        example='echo \'{"hook_event_name":"Stop"}\' | memoryd hook',
        needs_daemon=False,
    )
    line = commands.add(
        "statusline",
        run_status_line,
        "print one line for the agent's status line; reads its JSON from standard input",
        example="memoryd statusline --append-to 'git branch --show-current'",
        needs_daemon=False,
    )
    line.add_argument(
        "--append-to", metavar="COMMAND", help="run this status line first, and add to its end"
    )
    commands.add(
        "mcp",
        run_mcp,
        "serve the Model Context Protocol on standard input and output",
        example="claude mcp add memoryd -- memoryd mcp",
        needs_daemon=False,
    )
    manual = commands.add(
        "manual",
        print_manual,
        "print the manual page in the format that man reads, or a page of the documentation",
        example="memoryd manual | man -l -",
        needs_daemon=False,
    )
    manual.add_argument(
        "page", metavar="PAGE", nargs="?", choices=PAGES, help="%(choices)s: a page in Markdown"
    )
    completions = commands.add(
        "completions",
        print_completions,
        "print the completion script for a shell",
        example="source <(memoryd completions bash)",
        needs_daemon=False,
    )
    completions.add_argument(
        "shell", metavar="SHELL", choices=tuple(COMPLETIONS), help="one of %(choices)s"
    )
    commands.add(
        "schema",
        print_schema,
        "print the socket's protocol as an OpenRPC document, for programs",
        example="memoryd schema > openrpc.json",
        needs_daemon=False,
    )
    return commands


def run_hook(_arguments: Arguments) -> int:
    """Does not return: a hook exits the process itself."""
    hook.main()
    return 0


def run_status_line(arguments: Arguments) -> int:
    words = ["--append-to", arguments.append_to] if arguments.append_to else []
    return statusline.main(words)


def run_mcp(_arguments: Arguments) -> int:
    return server.main()


def run_demo(arguments: Arguments) -> int:
    from memoryd_client.demo import story  # noqa: PLC0415 - only this command needs it

    return story.demo(arguments)


def print_manual(arguments: Arguments) -> int:
    page = GENERATED / MANUAL
    if arguments.page:
        from memoryd_client.install.service import template  # noqa: PLC0415 - only a page needs it

        page = template("docs", f"{arguments.page}.md")
    print(page.read_text("utf-8"), end="")
    return 0


def print_schema(_: Arguments) -> int:
    print(OPENRPC.read_text("utf-8"), end="")
    return 0


def print_completions(arguments: Arguments) -> int:
    print((GENERATED / COMPLETIONS[arguments.shell]).read_text("utf-8"), end="")
    return 0


def main(words: Sequence[str]) -> int:
    """Runs one command and returns its exit code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # A terminal without a letter is not a failure, and in a pipe lines keep their order.
            stream.reconfigure(errors="replace", line_buffering=True)
    in_json = "--json" in words
    try:
        code = run(words)
        sys.stdout.flush()
    except (Failure, KeyboardInterrupt, OSError) as error:
        return ended_by(error, in_json=in_json)
    return code


def ended_by(error: Failure | KeyboardInterrupt | OSError, *, in_json: bool = False) -> int:
    """The exit code of a command that an error ended; says what went wrong."""
    match error:
        case Failure():
            return report(error, in_json=in_json)
        case KeyboardInterrupt():
            return INTERRUPTED
        case BrokenPipeError():
            # Keeps the interpreter's own flush at exit from failing once more.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return READER_GONE
        case OSError():
            reason = error.strerror or type(error).__name__
            message = f"{error.filename}: {reason}" if error.filename else reason
            return report(LocalFailure(message, DOCTOR_HINT), in_json=in_json)


def run(words: Sequence[str]) -> int:
    arguments = parsed(words)
    if arguments.needs_daemon:
        daemon.warn_of_trouble()
    return int(arguments.run(arguments))


def parsed(words: Sequence[str]) -> Arguments:
    """The arguments with the command's `run`; raises UsageError for what no command takes."""
    first, *others = words or ["status"]
    if first == "help":
        first, *others = [*others, "--help"]
    commands = command_line()
    if first not in commands.by_name and not first.startswith("-"):
        import difflib  # noqa: PLC0415 - only a mistyped command needs it

        near = difflib.get_close_matches(first, commands.by_name, n=1)
        guess = f"; did you mean {near[0]}?" if near else ""
        raise UsageError(f"there is no command {first}{guess}", "see memoryd --help")
    arguments, unknown = commands.parser.parse_known_args([first, *others])
    if unknown:
        raise UsageError(
            f"memoryd {first} does not take {' '.join(unknown)}", f"see memoryd {first} --help"
        )
    return arguments


def report(failure: Failure, *, in_json: bool) -> int:
    """Prints what went wrong and what to do next; returns the exit code."""
    if in_json:
        print_json(as_json(failure))
    print(f"memoryd: {one_line(failure.message)}", file=sys.stderr)
    if failure.hint:
        print(paint(f"  {one_line(failure.hint)}", "bold", sys.stderr), file=sys.stderr)
    return failure.exit_code
