"""Patterns matched as git matches them, by pathspec; those that git could not read mean nothing."""

import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import Final

from pathspec import GitIgnoreSpec
from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern

_SET = re.compile(r"\\.|\[\^?\]?(?:\\.|[^]\\])*\]", re.DOTALL)
_MEMBER = re.compile(r"\\.|.", re.DOTALL)
_SIGNS: Final = frozenset("[]^-&~|")


def matcher(patterns: Iterable[str]) -> Callable[[str], bool]:
    """Whether the patterns, in their order, mean a path."""
    return GitIgnoreSpec(_readable(patterns), backend="simple").match_file


def _readable(patterns: Iterable[str]) -> Iterator[GitIgnoreSpecPattern]:
    for pattern in patterns:
        with suppress(ValueError, re.error):
            yield _Pattern(pattern)


class _Pattern(GitIgnoreSpecPattern):
    """As git reads it, whatever signs a later Python may give a meaning to inside of sets."""

    @classmethod
    def pattern_to_regex(  # type: ignore[override]  # bytes are never given
        cls, pattern: str
    ) -> tuple[str | None, bool | None]:
        regex, include = super().pattern_to_regex(pattern)
        return regex and _SET.sub(lambda found: plain_set(found[0]), regex), include


def plain_set(text: str) -> str:
    """The same set of characters without a sign that `re` would have to warn of.

    Anything but a set is given back as it is.
    """
    if not text.startswith("["):
        return text
    start = 2 if text.startswith("[^") else 1
    members = _MEMBER.findall(text[start:-1])
    parts: list[str] = []
    while members:
        if members[1:2] == ["-"] and len(members) > 2:
            parts.append(f"{_as_itself(members[0])}-{_as_itself(members[2])}")
            del members[:3]
        else:
            parts.append(_as_itself(members.pop(0)))
    return f"{text[:start]}{''.join(parts)}]"


def _as_itself(member: str) -> str:
    return f"\\{member}" if member in _SIGNS else member
