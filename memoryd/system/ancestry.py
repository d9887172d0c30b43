"""Whether a process was started by a coding agent: by its environment, or that of its parents.

What the daemon was itself started from says nothing about a client that was started from there too.
Where there is no `/proc`, nothing is known, and the answer is no. A process that left its parents
and cleaned its environment is not recognised either: the same user runs it.
"""

import itertools
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

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


def is_run_by_an_agent(pid: int) -> bool:
    """Whether this process or one of its parents is an agent, or runs in one's environment."""
    ours = set(_line_of(os.getpid()))
    line = itertools.takewhile(lambda one: one not in ours, _line_of(pid))
    return any(_has_marks(one) or _is_an_agent(one) for one in line)


def _line_of(pid: int) -> Iterator[int]:
    """The process, its parent, and so on, without the first process of the system."""
    for _ in range(MOST_PARENTS):
        if pid <= 1:
            return
        yield pid
        pid = _parent_of(pid)


def _has_marks(pid: int) -> bool:
    try:
        with Path(f"/proc/{pid}/environ").open("rb") as file:
            pairs = file.read(ENVIRONMENT_BYTES).split(b"\0")
    except OSError:
        return False
    return any(value and name in AGENT_VARIABLES for name, _, value in map(_halves, pairs))


def _halves(pair: bytes) -> tuple[bytes, bytes, bytes]:
    return pair.partition(b"=")


def _is_an_agent(pid: int) -> bool:
    """By the names of the program and of the script that it runs."""
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")[:2]
        name = Path(f"/proc/{pid}/comm").read_bytes().strip()
    except OSError:
        return False
    named = {os.fsdecode(word).rpartition("/")[2] for word in (*words, name)}
    return not named.isdisjoint(AGENT_PROGRAMS)


def _parent_of(pid: int) -> int:
    try:
        # The second field is the program's name in parentheses, which may itself contain any.
        return int(Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[1])
    except (OSError, IndexError, ValueError):
        return 0
