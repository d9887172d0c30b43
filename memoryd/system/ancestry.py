"""Whether a process was started by a coding agent: by its environment, or that of its parents.

What the daemon was itself started from says nothing about a client that was started from there too.
Where there is no `/proc`, nothing is known, and the answer is no.

A process that left its parents and cleaned its environment has no marks. But a person's command has
a terminal, or a parent that has one or is a program with a window; a shell or an interpreter that
belongs to nobody and has no terminal does not speak for a person. One that has itself started by
something that a person might run, such as a terminal multiplexer, is not recognised: the same user
runs it.
"""

import itertools
import os
from collections.abc import Iterator
from typing import Final

from memoryd.text.lazy_regex import late

MOST_PARENTS: Final = 40
ENVIRONMENT_BYTES: Final = 1024 * 1024

# What agents set for the commands that they run. The client has the same list.
AGENT_VARIABLES: Final = (
    b"CLAUDECODE",
    b"CLAUDE_CODE_ENTRYPOINT",
    b"CODEX_SANDBOX",
    b"CODEX_THREAD_ID",
    b"CURSOR_AGENT",
    b"GEMINI_CLI",
    b"OPENCODE",
    b"AI_AGENT",
)
AGENT_PROGRAMS: Final = frozenset(
    {"claude", "codex", "gemini", "opencode", "cursor-agent", "aider"}
)
# What runs commands for others, and is nobody's first program with a terminal or a window.
_RUNNERS: Final = late(
    r"(?:ba|z|da|k|fi)?sh|env|setsid|nohup|timeout|xargs|python[\d.]*|memoryd|node|perl|ruby|busybox"
)
_TERMINAL_MAKERS: Final = frozenset({"script", "expect", "unbuffer", "socat"})
_MANAGERS: Final = frozenset({"systemd", "init", "launchd"})


def is_run_by_an_agent(pid: int) -> bool:
    """Whether this process or one of its parents is an agent, or runs in one's environment.

    So does one whose parent has ended, without a terminal.
    """
    ours = set(_line_of(os.getpid()))
    line = list(itertools.takewhile(lambda one: one not in ours, _line_of(pid)))
    return any(_has_marks(one) or _is_an_agent(one) for one in line) or _is_left_behind(line)


def _is_left_behind(line: list[int]) -> bool:
    if not line:
        return False
    parent = _parent_of(line[-1])
    if parent > 1 and _name_of(parent) not in _MANAGERS:
        return False
    first = _name_of(line[-1])
    if first in _TERMINAL_MAKERS:
        return True
    return _RUNNERS.fullmatch(first) is not None and not _has_terminal(line[0])


def _line_of(pid: int) -> Iterator[int]:
    """The process, its parent, and so on, without the first process of the system."""
    for _ in range(MOST_PARENTS):
        if pid <= 1:
            return
        yield pid
        pid = _parent_of(pid)


def _has_marks(pid: int) -> bool:
    try:
        pairs = _read(f"/proc/{pid}/environ", ENVIRONMENT_BYTES).split(b"\0")
    except OSError:
        return False
    return any(value and name in AGENT_VARIABLES for name, _, value in map(_halves, pairs))


def _read(path: str, most_bytes: int = -1) -> bytes:
    with open(path, "rb") as file:  # noqa: PTH123 - the daemon starts without pathlib
        return file.read(most_bytes)


def _halves(pair: bytes) -> tuple[bytes, bytes, bytes]:
    return pair.partition(b"=")


def _is_an_agent(pid: int) -> bool:
    """By the names of the program and of the script that it runs."""
    try:
        words = _read(f"/proc/{pid}/cmdline").split(b"\0")[:2]
    except OSError:
        return False
    named = {os.fsdecode(word).rpartition("/")[2] for word in words} | {_name_of(pid)}
    return not named.isdisjoint(AGENT_PROGRAMS)


def _name_of(pid: int) -> str:
    try:
        return os.fsdecode(_read(f"/proc/{pid}/comm").strip())
    except OSError:
        return ""


def _parent_of(pid: int) -> int:
    return _number_of(pid, 1)


def _has_terminal(pid: int) -> bool:
    return _number_of(pid, 4) != 0


def _number_of(pid: int, field: int) -> int:
    """A number of the kernel's line about a process, counted from behind the program's name."""
    try:
        # The name is in parentheses, and may itself contain any.
        return int(_read(f"/proc/{pid}/stat").rpartition(b")")[2].split()[field])
    except (OSError, IndexError, ValueError):
        return 0
