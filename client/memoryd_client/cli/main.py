"""The `memoryd` command: one table of commands, one way out for every failure.

Exit codes: 0 done, 1 refused or failed, 2 wrong usage, 69 the daemon does not run, 130 interrupted
by the keyboard, 141 whoever read our output went away.
"""

import argparse
import io
import os
import sys
from collections.abc import Sequence
from typing import NoReturn

from memoryd_client import hook
from memoryd_client.cli import cost as cli_cost
from memoryd_client.cli import daemon as cli_daemon
from memoryd_client.cli import dream as cli_dream
from memoryd_client.cli import history as cli_history
from memoryd_client.cli import install as cli_install
from memoryd_client.cli import memories as cli_memories
from memoryd_client.cli import notes as cli_notes
from memoryd_client.cli import recall as cli_recall
from memoryd_client.cli import sessions as cli_sessions
from memoryd_client.cli import status as cli_status
from memoryd_client.cli.commands import Argument, Arguments, Command, add_to, width_of_help
from memoryd_client.cli.render import one_line, paint, print_json
from memoryd_client.connection.call import LOOK_HINT
from memoryd_client.connection.failures import Failure, LocalFailure, UsageError, as_json
from memoryd_client.mcp import server
from memoryd_client.version import __version__

INTERRUPTED = 130
NOBODY_READS = 141


def run_hook(_arguments: Arguments) -> int:
    """Never ends here: a hook leaves the process by itself."""
    hook.main()
    return 0


HOOK = Command(
    "hook",
    "pass an agent's hook to the daemon; reads its JSON from input, and never fails",
    'echo \'{"hook_event_name":"Stop"}\' | memoryd hook',
    run_hook,
    asks_daemon=False,
)


def run_mcp(_arguments: Arguments) -> int:
    return server.main()


MCP = Command(
    "mcp",
    "speak the Model Context Protocol on standard input and output, for agents and editors",
    "claude mcp add memoryd -- memoryd mcp",
    run_mcp,
    asks_daemon=False,
)


def play_demo(arguments: Arguments) -> int:
    """Show the whole life of a memory on sample sessions."""
    from memoryd_client.demo import story  # noqa: PLC0415 - no other command pays for it

    return story.demo(arguments)


DEMO = Command(
    "demo",
    "show the whole life of a memory, offline, in a throwaway home",
    "memoryd demo",
    play_demo,
    (Argument(("--keep",), "leave the throwaway home, for a look at its files", is_switch=True),),
    asks_daemon=False,
)


def print_manual(_arguments: Arguments) -> int:
    """Print the manual page of all commands."""
    from memoryd_client.cli import manual  # noqa: PLC0415 - no other command pays for it

    print(manual.page(COMMANDS), end="")
    return 0


MANUAL = Command(
    "manual",
    "print the manual page, in the form that man reads",
    "memoryd manual | man -l -",
    print_manual,
    asks_daemon=False,
)


def print_completions(arguments: Arguments) -> int:
    """Print what teaches a shell to complete our commands."""
    from memoryd_client.cli import completions  # noqa: PLC0415 - no other command pays for it

    print(completions.SHELLS[arguments.shell](COMMANDS), end="")
    return 0


COMPLETIONS = Command(
    "completions",
    "print what teaches a shell to complete these commands",
    "source <(memoryd completions bash)",
    print_completions,
    (Argument(("shell",), "which shell", "SHELL", choices=("bash", "zsh", "fish")),),
    asks_daemon=False,
)

COMMANDS: tuple[Command, ...] = (
    *cli_status.COMMANDS,
    *cli_daemon.COMMANDS,
    *cli_memories.COMMANDS,
    *cli_history.COMMANDS,
    *cli_dream.COMMANDS,
    *cli_recall.COMMANDS,
    *cli_notes.COMMANDS,
    *cli_sessions.COMMANDS,
    *cli_cost.COMMANDS,
    *cli_install.COMMANDS,
    DEMO,
    HOOK,
    MCP,
    MANUAL,
    COMPLETIONS,
)


class Parser(argparse.ArgumentParser):
    """Wrong usage is a failure like any other: one sentence, and what to type next."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(message, f"{self.prog} --help says more")


def parser() -> argparse.ArgumentParser:
    """The whole command line, built from the table."""
    top = Parser(
        prog="memoryd",
        description="A memory for coding agents.",
        epilog="Begin with memoryd demo. memoryd COMMAND --help says more about each.",
        formatter_class=help_formatter,
    )
    top.add_argument("--version", action="version", version=f"memoryd {__version__}")
    commands = top.add_subparsers(
        title="commands", dest="command", metavar="COMMAND", required=True
    )
    for command in COMMANDS:
        one = commands.add_parser(
            command.name,
            help=command.help,
            description=f"{command.help[:1].upper()}{command.help[1:]}.",
            epilog=f"example: {command.example}",
            formatter_class=help_formatter,
            allow_abbrev=False,
        )
        for argument in command.arguments:
            add_to(one, argument)
        one.set_defaults(row=command)
    return top


def help_formatter(prog: str) -> argparse.HelpFormatter:
    return argparse.HelpFormatter(prog, max_help_position=26, width=width_of_help())


def main(words: Sequence[str]) -> int:
    """Do one command and return its exit code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal that lacks a letter is no failure
    in_json = "--json" in words
    try:
        code = run(words)
        sys.stdout.flush()
    except Failure as failure:
        return told(failure, in_json=in_json)
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        # Nothing more can be said, not even by the interpreter when it flushes at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return NOBODY_READS
    except OSError as error:
        reason = error.strerror or type(error).__name__
        told_of = f"{error.filename}: {reason}" if error.filename else reason
        local = LocalFailure(told_of, LOOK_HINT)
        return told(local, in_json=in_json)
    return code


def run(words: Sequence[str]) -> int:
    arguments = understood(words)
    if arguments.row.asks_daemon:
        cli_daemon.tell_version_difference()
    return int(arguments.row.run(arguments))


def understood(words: Sequence[str]) -> Arguments:
    """The command line with its row of the table; raises UsageError when it makes no sense."""
    first, *others = words or ["status"]
    if first == "help":
        first, *others = [*others, "--help"]
    names = [command.name for command in COMMANDS]
    if first not in names and not first.startswith("-"):
        import difflib  # noqa: PLC0415 - only a mistyped command pays for it

        near = difflib.get_close_matches(first, names, n=1)
        guess = f"; did you mean {near[0]}?" if near else ""
        raise UsageError(f"there is no command {first}{guess}", "memoryd --help shows them all")
    arguments, strange = parser().parse_known_args([first, *others])
    if strange:
        raise UsageError(
            f"memoryd {first} does not take {' '.join(strange)}",
            f"memoryd {first} --help says what it takes",
        )
    return arguments


def told(failure: Failure, *, in_json: bool) -> int:
    """Say what went wrong and what to type next; the exit code."""
    if in_json:
        print_json(as_json(failure))
    print(f"memoryd: {one_line(failure.message)}", file=sys.stderr)
    if failure.hint:
        print(paint(f"  {one_line(failure.hint)}", "bold", sys.stderr), file=sys.stderr)
    return failure.exit_code
