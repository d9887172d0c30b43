"""Where dreams are had: over the memory directory of a project, or over a person's own.

A person's own memories follow them over all projects, so every project that has memory on brings
sessions for their dreams. Such a dream sees no project's files and no project's memories, only
those sessions.
"""

from typing import Literal, TypeAlias

import msgspec

from memoryd.memories.records import MemoryDirectory
from memoryd.memories.rules.claude_settings import Switch
from memoryd.memories.scopes import Scopes

DreamScope: TypeAlias = Literal["project", "user"]


class DreamTarget(msgspec.Struct, frozen=True):
    """A memory directory that can dream; `project` is the root it belongs to, if it is one's.

    `others` are memories that its dreams may read too.
    """

    directory: MemoryDirectory
    switch: Switch
    project: str = ""
    others: tuple[MemoryDirectory, ...] = ()

    @property
    def name(self) -> str:
        """What people know it by."""
        return self.project or self.directory.path

    def command(self, words: str) -> str:
        """What a person types about its dreams."""
        scope = "" if self.project else " --scope user"
        return f"memoryd dream {words}{scope}"


def ground_of(scopes: Scopes, cwd: str, scope: DreamScope) -> DreamTarget:
    if scope == "user":
        person = scopes.person()
        return DreamTarget(person.memory, person.dream_switch)
    project = scopes.project(cwd)
    return DreamTarget(
        project.memory, project.dream_switch, project.root, others=(project.user, project.team)
    )
