"""Shell completions, written from the table of commands.

What can follow is known from the row alone: its flags, their choices, folders where a path is
wanted, and the names of memories, which are asked from the daemon when the key is pressed.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence

from memoryd_client.cli.commands import Argument, Command

FOLDER_VALUES = frozenset({"PATH", "DIR"})
MEMORY_VALUE = "NAME"
# The first column of the list; quiet, because a shell that completes must not talk. Shells expand
# what they are offered, so a name with anything but plain characters is left out.
MEMORY_NAMES = "memoryd list 2>/dev/null | grep -Eo '^[A-Za-z0-9_-]+[.]md'"


def flags_of(command: Command) -> list[str]:
    own = [name for argument in command.arguments if is_flag(argument) for name in argument.names]
    return [*own, "--help"]


def is_flag(argument: Argument) -> bool:
    return argument.names[0].startswith("-")


def wants_folder(argument: Argument) -> bool:
    return argument.metavar in FOLDER_VALUES


def words_of(command: Command) -> list[str]:
    """What a word of the command may be, where that is a closed set."""
    words = [argument for argument in command.arguments if not is_flag(argument)]
    return [choice for word in words for choice in word.choices or ()]


def wants_memory(argument: Argument) -> bool:
    return argument.metavar == MEMORY_VALUE


# --- bash ---------------------------------------------------------------------------------------


def bash(commands: Sequence[Command]) -> str:
    names = " ".join([*(command.name for command in commands), "--help", "--version"])
    return "\n".join(
        [
            "# Completions of memoryd for bash; old enough for the one of macOS.",
            "_memoryd() {",
            "    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}",
            "    local can_be=",
            "    COMPREPLY=()",
            "    if ((COMP_CWORD == 1)); then",
            f'        COMPREPLY=($(compgen -W "{names}" -- "$word"))',
            "        return",
            "    fi",
            '    case "${COMP_WORDS[1]} $before" in',
            *(line for command in commands for line in bash_values(command)),
            "    esac",
            '    case "${COMP_WORDS[1]}" in',
            *(bash_row(command) for command in commands),
            "    esac",
            '    COMPREPLY=($(compgen -W "$can_be" -- "$word"))',
            "}",
            "_memoryd_folders() {",
            "    local IFS=$'\\n'",
            '    COMPREPLY=($(compgen -d -- "$1"))',
            "    compopt -o filenames 2>/dev/null",
            "}",
            "complete -F _memoryd memoryd",
            "",
        ]
    )


def bash_values(command: Command) -> Iterator[str]:
    """What may follow a flag that takes a value."""
    for argument in command.arguments:
        if is_flag(argument) and not argument.is_switch:
            pattern = "|".join(f'"{command.name} {name}"' for name in argument.names)
            yield f"        {pattern}) {bash_action(argument)}return ;;"


def bash_action(argument: Argument) -> str:
    if wants_folder(argument):
        return '_memoryd_folders "$word"; '
    if wants_memory(argument):
        return f'COMPREPLY=($(compgen -W "$({MEMORY_NAMES})" -- "$word")); '
    if argument.choices:
        return f'COMPREPLY=($(compgen -W "{" ".join(argument.choices)}" -- "$word")); '
    return ""


def bash_row(command: Command) -> str:
    can_be = " ".join([*words_of(command), *flags_of(command)])
    words = (argument for argument in command.arguments if not is_flag(argument))
    names = f" $({MEMORY_NAMES})" if any(map(wants_memory, words)) else ""
    return f'        {command.name}) can_be="{can_be}{names}" ;;'


# --- zsh ----------------------------------------------------------------------------------------


def zsh(commands: Sequence[Command]) -> str:
    return "\n".join(
        [
            "#compdef memoryd",
            "# Completions of memoryd for zsh.",
            "_memoryd_memories() {",
            "    local -a names",
            f'    names=("${{(@f)$({MEMORY_NAMES})}}")',
            "    compadd -- $names",
            "}",
            "_memoryd() {",
            "    local -a commands",
            "    commands=(",
            *(f"        '{in_zsh(command.name)}:{in_zsh(command.help)}'" for command in commands),
            "    )",
            "    if ((CURRENT == 2)); then",
            "        _describe command commands",
            "        return",
            "    fi",
            "    local chosen=$words[2]",
            "    shift words",
            "    ((CURRENT--))",
            "    case $chosen in",
            *(line for command in commands for line in zsh_rows(command)),
            "    esac",
            "}",
            'if [[ "$funcstack[1]" == _memoryd ]]; then',
            '    _memoryd "$@"',
            "else",
            "    compdef _memoryd memoryd",
            "fi",
            "",
        ]
    )


def zsh_rows(command: Command) -> Iterator[str]:
    specs = [spec for argument in command.arguments for spec in zsh_specs(argument)]
    yield f"        {command.name})"
    yield f"            _arguments {' '.join([*specs, zsh_help()])} ;;"


def zsh_help() -> str:
    return "'--help[say more about this command]'"


def zsh_specs(argument: Argument) -> Iterator[str]:
    words = in_zsh(argument.help).replace("[", r"\[").replace("]", r"\]")
    if not is_flag(argument):
        where = "*" if argument.is_repeated else ""
        yield f"'{where}:{words}:{zsh_action(argument)}'"
        return
    for name in argument.names:
        value = "" if argument.is_switch else f":value:{zsh_action(argument)}"
        again = "*" if argument.is_repeated else ""
        yield f"'{again}{name}[{words}]{value}'"


def zsh_action(argument: Argument) -> str:
    if argument.choices:
        return f"({' '.join(argument.choices)})"
    if wants_folder(argument):
        return "_files -/"
    return "_memoryd_memories" if wants_memory(argument) else " "


def in_zsh(text: str) -> str:
    return text.replace("'", "'\\''").replace(":", "\\:")


# --- fish ---------------------------------------------------------------------------------------


def fish(commands: Sequence[Command]) -> str:
    lines = ["# Completions of memoryd for fish.", "complete -c memoryd -f"]
    for command in commands:
        lines.append(
            f"complete -c memoryd -n __fish_use_subcommand -a {command.name}"
            f" -d {in_fish(command.help)}"
        )
        lines += [fish_line(command, argument) for argument in command.arguments]
    return "\n".join([*filter(None, lines), ""])


def fish_line(command: Command, argument: Argument) -> str:
    """One argument's line; empty for a word that nobody can guess."""
    start = f"complete -c memoryd -n '__fish_seen_subcommand_from {command.name}'"
    if is_flag(argument):
        names = [
            f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}"
            for name in argument.names
        ]
        start = " ".join([start, *names])
        if not argument.is_switch:
            start += f" -x{fish_values(argument)}"
    elif not (values := fish_values(argument)):
        return ""
    else:
        start += values
    return f"{start} -d {in_fish(argument.help)}"


def fish_values(argument: Argument) -> str:
    if argument.choices:
        return f" -a {in_fish(' '.join(argument.choices))}"
    if wants_folder(argument):
        return " -a '(__fish_complete_directories)'"
    if wants_memory(argument):
        return f" -a {in_fish(f'({MEMORY_NAMES})')}"
    return ""


def in_fish(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


SHELLS: Mapping[str, Callable[[Sequence[Command]], str]] = {"bash": bash, "zsh": zsh, "fish": fish}
