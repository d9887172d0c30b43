"""File name patterns, matched in bounded time whatever the pattern.

- `*` and `?` stay within one step of a path, `**` stands for any number of steps, `[a-z]` and
  `[!a-z]` for one character, `{a,b}` for either.
- A pattern without a slash is about the file's own name, wherever it lies.
- A pattern comes from a model: a regular expression made of it could be made to run for years. So
  matching goes back to the last star only, which is at most pattern times text.
"""

import re
from collections.abc import Callable, Sequence
from typing import Final, TypeVar

Sign = TypeVar("Sign")
Thing = TypeVar("Thing")

ALTERNATIVES_LIMIT: Final = 64
STEPS_LIMIT: Final = 64

_BRACES = re.compile(r"\{([^{}]*,[^{}]*)\}")
_SIGNS = re.compile(r"\[[!^]?\]?[^\]]*\]|.", re.DOTALL)
_ANY_STEPS: Final = "**"
_WILD: Final = frozenset("*?[{")


class TooManyAlternatives(ValueError):
    """The braces of a pattern multiply beyond reason."""


class Glob:
    """One pattern. TooManyAlternatives when it cannot be used."""

    def __init__(self, pattern: str) -> None:
        anywhere = "" if "/" in pattern else f"{_ANY_STEPS}/"
        self._patterns = [_steps(anywhere + one) for one in _alternatives(pattern)]

    def fits(self, relative: str) -> bool:
        """Whether a path below the searched folder is meant."""
        steps = relative.split("/")
        return any(_fits(pattern, steps, _ANY_STEPS, step_fits) for pattern in self._patterns)


def step_fits(pattern: str, name: str) -> bool:
    """Whether one step of a path fits one step of a pattern."""
    return _fits(_SIGNS.findall(pattern), name, "*", _sign_fits)


def fixed_part(pattern: str) -> tuple[str, str]:
    """The leading steps that hold no wildcard, and the rest, which always has a step."""
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


def _fits(
    pattern: Sequence[Sign],
    things: Sequence[Thing],
    star: Sign,
    fits: Callable[[Sign, Thing], bool],
) -> bool:
    """Greedy matching with one place to go back to: the last star, which then takes one more."""
    at = here = 0
    last_star, taken = -1, 0
    while here < len(things):
        if at < len(pattern) and pattern[at] == star:
            last_star, taken = at, here
            at += 1
        elif at < len(pattern) and fits(pattern[at], things[here]):
            at, here = at + 1, here + 1
        elif last_star >= 0:
            taken += 1
            at, here = last_star + 1, taken
        else:
            return False
    return all(sign == star for sign in pattern[at:])


def _sign_fits(sign: str, character: str) -> bool:
    if sign == "?":
        return True
    if len(sign) < 3 or sign[0] != "[":
        return sign == character
    inverted = sign[1] in "!^"
    members = sign[1 + inverted : -1]
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
