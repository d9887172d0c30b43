"""The manual page, written from the table of commands and from what is the same for all of them."""

from collections.abc import Iterator, Sequence

from memoryd_client.cli.commands import Argument, Command, meaning_of
from memoryd_client.version import __version__

OPENING = """\
A coding agent starts every session with a blank mind.
memoryd watches the transcripts that it writes, keeps what is worth keeping as small Markdown files,
and hands the few that matter to the next session.
Everything stays on this machine unless a key for a model is given.
"""

EXIT_CODES = (
    ("0", "done"),
    ("1", "refused or failed; the reason is on standard error, with what to type next"),
    ("2", "wrong usage"),
    ("69", "the daemon is not running"),
    ("78", "serve: the settings cannot be used"),
    ("130", "interrupted from the keyboard"),
    ("141", "whoever read the output went away"),
)

VARIABLES = (
    ("MEMORYD_SOCKET", "where the daemon listens, if not in the runtime folder"),
    ("CLAUDE_CONFIG_DIR", "where the agent keeps its files, if not in ~/.claude"),
    (
        "ANTHROPIC_API_KEY",
        "a key for the model; without one, memoryd works with its built-in rules",
    ),
    ("ANTHROPIC_BASE_URL", "a compatible server, such as one on this machine"),
    ("CLAUDE_CODE_DISABLE_AUTO_MEMORY", "1 turns memory off"),
    ("XDG_CONFIG_HOME, XDG_STATE_HOME, XDG_RUNTIME_DIR", "where settings, state and socket are"),
    ("NO_COLOR", "anything turns colours off"),
)

FILES = (
    ("~/.claude/projects/*/memory/", "the memories of each project, with their index MEMORY.md"),
    ("~/.claude/memory/", "the memories that follow you over all projects"),
    ("~/.config/memoryd/config.toml", "settings; it need not exist"),
    ("~/.local/state/memoryd/state.db", "history, spending and reading positions"),
    ("~/.local/state/memoryd/memoryd.log", "what the daemon did, in JSON lines"),
    ("$XDG_RUNTIME_DIR/memoryd.sock", "the socket, for you alone"),
)


def page(commands: Sequence[Command]) -> str:
    """The whole page, as roff."""
    return "\n".join(lines_of(commands)) + "\n"


def lines_of(commands: Sequence[Command]) -> Iterator[str]:
    yield f'.TH MEMORYD 1 "" "memoryd {__version__}" "User Commands"'
    yield ".SH NAME"
    yield r"memoryd \- a memory for coding agents"
    yield ".SH SYNOPSIS"
    yield ".B memoryd"
    yield '.RI [ command " [" argument " ...]]"'
    yield ".SH DESCRIPTION"
    yield from map(safe, OPENING.splitlines())
    yield ".PP"
    yield "Without a command, memoryd says how it is and what to type."
    yield ".SH COMMANDS"
    for command in commands:
        yield from command_lines(command)
    for title, rows in (
        ("EXIT STATUS", EXIT_CODES),
        ("ENVIRONMENT", VARIABLES),
        ("FILES", FILES),
    ):
        yield f".SH {title}"
        for name, meaning in rows:
            yield from entry(f"\\fB{safe(name)}\\fR", meaning)


def command_lines(command: Command) -> Iterator[str]:
    yield f".SS {safe(usage(command))}"
    yield safe(f"{command.help[:1].upper()}{command.help[1:]}.")
    for argument in command.arguments:
        yield from entry(f"\\fB{safe(label(argument))}\\fR", meaning_of(argument))
    yield ".PP"
    yield "Example:"
    yield ".PP"
    yield ".RS 4"
    yield ".EX"
    yield safe(command.example)
    yield ".EE"
    yield ".RE"


def entry(label_in_roff: str, meaning: str) -> Iterator[str]:
    yield ".TP"
    yield label_in_roff
    yield safe(meaning)


def usage(command: Command) -> str:
    """One line: the command and what it takes."""
    return " ".join([command.name, *map(use_of, command.arguments)])


def use_of(argument: Argument) -> str:
    name, value = argument.names[0], value_of(argument)
    if is_word(argument):
        return f"[{value}]" if argument.is_optional else value + " ..." * argument.is_repeated
    again = "]..." if argument.is_repeated else "]"
    return f"[{name}{again}" if argument.is_switch else f"[{name} {value}{again}"


def label(argument: Argument) -> str:
    if is_word(argument):
        return value_of(argument)
    names = ", ".join(argument.names)
    return names if argument.is_switch else f"{names} {value_of(argument)}"


def value_of(argument: Argument) -> str:
    return argument.metavar or argument.names[-1].lstrip("-").upper()


def is_word(argument: Argument) -> bool:
    return not argument.names[0].startswith("-")


def safe(text: str) -> str:
    """Text that roff prints as it is."""
    escaped = text.replace("\\", r"\e").replace("-", r"\-")
    return rf"\&{escaped}" if escaped[:1] in {".", "'"} else escaped
