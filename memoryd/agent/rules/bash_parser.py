"""Which command lines the Bash tool takes: one simple command that only reads, option by option.

Rules
- The line is split as a shell would split it, and nothing else that a shell does is done. What
  would make a shell do more (join, redirect, substitute, expand) is refused, not passed on: the
  model would take the answer for one to another question. Inside quotes most of it is plain text.
- The command is one of eight, by its bare name. Of each, the options listed here are taken; all
  others are refused, above all those that run, write, delete, follow or read lists of files.
- What is left are paths, for the caller to judge, and for grep its pattern.
"""

import re
import shlex
from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from memoryd.agent.rules.access import Denied

LINE_LIMIT_CHARACTERS: Final = 2000
PATHS_LIMIT: Final = 20

_PLAIN_VALUE = re.compile(r"[-+]?[0-9]{1,9}[a-zA-Z]?")
_COUNT_OPTION = re.compile(r"-[0-9]{1,9}")
_SUBSTITUTION = re.compile(r"`|\$[\w({@*#?!$-]")


class Rule(msgspec.Struct, frozen=True):
    """`flags` may be joined (`-la`); `counts` take a number; `prints` is about files' contents."""

    flags: str = ""
    counts: str = ""
    texts: str = ""
    prints: bool = True


RULES: Final[Mapping[str, Rule]] = {
    "ls": Rule(flags="1AaFRShlprtd", prints=False),
    "stat": Rule(texts="c", prints=False),
    "cat": Rule(flags="bnsu"),
    "head": Rule(flags="q", counts="nc"),
    "tail": Rule(flags="q", counts="nc"),
    "wc": Rule(flags="clmw"),
    "grep": Rule(flags="EFchinovwx", counts="ABCm", texts="e"),
    "find": Rule(prints=False),
}
FIND_FLAGS: Final = frozenset({"-not", "!", "-o", "-a", "-print"})
FIND_TEXTS: Final = frozenset({"-name", "-iname", "-path", "-ipath"})
FIND_COUNTS: Final = frozenset({"-maxdepth", "-mindepth", "-mtime", "-mmin", "-size"})


class Simple(msgspec.Struct, frozen=True):
    """A command that may be run: `options` as they are, `paths` still to be judged.

    `after` holds what find wants behind its paths; `newer` the places in it that are paths too.
    """

    name: str
    options: tuple[str, ...]
    paths: tuple[str, ...]
    after: tuple[str, ...] = ()
    newer: tuple[int, ...] = ()

    @property
    def prints(self) -> bool:
        return RULES[self.name].prints


def simple_command(line: str) -> Simple:
    """The one command of a line; Denied for anything more than that."""
    name, *words = words_of(line)
    if name not in RULES:
        raise _refused(f"there are {', '.join(RULES)}, each by its bare name")
    command = _find(words) if name == "find" else _parsed(name, words)
    if len(command.paths) > PATHS_LIMIT:
        raise _refused(f"name at most {PATHS_LIMIT} paths")
    return command


def words_of(line: str) -> list[str]:
    """The words of a line, as a shell would give them to the command; Denied if it did more."""
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
    """Denied for what a shell would act on; follows quotes exactly as shlex does."""
    quote = ""
    skip = False
    for at, character in enumerate(line):
        if skip:
            skip = False
        elif quote == "'":
            quote = "" if character == "'" else quote
        elif character == "\\":
            if quote and line[at + 1 : at + 2] in {"$", "`"}:
                raise _refused("put a $ that is meant as is into single quotes")
            skip = True
        elif character in "\"'" and quote in {"", character}:
            quote = "" if quote else character
        elif _SUBSTITUTION.match(line, at):
            raise _refused("nothing is substituted")
        elif not quote and character in ";&|<>()`$":
            raise _refused("one command at a time, without pipes, lists or redirections")
        elif not quote and character in "*?[]{}~#":
            raise _refused("nothing is expanded; use Glob, or quote a pattern that is meant as is")


def _parsed(name: str, words: Sequence[str]) -> Simple:
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
    return Simple(name, tuple(options), tuple(rest))


def _options(name: str, rule: Rule, word: str, waiting: list[str]) -> list[str]:
    """The options of one word, each by itself; the last takes its value from `waiting`."""
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
            raise _refused(f"of {name}, these options are taken: {known}{search}")
    return [f"-{flag}" for flag in letters]


def _find(words: Sequence[str]) -> Simple:
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
        elif value is None or not _fits_find(word, value):
            known = " ".join(sorted(FIND_FLAGS | FIND_TEXTS | FIND_COUNTS | {"-type", "-newer"}))
            raise _refused(f"of find, these are taken, each with a fitting value: {known}")
        after.append(value)
    return Simple("find", (), tuple(words[:count]), tuple(after), tuple(newer))


def _fits_find(word: str, value: str) -> bool:
    if word == "-type":
        return value in {"f", "d", "l"}
    if word in FIND_COUNTS:
        return _PLAIN_VALUE.fullmatch(value) is not None
    return word in FIND_TEXTS


def _refused(words: str) -> Denied:
    return Denied("bad-command", f"Bash runs one simple command that reads: {words}")
