"""File name patterns, matched in bounded time whatever the pattern.

- `*` and `?` stay within one step of a path, `**` stands for any number of steps, `[a-z]` and
  `[!a-z]` for one character, `{a,b}` for either.
- A pattern without a slash matches the file's own name, in any folder.
- A pattern comes from a model: as a regular expression it could be made to run for years. So
  matching backtracks to the last star only, which takes at most pattern times text.
"""

import re
from collections.abc import Callable, Sequence
from typing import Final, TypeVar

from memoryd.text.lazy_regex import late

PatternPart = TypeVar("PatternPart")
PathPart = TypeVar("PathPart")

ALTERNATIVES_LIMIT: Final = 64
STEPS_LIMIT: Final = 64

_BRACES = late(r"\{([^{}]*,[^{}]*)\}")
_PARTS = late(r"\[[!^]?\]?[^\]]*\]|.", re.DOTALL)
_ANY_STEPS: Final = "**"
_WILD: Final = frozenset("*?[{")


class TooManyAlternatives(ValueError):
    """The braces of a pattern expand to too many patterns, or it has too many steps."""


class Glob:
    """One pattern; raises TooManyAlternatives if it cannot be used."""

    def __init__(self, pattern: str) -> None:
        anywhere = "" if "/" in pattern else f"{_ANY_STEPS}/"
        self._patterns = [_steps(anywhere + one) for one in _alternatives(pattern)]

    def matches(self, relative: str) -> bool:
        """Whether the pattern matches a path below the searched folder."""
        steps = relative.split("/")
        return any(_matches(pattern, steps, _ANY_STEPS, step_matches) for pattern in self._patterns)


def step_matches(pattern: str, name: str) -> bool:
    """Whether one step of a pattern matches one step of a path."""
    return _matches(_PARTS.findall(pattern), name, "*", _part_matches)


def fixed_part(pattern: str) -> tuple[str, str]:
    """The leading steps without wildcards, and the rest, which has at least one step."""
    steps = pattern.split("/")
    count = 0
    while count < len(steps) - 1 and _WILD.isdisjoint(steps[count]):
        count += 1
    return "/".join(steps[:count]) or "/" * (count > 0), "/".join(steps[count:])


def _alternatives(pattern: str) -> list[str]:
    done: list[str] = []
    waiting = [pattern]
    while waiting:
        one = waiting.pop()
        braces = _BRACES.search(one)
        if braces is None:
            done.append(one)
        else:
            choices = braces[1].split(",")
            waiting += [one[: braces.start()] + each + one[braces.end() :] for each in choices]
        if len(done) + len(waiting) > ALTERNATIVES_LIMIT:
            raise TooManyAlternatives(pattern)
    return done


def _steps(pattern: str) -> list[str]:
    steps = [step for step in pattern.split("/") if step not in {"", "."}]
    if len(steps) > STEPS_LIMIT:
        raise TooManyAlternatives(pattern)
    return steps


def _matches(
    pattern: Sequence[PatternPart],
    items: Sequence[PathPart],
    star: PatternPart,
    matches: Callable[[PatternPart, PathPart], bool],
) -> bool:
    """Greedy matching that backtracks only to the last star, which then takes one more item."""
    at = here = 0
    last_star, taken = -1, 0
    while here < len(items):
        if at < len(pattern) and pattern[at] == star:
            last_star, taken = at, here
            at += 1
        elif at < len(pattern) and matches(pattern[at], items[here]):
            at, here = at + 1, here + 1
        elif last_star >= 0:
            taken += 1
            at, here = last_star + 1, taken
        else:
            return False
    return all(part == star for part in pattern[at:])


def _part_matches(part: str, character: str) -> bool:
    if part == "?":
        return True
    if len(part) < 3 or part[0] != "[":
        return part == character
    inverted = part[1] in "!^"
    members = part[1 + inverted : -1]
    return _is_member(members, character) != inverted


def _is_member(members: str, character: str) -> bool:
    at = 0
    while at < len(members):
        if members[at + 1 : at + 2] == "-" and at + 2 < len(members):
            if members[at] <= character <= members[at + 2]:
                return True
            at += 3
        else:
            if members[at] == character:
                return True
            at += 1
    return False
