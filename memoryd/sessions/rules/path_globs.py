"""Which files a pattern means, as .gitignore means it, in bounded time.

Rules:
- The last pattern that fits decides; `!` in front takes back. `**` crosses folders, a pattern
  without a slash fits at any depth, one that fits a folder means all that is in it.
- Beyond .gitignore, `{a,b}` stands for either, and a leading `./` for nothing: people write both.
- A pattern that git could not read means nothing.
- Patterns come with a repository, and matching tries every way in which the stars could share the
  path between them: thirty stars would take years. So the ways are counted first, and where all
  patterns together have too many, TooInvolved is raised and nothing is matched.
"""

import re
from collections.abc import Callable, Iterable
from math import comb, prod
from typing import Final

ALTERNATIVES_LIMIT: Final = 64
# At 135 million a second (measured, the slowest of 45 shapes) this is 40 ms.
WAYS_LIMIT: Final = 5_000_000

_BRACES = re.compile(r"\{([^{},]*(?:,[^{},]*)+)\}")


class TooInvolved(ValueError):
    """The patterns could be matched in too many ways."""


class Globs:
    """Some patterns, in their order."""

    def __init__(self, patterns: Iterable[str]) -> None:
        self._patterns = [
            one.removeprefix("./") for pattern in patterns for one in _alternatives(pattern)
        ]
        self._means = _as_git_means(self._patterns) if self._patterns else _nothing

    def mean(self, relative: str) -> bool:
        """Whether they mean the file at this path below their folder."""
        if sum(_ways(pattern, relative) for pattern in self._patterns) > WAYS_LIMIT:
            raise TooInvolved
        return self._means(relative)


def _as_git_means(patterns: list[str]) -> Callable[[str], bool]:
    from memoryd.sessions.rules.git_patterns import matcher  # noqa: PLC0415 - slow, and few need it

    return matcher(patterns)


def _nothing(_relative: str) -> bool:
    return False


def _alternatives(pattern: str) -> list[str]:
    """The pattern once for each way to choose between braces."""
    done: list[str] = []
    waiting = [pattern]
    while waiting:
        one = waiting.pop()
        braces = _BRACES.search(one)
        if braces is None:
            done.append(one)
            continue
        choices = reversed(braces[1].split(","))
        waiting += [one[: braces.start()] + choice + one[braces.end() :] for choice in choices]
        if len(done) + len(waiting) > ALTERNATIVES_LIMIT:
            raise TooInvolved
    return done


def _ways(pattern: str, path: str) -> int:
    """At most so many ways to lay the pattern's stars over the path."""
    steps = path.split("/")
    longest = max(map(len, steps))
    parts = pattern.split("/")
    anywhere = parts.count("**") + 1
    within = prod(
        comb(longest + part.count("*"), longest) for part in parts if part not in {"*", "**"}
    )
    return comb(len(steps) + anywhere, anywhere) * within
