"""How a command is declared. argparse is the one table of commands.

Help, manual page and shell completions all come from the parsers made here. Completions are chosen
by metavar: MEMORY is a memory's file name, DIR a folder, FILE a file.
"""

import argparse
import getpass
import os
import sys
import textwrap
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import NoReturn

from memoryd_client.connection.failures import LocalFailure, UsageError
from memoryd_client.version import __version__

Arguments = argparse.Namespace
PURPOSE_COLUMN = 18
INTERRUPTED = 130  # what shells report for a program that Ctrl-C ended


class Parser(argparse.ArgumentParser):
    """Reports wrong usage like any other failure: one sentence and what to type next.

    With `groups`, its help lists the commands by what people want to do.
    """

    groups: Mapping[str, Sequence[str]] = {}
    purposes: Mapping[str, str] = {}

    def format_help(self) -> str:
        if not self.groups:
            return super().format_help()
        grouped = {name for names in self.groups.values() for name in names}
        rest = {"other": tuple(name for name in self.purposes if name not in grouped)}
        sections = [
            "\n".join(
                [f"{title}:", *(self.row_of(name) for name in names if name in self.purposes)]
            )
            for title, names in {**self.groups, **rest}.items()
            if any(name in self.purposes for name in names)
        ]
        opening = f"usage: {self.prog} COMMAND ...\n\n{self.description}"
        return (
            "\n\n".join([opening, *sections, textwrap.fill(str(self.epilog), help_width())]) + "\n"
        )

    def row_of(self, name: str) -> str:
        indent = " " * PURPOSE_COLUMN
        words = textwrap.wrap(self.purposes[name], max(help_width() - PURPOSE_COLUMN, 20))
        return f"  {name:<{PURPOSE_COLUMN - 2}}" + f"\n{indent}".join(words)

    def error(self, message: str) -> NoReturn:
        raise UsageError(message, f"see {self.prog} --help")


class Commands:
    """The whole command line: the top parser and, by name, a parser for each command."""

    def __init__(self, groups: Mapping[str, Sequence[str]] = MappingProxyType({})) -> None:
        self.by_name: dict[str, Parser] = {}
        self._purposes: dict[str, str] = {}
        self.parser = Parser(
            prog="memoryd",
            description="A memory for coding agents.",
            epilog="Start with memoryd demo. See memoryd COMMAND --help for each command.",
            formatter_class=help_formatter,
        )
        self.parser.groups, self.parser.purposes = groups, self._purposes
        self.parser.add_argument(
            "--version",
            action="version",
            version=f"memoryd {__version__}",
            help="print the version",
        )
        self._parsers = self.parser.add_subparsers(
            title="commands", dest="command", metavar="COMMAND", required=True
        )

    def add(
        self,
        name: str,
        run: Callable[[Arguments], int],
        purpose: str,
        *,
        example: str,
        needs_daemon: bool = True,
    ) -> Parser:
        """Adds a command; `run` returns the exit code or raises a `Failure`."""
        command = self._parsers.add_parser(
            name,
            help=purpose,
            description=f"{purpose[:1].upper()}{purpose[1:]}.",
            epilog=f"example: {example}",
            formatter_class=help_formatter,
            allow_abbrev=False,
        )
        command.set_defaults(run=run, needs_daemon=needs_daemon)
        self.by_name[name] = command
        self._purposes[name] = purpose
        return command


def add_project(command: Parser) -> None:
    command.add_argument(
        "--project",
        metavar="DIR",
        help="the project's folder, or any folder in it (default: the current folder)",
    )


def add_agent(command: Parser) -> None:
    command.add_argument("--agent", metavar="NAME", help="the memories of this sub-agent")


def whose(arguments: Arguments) -> dict[str, object]:
    """Params that say whose memories are meant: the project's, or a sub-agent's."""
    place: dict[str, object] = {"cwd": project_of(arguments)}
    return place | ({"agent": arguments.agent} if arguments.agent else {})


def add_json(command: Parser) -> None:
    command.add_argument(
        "--json", action="store_true", help="print JSON, for programs; failures too"
    )


def add_memory(command: Parser) -> None:
    command.add_argument(
        "memory", metavar="MEMORY", help="a file name as `memoryd list` shows it, or a path"
    )


def add_anyway(command: Parser) -> None:
    command.add_argument(
        "--anyway",
        action="store_true",
        help="even if the code or an instruction file already says it; secrets stay masked",
    )


def add_as_of(command: Parser) -> None:
    command.add_argument(
        "--as-of", metavar="DATE", help="memories as they were on a date (2026-03-30)"
    )


def project_of(arguments: Arguments) -> str:
    """The full path of the folder that a command is about."""
    try:
        return str(Path(arguments.project or ".").absolute())
    except FileNotFoundError as error:
        raise LocalFailure("the current folder is gone", "name one with --project") from error


def whole_number(text: str) -> int:
    """A count, as a person types it."""
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number")
    return int(text)


def length_of_time(text: str) -> float:
    """Seconds, from what a person types: 90s, 30m, 2h, 1d, 1w."""
    units = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}
    number, unit = text[:-1], text[-1:].lower()
    if unit not in units or not number.isdecimal() or not 0 < int(number) <= 100_000:
        raise argparse.ArgumentTypeError(f"{text!r} is not a length of time, such as 30m, 2h or 1d")
    return float(int(number) * units[unit])


def answer_to(question: str, default: str) -> str:
    """What the person at the terminal types, in lower case; `default` is for a bare Enter.

    The end of the input (Ctrl-D) means no.
    """
    try:
        return input(question).strip().lower() or default
    except EOFError:
        print()
        return "n"


def typed_or_asked(text: str | None, prompt: str) -> str:
    """What was typed; `-` asks for it, so that it is in no history and in no list of processes."""
    if text != "-":
        return text or ""
    if sys.stdin.isatty():
        return getpass.getpass(prompt).strip()
    return sys.stdin.readline().strip()


def help_formatter(prog: str) -> argparse.HelpFormatter:
    return argparse.HelpFormatter(prog, max_help_position=26, width=help_width())


def help_width() -> int:
    """The terminal's width, within what is readable."""
    try:
        return max(min(os.get_terminal_size().columns - 2, 100), 40)
    except OSError:
        return 78
