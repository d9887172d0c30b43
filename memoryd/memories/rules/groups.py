"""Which group of projects a project belongs to.

Rules
- A group has a name, which is a folder name, and patterns for the roots of its projects. `*` stands
  for a part of one folder's name, `**` for any folders, `~/` for the home.
- A project is in at most one group: the first, in the order of config.toml, that names its root.
- Patterns are the person's own; no repository can put itself into a group.
"""

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase

from memoryd.base.paths import clean, expand_home


def group_of(root: str, groups: Mapping[str, Sequence[str]], homes: Sequence[str]) -> str:
    """The name of the project's group, empty if it is in none; `homes` are paths of the home."""
    steps = clean(root).split("/")[1:]
    for name, patterns in groups.items():
        for pattern in patterns:
            for home in homes:
                wanted = clean(expand_home(pattern, home)).split("/")[1:]
                if _matches(steps, wanted):
                    return name
    return ""


def _matches(steps: Sequence[str], wanted: Sequence[str]) -> bool:
    """Step by step; the rows of a table instead of a recursion, so that `**` costs no more."""
    reached = {0}
    for part in wanted:
        if part == "**":
            reached = set(range(min(reached), len(steps) + 1))
        else:
            reached = {at + 1 for at in reached if at < len(steps) and fnmatchcase(steps[at], part)}
        if not reached:
            return False
    return len(steps) in reached
