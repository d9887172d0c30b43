"""What a command is: its name, words, arguments and deed. The table itself is in `cli`.

Help, manual page and shell completions are made from the same rows, so a row says everything.
"""

import argparse
import os
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from memoryd_client.connection.failures import LocalFailure

Arguments = argparse.Namespace


class Argument(NamedTuple):
    """One flag (its names start with a dash) or one word of a command line."""

    names: tuple[str, ...]
    help: str
    metavar: str | None = None
    choices: tuple[str, ...] | None = None
    default: str | int | None = None
    is_switch: bool = False
    is_repeated: bool = False
    is_number: bool = False
    is_optional: bool = False


class Command(NamedTuple):
    """One row of the table: `run` returns the exit code or raises a `Failure`.

    `asks_daemon` is for commands that cannot do anything without the daemon.
    """

    name: str
    help: str
    example: str
    run: Callable[[Arguments], int]
    arguments: tuple[Argument, ...] = ()
    asks_daemon: bool = True


PROJECT = Argument(
    ("--project",), "the project's folder, or any folder in it (here, if not given)", "PATH"
)
JSON = Argument(("--json",), "answer as JSON, for programs; failures too", is_switch=True)


def project_of(arguments: Arguments) -> str:
    """The full path of the folder that a command is about."""
    try:
        return str(Path(arguments.project or ".").absolute())
    except FileNotFoundError as error:
        raise LocalFailure("the current folder is gone", "name one with --project") from error


def add_to(parser: argparse.ArgumentParser, argument: Argument) -> None:
    """Teach a parser one argument."""
    if argument.is_switch:
        parser.add_argument(*argument.names, help=argument.help, action="store_true")
        return
    is_word = not argument.names[0].startswith("-")
    name = argument.names[-1].lstrip("-").upper()
    parser.add_argument(
        *argument.names,
        # argparse would show every choice in every line of the usage.
        help=meaning_of(argument),
        metavar=argument.metavar or name,
        choices=argument.choices,
        default=argument.default,
        type=number if argument.is_number else str,
        nargs=count_of(argument) if is_word else None,
        action="append" if argument.is_repeated and not is_word else "store",
    )


def meaning_of(argument: Argument) -> str:
    """What an argument is for, what it can be, and what it is if not given."""
    choices = f": {', '.join(argument.choices)}" if argument.choices else ""
    default = "" if argument.default is None else f" ({argument.default}, if not given)"
    return f"{argument.help}{choices}{default}"


def count_of(argument: Argument) -> str | None:
    """How many words an argument takes, as argparse writes it."""
    if argument.is_repeated:
        return "+"
    return "?" if argument.is_optional else None


def number(text: str) -> int:
    """A count of things, as a person types it."""
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number")
    return int(text)


def answer_to(question: str, otherwise: str) -> str:
    """What a person at the terminal types, in small letters; `otherwise` is for a bare Enter.

    An input that ends (Ctrl-D) is a no.
    """
    try:
        return input(question).strip().lower() or otherwise
    except EOFError:
        print()
        return "n"


def width_of_help() -> int:
    """Help is wrapped to the terminal, and never to less than can be read."""
    try:
        return max(min(os.get_terminal_size().columns - 2, 100), 40)
    except OSError:
        return 78
