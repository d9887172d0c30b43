"""What a dream is about: the memory directory of a project, or the person's own.

A person's own memories apply in all projects, so sessions of every project with memory on count
towards their dreams. Such a dream sees those sessions, but no project's files or memories.
"""

from typing import Literal, TypeAlias

import msgspec

from memoryd.memories.records import MemoryDirectory
from memoryd.memories.rules.claude_settings import Switch
from memoryd.memories.scopes import Scopes

DreamScope: TypeAlias = Literal["project", "user"]


class DreamTarget(msgspec.Struct, frozen=True):
    """A memory directory to dream over; `project` is its project's root, empty for the person's.

    `others` are memories that its dreams may read as well.
    """

    directory: MemoryDirectory
    switch: Switch
    project: str = ""
    others: tuple[MemoryDirectory, ...] = ()

    @property
    def name(self) -> str:
        """What to call it in a message."""
        return self.project or self.directory.path

    def command(self, arguments: str) -> str:
        """A `memoryd dream` command line for this target."""
        scope = "" if self.project else " --scope user"
        return f"memoryd dream {arguments}{scope}"


def target_of(scopes: Scopes, cwd: str, scope: DreamScope) -> DreamTarget:
    """Blocking: a project may have to be looked up on disk."""
    if scope == "user":
        person = scopes.person()
        return DreamTarget(person.memory, person.dream_switch)
    project = scopes.project(cwd)
    return DreamTarget(
        project.memory, project.dream_switch, project.root, others=(project.user, project.team)
    )
