"""Which rules of a person concern a tool call that is about to be made, and whether they are kept.

Rules
- A rule is a `feedback` memory that names a command ("never npm"), an event of the work ("before
  you commit", "force push", "add a dependency"), a path it is about ("never edit gen/") or a tool.
  A memory that names none of these is not for this moment; recall serves it at a prompt.
- A command is named in backticks, or by a well-known program beside a word that forbids or
  replaces it. It is compared with the start of each simple command of a shell line, never with
  text inside it: a commit message about npm is not a call of npm.
- A path counts if the sentence speaks of changing it, and only for tools that change files.
- Kept: after it was given, a forbidden call is not made again; what has to come first ("run make
  check before you commit") ran since the last such call. Broken: the opposite. If a rule says
  neither what is forbidden nor what has to come first, nothing is known.
"""

import re
import shlex
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from typing import Final, Literal

import msgspec

from memoryd.text.lazy_regex import late

Compliance = Literal["followed", "broken"]

EDITING_TOOLS: Final = frozenset({"Edit", "Write", "MultiEdit", "NotebookEdit"})
SHELL_TOOLS: Final = frozenset({"Bash"})
COMMAND_CHARACTERS: Final = 4_000

_PROGRAMS = (
    "npm|npx|yarn|pnpm|bun|pip|pip3|uv|poetry|pipenv|conda|brew|sudo|docker|docker-compose|kubectl"
    "|terraform|helm|make|cmake|cargo|go|gradle|mvn|pytest|tox|jest|vitest|eslint|prettier|black"
    "|ruff|flake8|mypy|curl|wget|psql|mysql|sqlite3|alembic|prisma|rails|php|composer|git|gh|rm"
    "|ssh|scp|rsync|nohup|sed|awk|node|deno|python|python3"
)
# What people call a step of their work, and the commands that take it.
_EVENTS: Final[tuple[tuple[re.Pattern[str], tuple[str, ...]], ...]] = tuple(
    (late(words, re.IGNORECASE), commands)
    for words, commands in (
        (
            r"\bforce[- ]?push\w*",
            ("git push --force", "git push -f", "git push --force-with-lease"),
        ),
        (r"\bcommit(?:s|ting)?\b(?! (?:hash|id|sha|history)\b)", ("git commit",)),
        (r"(?<!force )(?<!force-)\bpush(?:es|ing)?\b", ("git push",)),
        (r"\brebas(?:e|es|ing)\b", ("git rebase",)),
        (r"\bmerg(?:e|es|ing)\b", ("git merge", "gh pr merge")),
        (
            r"\b(?:open|creat|mak)\w* (?:an? |the )?(?:draft )?(?:pr|pull request)s?\b",
            ("gh pr create",),
        ),
        (
            r"\b(?:add|install)\w* (?:an? |any |new )*(?:dependenc|package|librar)\w*",
            (
                *("npm install", "npm i", "npm add", "pnpm add", "yarn add", "bun add"),
                *("pip install", "uv add", "uv pip install", "poetry add", "cargo add", "go get"),
            ),
        ),
        (
            r"\b(?:run\w*|appl\w+) (?:\w+ ){0,2}migrations?\b",
            ("alembic upgrade", "prisma migrate", "rails db:migrate", "python manage.py migrate"),
        ),
        (r"\bdelet\w+ (?:\w+ )?branch(?:es)?\b", ("git branch -d", "git branch -D")),
        (r"\b(?:publish|releas)\w*\b", ("npm publish", "twine upload", "cargo publish")),
    )
)
_IS_ABOUT_AN_EVENT = late(
    r"\b(?:before|prior to|after|when(?:ever)?|every time|each time|on|for|in|never|no|don'?t"
    r"|do not|always|without|only|must|avoid|stop)\b|\bcommit messages?\b",
    re.IGNORECASE,
)
_HAS_A_CONDITION = late(
    r"\b(?:without|unless|until|till|before|after|if|when|while|except|on|to|into|in|from)\b",
    re.IGNORECASE,
)
_FORBIDS = r"(?:never|don'?t|do not|not|no|avoid|stop|instead of|rather than|over|without)"
_FORBIDDEN_PROGRAM = late(
    rf"\b{_FORBIDS} (?:ever )?(?:use |run |using |running |call |calling |type )?(?:the )?"
    rf"`?(?P<command>(?:{_PROGRAMS})(?: (?:install|run|push|add|publish|apply|-rf|-i))?)`?"
    r"(?![\w/-])",
    re.IGNORECASE,
)
_FORBIDDEN_SPAN = late(
    rf"\b{_FORBIDS} (?:ever )?(?:use |run |using |running |call |calling |type )?(?:the )?"
    r"`(?P<command>[^`\n]{2,80})`",
    re.IGNORECASE,
)
_SPAN = late(r"`(?P<command>[^`\n]{2,80})`")
_REQUIRED = late(
    r"\b(?:run|use|call|execute|do)\s+`?(?P<command>[\w./:-]+(?: [\w./:=-]+){0,3}?)`?"
    r"\s+(?:before|prior to|first)\b"
    r"|\b(?:before|prior to)\b[^.;]{2,60}?,\s*(?:always |please |you |must |should )*"
    r"(?:run|use|call|execute) `?(?P<later>[\w./:-]+(?: [\w./:=-]+){0,3})`?",
    re.IGNORECASE,
)
_CHANGES = late(
    r"\b(?:edit|touch|chang|modif|writ|put|mov|delet|remov|creat|add|updat|format|rewrit|overwrit"
    r"|hand-edit)\w*\b",
    re.IGNORECASE,
)
_PATH = late(
    r"(?<![\w/.:@-])(?:\*{1,2}/)?(?:[\w.*@-]+/)+[\w.*@-]*|(?<![\w/.-])\*\.\w{1,8}\b"
    r"|(?<![\w/.-])[\w-]+(?:\.[\w-]+)*\.(?:py|ts|tsx|js|jsx|json|ya?ml|toml|lock|sql|md|go|rs|rb"
    r"|java|kt|proto|css|html|sh|env|cfg|ini|mod|sum)\b"
)
_NEGATED = late(rf"\b{_FORBIDS}\b", re.IGNORECASE)
_TOOL = late(
    r"\b(?:mcp__\w+|WebFetch|WebSearch|NotebookEdit|TodoWrite|AskUserQuestion|EnterPlanMode)\b"
)
_WRAPPERS = frozenset({"sudo", "env", "time", "nice", "nohup", "exec", "command"})
_ASSIGNMENT = late(r"\w+=")


class ToolCall(msgspec.Struct, frozen=True):
    """A call that is about to be made or was made; `path` is relative to the project if in it."""

    tool: str
    command: str = ""
    path: str = ""


class ToolRule(msgspec.Struct, frozen=True):
    """What a memory says about calls: what it is about, what it forbids, what has to come first."""

    commands: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    forbids: bool = False
    required: str = ""


def rule_in(text: str) -> ToolRule | None:
    """What the sentences of a memory say about tool calls; None if nothing."""
    rule = text.partition("**Why:**")[0].partition("**How to apply:**")[0][:COMMAND_CHARACTERS]
    forbidden = list(_forbidden_in(rule))
    required = _required_in(rule)
    events = [] if forbidden else list(_events_in(rule))
    paths = () if forbidden or not _CHANGES.search(rule) else tuple(_paths_in(rule))
    tools = tuple(_TOOL.findall(rule))
    commands = tuple(dict.fromkeys([*forbidden, *events]))
    if not (commands or paths or tools):
        return None
    return ToolRule(
        commands=commands,
        paths=paths,
        tools=tools,
        forbids=bool(forbidden) or (not required and _forbids_what_it_names(rule, events)),
        required=required,
    )


def concerns(rule: ToolRule, call: ToolCall) -> bool:
    """Whether the rule is about this call."""
    if call.tool in rule.tools:
        return True
    if call.tool in SHELL_TOOLS:
        simple = list(simple_commands(call.command))
        return any(
            _begins_with(words, named.split()) for named in rule.commands for words in simple
        )
    if call.tool in EDITING_TOOLS and call.path:
        return any(_path_matches(call.path, pattern) for pattern in rule.paths)
    return False


def compliance(rule: ToolRule, calls: Sequence[ToolCall], given_at: int) -> Compliance | None:
    """Whether the rule was kept, from the calls of a turn; it was given at the one numbered so."""
    if rule.required:
        wanted = rule.required.split()
        ran = [number for number, call in enumerate(calls) if _runs(call, wanted)]
        return "followed" if ran else "broken"
    if not rule.forbids:
        return None
    again = any(concerns(rule, call) for call in calls[given_at + 1 :])
    return "broken" if again else "followed"


def simple_commands(line: str) -> Iterator[list[str]]:
    """The words of each simple command of a shell line, without assignments and wrappers."""
    lexer = shlex.shlex(line[:COMMAND_CHARACTERS], posix=True, punctuation_chars=";&|()\n")
    lexer.whitespace = " \t\r"
    lexer.whitespace_split = True
    lexer.commenters = ""
    words: list[str] = []
    try:
        for word in lexer:
            if word and set(word) <= set(";&|()\n"):
                yield from _command_of(words)
                words = []
            else:
                words.append(word)
    except ValueError:  # a quotation that does not end
        pass
    yield from _command_of(words)


def _command_of(words: Sequence[str]) -> Iterator[list[str]]:
    left = list(words)
    while left and (_ASSIGNMENT.match(left[0]) or left[0] in _WRAPPERS):
        left.pop(0)
    if left:
        yield [left[0].rpartition("/")[2], *left[1:]]


def _begins_with(words: Sequence[str], named: Sequence[str]) -> bool:
    """Whether a command starts as named; flags of the name may stand anywhere behind."""
    bare = [word for word in named if not word.startswith("-")]
    flags = [word for word in named if word.startswith("-")]
    plain = [word for word in words if not word.startswith("-")]
    return plain[: len(bare)] == bare and all(flag in words for flag in flags)


def _runs(call: ToolCall, wanted: Sequence[str]) -> bool:
    return call.tool in SHELL_TOOLS and any(
        _begins_with(words, wanted) for words in simple_commands(call.command)
    )


def _events_in(rule: str) -> Iterator[str]:
    if not _IS_ABOUT_AN_EVENT.search(rule):
        return
    for pattern, commands in _EVENTS:
        if pattern.search(rule):
            yield from commands


def _forbidden_in(rule: str) -> Iterator[str]:
    for pattern in (_FORBIDDEN_SPAN, _FORBIDDEN_PROGRAM):
        found = [match["command"].strip() for match in pattern.finditer(rule)]
        if commands := [one for one in found if _is_command(one)]:
            yield from commands
            return


def _forbids_what_it_names(rule: str, events: Sequence[str]) -> bool:
    """Not the commit itself is forbidden where its message must have no typos."""
    if not events:
        return bool(_NEGATED.search(rule))
    named = "|".join(pattern.pattern for pattern, _ in _EVENTS)
    direct = re.search(rf"\b{_FORBIDS} (?:ever )?(?:{named})", rule, re.IGNORECASE)
    return direct is not None and not _HAS_A_CONDITION.search(rule)


def _paths_in(rule: str) -> Iterator[str]:
    return (path.rstrip(".") for path in _PATH.findall(rule))


def _required_in(rule: str) -> str:
    match = _REQUIRED.search(rule)
    if match is None:
        return ""
    command = (match["command"] or match["later"] or "").lower()
    return command if _is_command(command) else ""


def _is_command(text: str) -> bool:
    """Whether it starts with a program, rather than being a path or a name in code."""
    first = next(iter(text.split(maxsplit=1)), "")
    is_known = re.fullmatch(_PROGRAMS, first.lower()) is not None
    return is_known or first.startswith("./") or (" " in text and first.isidentifier())


def _path_matches(path: str, pattern: str) -> bool:
    if pattern.endswith("/"):
        return f"/{path}".find(f"/{pattern.lstrip('*/')}") >= 0
    name = path.rpartition("/")[2]
    return fnmatchcase(path, pattern) or fnmatchcase(name, pattern) or path.endswith(f"/{pattern}")
