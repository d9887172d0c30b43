"""Writes the manual page and the shell completions from the command line's parsers: `make manual`.

The files are checked in and shipped, so only developers need the two libraries. A test fails when
the files are not current.
"""

import argparse
from collections.abc import Mapping

import shtab
from argparse_manpage.manpage import Manpage

from memoryd_client.cli.main import COMPLETIONS, GENERATED, MANUAL, command_line
from memoryd_client.version import __version__

# Too wide for argparse to wrap anything: man and the shells do that, and Python versions differ.
WIDTH = 10_000

OPENING = r"""A coding agent starts every session with a blank mind.
memoryd watches the transcripts that it writes, keeps what is worth keeping as small Markdown files,
and gives the few that matter to the next session.
Everything stays on this machine unless you give it a key for a model.
.PP
Without a command, memoryd shows its status and what to type next.
"""

EXIT_CODES = {
    "0": "done",
    "1": "refused or failed; the reason is on standard error, with what to type next",
    "2": "wrong usage",
    "69": "the daemon is not running",
    "78": "serve: the settings cannot be used",
    "130": "interrupted with Ctrl-C",
    "141": "the reader of the output went away",
}
VARIABLES = {
    "MEMORYD_SOCKET": "where the daemon listens, if not in the runtime folder",
    "CLAUDE_CONFIG_DIR": "where the agent keeps its files, if not in ~/.claude",
    "ANTHROPIC_API_KEY": "a key for the model; without one, memoryd uses its built-in rules",
    "ANTHROPIC_BASE_URL": "a compatible server, such as one on this machine",
    "CLAUDE_CODE_DISABLE_AUTO_MEMORY": "1 turns memory off",
    "XDG_CONFIG_HOME, XDG_STATE_HOME, XDG_RUNTIME_DIR": "where settings, state and socket are",
    "NO_COLOR": "any value turns colours off",
}
FILES = {
    "~/.claude/projects/*/memory/": "the memories of each project, with their index MEMORY.md",
    "~/.claude/memory/": "the memories that follow you to all projects",
    "~/.config/memoryd/config.toml": "settings; optional",
    "~/.local/state/memoryd/state.db": "history, spending and reading positions",
    "~/.local/state/memoryd/memoryd.log": "what the daemon did, in JSON lines",
    "$XDG_RUNTIME_DIR/memoryd.sock": "the socket, accessible only to you",
}

# The names of memories come from the daemon when the key is pressed. Shells expand what they are
# offered, so names with unusual characters are left out.
MEMORY_NAMES = "memoryd list 2>/dev/null | grep -Eo '^[A-Za-z0-9_-]+[.]md'"
MEMORY = {
    "bash": "_memoryd_memories",
    "zsh": "_memoryd_memories",
    "fish": "(_memoryd_memories)",
    "preamble": {
        "bash": f'_memoryd_memories() {{\n  compgen -W "$({MEMORY_NAMES})" -- "$1"\n}}',
        "zsh": f'_memoryd_memories() {{\n  compadd -- ${{(f)"$({MEMORY_NAMES})"}}\n}}',
        "fish": f"function _memoryd_memories\n  {MEMORY_NAMES}\nend",
    },
}
COMPLETERS = {"MEMORY": MEMORY, "DIR": shtab.DIRECTORY, "FILE": shtab.FILE}


def generated() -> dict[str, str]:
    """Every generated file, by its name."""
    scripts = {name: completions(shell) for shell, name in COMPLETIONS.items()}
    return {MANUAL: manual()} | scripts


def completions(shell: str) -> str:
    commands = command_line()
    for parser in commands.by_name.values():
        for action in parser._actions:  # noqa: SLF001 - argparse has no public list of them
            if action.metavar in COMPLETERS:
                action.complete = COMPLETERS[action.metavar]  # type: ignore[attr-defined]
    return shtab.complete(commands.parser, shell).rstrip() + "\n"


def manual() -> str:
    commands = command_line()
    commands.parser.formatter_class = wide
    commands.parser.description = commands.parser.epilog = None  # OPENING says more
    for parser in commands.by_name.values():
        parser.formatter_class = wide
        # The library prints the short help and leaves out the epilog, which has the example.
        parser.description, parser.epilog = parser.epilog, None
    page = Manpage(commands.parser, format="single-commands-section")
    page.date = ""
    page.source = f"memoryd {__version__}"
    page.manual = "User Commands"
    page.description = "a memory for coding agents"
    page.synopsis = ["memoryd", "[COMMAND", "[ARGUMENT", "...]]"]
    page.add_section("description", "=", OPENING)
    page.add_section("exit status", "=", definitions(EXIT_CODES))
    page.add_section("environment", "=", definitions(VARIABLES))
    page.add_section("files", "=", definitions(FILES))
    return str(page)


def wide(prog: str) -> argparse.HelpFormatter:
    return argparse.HelpFormatter(prog, width=WIDTH)


def definitions(rows: Mapping[str, str]) -> str:
    """A list of terms as roff."""
    return "\n".join(f".TP\n\\fB{safe(term)}\\fR\n{safe(text)}" for term, text in rows.items())


def safe(text: str) -> str:
    return text.replace("-", r"\-")


def main() -> None:
    GENERATED.mkdir(exist_ok=True)
    for name, text in generated().items():
        (GENERATED / name).write_text(text, encoding="utf-8")
        print(f"wrote {GENERATED / name}")


if __name__ == "__main__":
    main()
