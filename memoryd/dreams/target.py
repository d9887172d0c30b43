"""What a dream is about: one memory directory, and whose it is.

- A project's own, its group's, its team's, an agent's, or the person's. Each has its own lock,
  record and gates; the sessions of a project count towards all of its directories. A dream over a
  group sees the sessions of the project that it was due in, and no other project's.
- A person's own memories and those of their agents apply in all projects, so sessions of every
  project with memory on count towards their dreams. Such a dream sees those sessions, but no
  project's files or memories.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Literal, TypeAlias

import msgspec

from memoryd.base import paths
from memoryd.base.errors import NotFound
from memoryd.base.paths import AgentScope, Places
from memoryd.memories.records import MemoryDirectory
from memoryd.memories.rules.claude_settings import Switch
from memoryd.memories.scopes import Scopes


class AgentName(msgspec.Struct, frozen=True):
    """An agent whose memories are meant; without `where`, those nearest to the project."""

    name: str
    where: AgentScope | None = None


DreamScope: TypeAlias = Literal["project", "group", "user", "team"] | AgentName


class DreamTarget(msgspec.Struct, frozen=True):
    """A memory directory to dream over; `project` is its project's root, empty for the person's.

    `others` are memories that its dreams may read as well, `agent` whose memories they are.
    """

    directory: MemoryDirectory
    switch: Switch
    project: str = ""
    others: tuple[MemoryDirectory, ...] = ()
    agent: str = ""

    @property
    def name(self) -> str:
        """What to call it in a message."""
        is_projects_own = self.directory.scope == "project"
        return self.project if is_projects_own and self.project else self.directory.path

    def command(self, arguments: str) -> str:
        """A `memoryd dream` command line for this target."""
        if self.directory.scope == "project":
            return f"memoryd dream {arguments}"
        agent = f" --agent {self.agent}" if self.agent else ""
        scope = f" --scope {self.directory.scope}"
        return f"memoryd dream {arguments}{agent or scope}"


def target_of(scopes: Scopes, cwd: str, scope: DreamScope) -> DreamTarget:
    """Blocking: a project may have to be looked up on disk. NotFound for an unknown agent."""
    if scope == "user":
        person = scopes.person()
        return DreamTarget(person.memory, person.dream_switch)
    if isinstance(scope, AgentName):
        return _agent_target(scopes, cwd, scope)
    project = scopes.project(cwd)
    own = project.directory(scope)
    others = tuple(one for one in project.directories if one != own)
    return DreamTarget(own, project.dream_switch, project.root, others=others)


def _agent_target(scopes: Scopes, cwd: str, agent: AgentName) -> DreamTarget:
    project = scopes.project(cwd) if cwd else None
    wanted: tuple[AgentScope, ...] = (agent.where,) if agent.where else ("local", "project", "user")
    for where in wanted:
        if where != "user" and project is None:
            continue
        root = project.root if project else ""
        path = paths.agent_memory(scopes.places, root, agent.name, where)
        if not Path(path).is_dir():
            continue
        if where == "user" or project is None:
            switch = scopes.person().dream_switch
            return DreamTarget(MemoryDirectory(path, "agent"), switch, agent=agent.name)
        directory = MemoryDirectory(path, "agent", beneath=root)
        return DreamTarget(directory, project.dream_switch, root, agent=agent.name)
    raise NotFound(
        f"the agent {agent.name} has no memories here", hint="agents get some when they first save"
    )


def scopes_of(places: Places, scopes: Scopes, root: str) -> Iterator[DreamScope]:
    """Whose memories there are in a project; without a root, the person's and their agents'.

    Blocking.
    """
    if not root:
        yield "user"
        yield from _agents(f"{places.claude_dir}/agent-memory", "user")
        return
    yield "project"
    project = scopes.project(root)
    if project.group is not None and Path(project.group.path).is_dir():
        yield "group"
    if Path(project.team.path).is_dir():
        yield "team"
    yield from _agents(f"{root}/.claude/agent-memory", "project")
    yield from _agents(f"{root}/.claude/agent-memory-local", "local")


def _agents(folder: str, where: AgentScope) -> list[AgentName]:
    try:
        found = sorted(one.name for one in Path(folder).iterdir() if one.is_dir())
    except OSError:
        return []
    return [AgentName(name, where) for name in found if paths.name_is_plain(name)]
