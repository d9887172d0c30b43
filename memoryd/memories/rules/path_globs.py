"""Matches paths against .gitignore patterns, in bounded time.

Rules:
- The last pattern that matches decides; a leading `!` negates. `**` crosses folders, a pattern
  without a slash matches at any depth, and one that matches a folder matches everything in it.
- Beyond .gitignore, `{a,b}` stands for either and a leading `./` is ignored: people write both.
- A pattern that git cannot parse matches nothing.
- Patterns come with a repository, and matching tries every way to spread the stars over the path:
  thirty stars would take years. So the ways are counted first. If all patterns together have too
  many, TooInvolved is raised and nothing is matched.
"""

import re
from collections.abc import Callable, Iterable
from contextlib import suppress
from math import comb, prod
from typing import Final

from memoryd.text.lazy_regex import late

ALTERNATIVES_LIMIT: Final = 64
# At 135 million a second (measured, the slowest of 45 shapes) this is 40 ms.
WAYS_LIMIT: Final = 5_000_000

_BRACES = late(r"\{([^{},]*(?:,[^{},]*)+)\}")
_SET = late(r"\\.|\[\^?\]?(?:\\.|[^]\\])*\]", re.DOTALL)
_SET_MEMBER = late(r"\\.|.", re.DOTALL)
_SPECIAL_IN_SETS: Final = frozenset("[]^-&~|")


class TooInvolved(ValueError):
    """The patterns could be matched in too many ways."""


class Globs:
    """An ordered list of patterns."""

    def __init__(self, patterns: Iterable[str]) -> None:
        self._patterns = [
            one.removeprefix("./") for pattern in patterns for one in _alternatives(pattern)
        ]
        self._git_matches = _git_matcher(self._patterns) if self._patterns else _matches_nothing

    def match(self, relative: str) -> bool:
        """Whether they match the file at this path relative to their folder."""
        if sum(_ways(pattern, relative) for pattern in self._patterns) > WAYS_LIMIT:
            raise TooInvolved
        return self._git_matches(relative)


def _git_matcher(patterns: Iterable[str]) -> Callable[[str], bool]:
    # Late: pathspec takes about 70 ms to import, and few sessions have rules with paths.
    from pathspec import GitIgnoreSpec  # noqa: PLC0415
    from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern  # noqa: PLC0415

    compiled = []
    for pattern in patterns:
        with suppress(ValueError, re.error):
            regex, include = GitIgnoreSpecPattern.pattern_to_regex(pattern)
            if regex is not None:
                escaped = _SET.sub(lambda found: escaped_set(found[0]), regex)
                compiled.append(GitIgnoreSpecPattern(re.compile(escaped), include))
    return GitIgnoreSpec(compiled, backend="simple").match_file


def _matches_nothing(_: str) -> bool:
    return False


def escaped_set(text: str) -> str:
    """The same set of characters, without signs that `re` may give a meaning to one day.

    Anything but a set is returned as it is.
    """
    if not text.startswith("["):
        return text
    start = 2 if text.startswith("[^") else 1
    members = _SET_MEMBER.findall(text[start:-1])
    parts: list[str] = []
    while members:
        if members[1:2] == ["-"] and len(members) > 2:
            parts.append(f"{_escaped(members[0])}-{_escaped(members[2])}")
            del members[:3]
        else:
            parts.append(_escaped(members.pop(0)))
    return f"{text[:start]}{''.join(parts)}]"


def _escaped(member: str) -> str:
    return f"\\{member}" if member in _SPECIAL_IN_SETS else member


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
    """An upper bound on the ways to spread the pattern's stars over the path."""
    steps = path.split("/")
    longest = max(map(len, steps))
    parts = pattern.split("/")
    anywhere = parts.count("**") + 1
    within = prod(
        comb(longest + part.count("*"), longest) for part in parts if part not in {"*", "**"}
    )
    return comb(len(steps) + anywhere, anywhere) * within
