"""Which command lines the Bash tool accepts: one simple command that only reads.

Rules
- The line is split as a shell would split it; a shell's other features do not exist. What would
  make a shell do more (join, redirect, substitute, expand) is refused, not passed on: the model
  would misread the output. Inside quotes most of it is plain text.
- The command is one of eight, by its bare name. Only the options listed here are accepted; all
  others are refused, above all those that run, write, delete, follow or read lists of files.
- The rest are paths, which the caller checks, and for grep its pattern.
"""

import shlex
from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from memoryd.agent.rules.access import Denied
from memoryd.text.lazy_regex import late

LINE_LIMIT_CHARACTERS: Final = 2000
PATHS_LIMIT: Final = 20

_PLAIN_VALUE = late(r"[-+]?[0-9]{1,9}[a-zA-Z]?")
_COUNT_OPTION = late(r"-[0-9]{1,9}")
_SUBSTITUTION = late(r"`|\$[\w({@*#?!$-]")


class CommandRule(msgspec.Struct, frozen=True):
    """`flags` may be joined (`-la`); `counts` take a number; `prints`: it prints file contents."""

    flags: str = ""
    counts: str = ""
    texts: str = ""
    prints: bool = True


RULES: Final[Mapping[str, CommandRule]] = {
    "ls": CommandRule(flags="1AaFRShlprtd", prints=False),
    "stat": CommandRule(texts="c", prints=False),
    "cat": CommandRule(flags="bnsu"),
    "head": CommandRule(flags="q", counts="nc"),
    "tail": CommandRule(flags="q", counts="nc"),
    "wc": CommandRule(flags="clmw"),
    "grep": CommandRule(flags="EFchinovwx", counts="ABCm", texts="e"),
    "find": CommandRule(prints=False),
}
FIND_FLAGS: Final = frozenset({"-not", "!", "-o", "-a", "-print"})
FIND_TEXTS: Final = frozenset({"-name", "-iname", "-path", "-ipath"})
FIND_COUNTS: Final = frozenset({"-maxdepth", "-mindepth", "-mtime", "-mmin", "-size"})


class BashCommand(msgspec.Struct, frozen=True):
    """A command that may be run: `options` as they are, `paths` still to be checked.

    `after` holds find's expressions, which follow its paths; `newer` the indexes of paths in it.
    """

    name: str
    options: tuple[str, ...]
    paths: tuple[str, ...]
    after: tuple[str, ...] = ()
    newer: tuple[int, ...] = ()

    @property
    def prints(self) -> bool:
        return RULES[self.name].prints


def parse_command(line: str) -> BashCommand:
    """The one command of a line; Denied for anything more."""
    name, *words = words_of(line)
    if name not in RULES:
        raise _refused(f"use {', '.join(RULES)}, each by its bare name")
    command = _find(words) if name == "find" else _parsed(name, words)
    if len(command.paths) > PATHS_LIMIT:
        raise _refused(f"name at most {PATHS_LIMIT} paths")
    return command


def words_of(line: str) -> list[str]:
    """The words of a line as a shell would split them; Denied if a shell would do more."""
    if len(line) > LINE_LIMIT_CHARACTERS or not line.isprintable():
        raise _refused("one short line")
    _check_unquoted(line)
    try:
        words = shlex.split(line)
    except ValueError:
        raise _refused("a quote is left open") from None
    if not words:
        raise _refused("there is no command")
    return words


def _check_unquoted(line: str) -> None:
    """Denied for anything a shell would act on; tracks quotes exactly as shlex does."""
    quote = ""
    skip = False
    for at, character in enumerate(line):
        if skip:
            skip = False
        elif quote == "'":
            quote = "" if character == "'" else quote
        elif character == "\\":
            if quote and line[at + 1 : at + 2] in {"$", "`"}:
                raise _refused("put a literal $ into single quotes")
            skip = True
        elif character in "\"'" and quote in {"", character}:
            quote = "" if quote else character
        elif _SUBSTITUTION.match(line, at):
            raise _refused("nothing is substituted")
        elif not quote and character in ";&|<>()`$":
            raise _refused("one command at a time, without pipes, lists or redirections")
        elif not quote and character in "*?[]{}~#":
            raise _refused("nothing is expanded; use Glob, or quote the pattern")


def _parsed(name: str, words: Sequence[str]) -> BashCommand:
    rule = RULES[name]
    options: list[str] = []
    rest: list[str] = []
    waiting = list(words)
    while waiting:
        word = waiting.pop(0)
        if word == "--":
            rest += waiting
            break
        if not word.startswith("-") or word == "-":
            rest.append(word)
        elif name in {"head", "tail"} and _COUNT_OPTION.fullmatch(word):
            options.append(f"-n{word[1:]}")
        else:
            options += _options(name, rule, word, waiting)
    if name == "grep" and not any(option.startswith("-e") for option in options):
        if not rest:
            raise _refused("grep needs a pattern")
        options.append(f"-e{rest.pop(0)}")
    if rule.prints and not rest:
        raise _refused(f"{name} needs a file")
    return BashCommand(name, tuple(options), tuple(rest))


def _options(name: str, rule: CommandRule, word: str, waiting: list[str]) -> list[str]:
    """The options in one word, separated; the last may take its value from `waiting`."""
    letters = word[1:]
    for at, letter in enumerate(letters):
        if letter in rule.counts + rule.texts:
            value = letters[at + 1 :] or (waiting.pop(0) if waiting else "")
            if letter in rule.counts and not _PLAIN_VALUE.fullmatch(value):
                raise _refused(f"-{letter} takes a number")
            return [*(f"-{flag}" for flag in letters[:at]), f"-{letter}{value}"]
        if letter not in rule.flags:
            known = " ".join(f"-{one}" for one in rule.flags + rule.counts + rule.texts)
            search = "; to search folders, use Grep" if name == "grep" else ""
            raise _refused(f"{name} accepts only these options: {known}{search}")
    return [f"-{flag}" for flag in letters]


def _find(words: Sequence[str]) -> BashCommand:
    count = next((at for at, word in enumerate(words) if word[:1] in {"-", "!"}), len(words))
    after: list[str] = []
    newer: list[int] = []
    waiting = list(words[count:])
    while waiting:
        word = waiting.pop(0)
        after.append(word)
        if word in FIND_FLAGS:
            continue
        value = waiting.pop(0) if waiting else None
        if word == "-newer" and value:
            newer.append(len(after))
        elif value is None or not _is_valid_for_find(word, value):
            known = " ".join(sorted(FIND_FLAGS | FIND_TEXTS | FIND_COUNTS | {"-type", "-newer"}))
            raise _refused(f"find accepts only these, each with a valid value: {known}")
        after.append(value)
    return BashCommand("find", (), tuple(words[:count]), tuple(after), tuple(newer))


def _is_valid_for_find(word: str, value: str) -> bool:
    if word == "-type":
        return value in {"f", "d", "l"}
    if word in FIND_COUNTS:
        return _PLAIN_VALUE.fullmatch(value) is not None
    return word in FIND_TEXTS


def _refused(words: str) -> Denied:
    return Denied("bad-command", f"Bash runs one simple command that reads: {words}")
