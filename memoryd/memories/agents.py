"""Named sub-agents: where their memories are, and which of them is an agent's own.

Rules
- An agent has a directory in each of three scopes: the person's, the project's (in the repository)
  and the local one (in the project, not for version control). The name is one folder, with a dash
  for each colon; a name that cannot be one is refused.
- Its home is what its definition says under `memory:`, the project's definition before the
  person's; else the nearest directory that exists; else the local one.
- An agent has a memory if its definition says so or one of the directories exists.
- Definitions come with a repository: they are read as plain files of limited size, and say nothing
  but which of the three is meant.
- All methods block.
"""

from collections.abc import Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Final, Protocol, get_args

import msgspec

from memoryd.base import paths
from memoryd.base.errors import InvalidInput
from memoryd.base.paths import AgentScope, Places
from memoryd.memories.records import MemoryDirectory
from memoryd.memories.rules import headers
from memoryd.memories.scopes import Project, RealFiles

WHERE: Final[tuple[AgentScope, ...]] = get_args(AgentScope)
NEAREST: Final[tuple[AgentScope, ...]] = ("local", "project", "user")
DEFINITION_LIMIT_BYTES: Final = 64 * 1024
MOST_DEFINITIONS: Final = 300


class FindsProject(Protocol):
    def project(self, cwd: str) -> Project:
        """The project of a working directory."""


class AgentMemory(msgspec.Struct, frozen=True):
    """`home` is where new memories go; `loaded` is the directory whose index the client loads."""

    name: str
    home: AgentScope
    directories: dict[AgentScope, MemoryDirectory]
    existing: tuple[AgentScope, ...]
    loaded: AgentScope | None = None

    @property
    def own(self) -> MemoryDirectory:
        return self.directories[self.home]

    @property
    def in_order(self) -> tuple[MemoryDirectory, ...]:
        """All three, the home first."""
        rest = (one for where, one in self.directories.items() if where != self.home)
        return (self.own, *rest)

    @property
    def has_memory(self) -> bool:
        return self.loaded is not None or bool(self.existing)


def agent_directories(places: Places, root: str, agent: str) -> dict[AgentScope, MemoryDirectory]:
    """InvalidInput if the name cannot be a folder."""
    return {
        where: MemoryDirectory(
            paths.agent_memory(places, root, agent, where),
            "agent",
            beneath=None if where == "user" else root,
        )
        for where in WHERE
    }


class Agents:
    def __init__(self, places: Places) -> None:
        self._places = places
        self._files = RealFiles()

    def of(self, project: Project, agent: str, where: AgentScope | None = None) -> AgentMemory:
        """The memory of an agent in a project; `where` chooses its home."""
        directories = agent_directories(self._places, project.root, agent)
        existing = tuple(one for one in NEAREST if self._files.is_dir(directories[one].path))
        declared = self._declared(project.root, agent)
        home: AgentScope = where or declared or (existing[0] if existing else "local")
        return AgentMemory(agent, home, directories, existing, declared)

    def known(self, project: Project) -> list[AgentMemory]:
        """Every agent that has a memory in this project, by name."""
        names = {name for name, _ in self._definitions(project.root)}
        for folder in (
            f"{self._places.claude_dir}/agent-memory",
            f"{project.root}/.claude/agent-memory",
            f"{project.root}/.claude/agent-memory-local",
        ):
            with suppress(OSError):
                names |= {one.name for one in Path(folder).iterdir() if one.is_dir()}
        found = []
        for name in sorted(names):
            with suppress(InvalidInput):  # a folder that no agent can have
                found.append(self.of(project, name))
        return [one for one in found if one.has_memory]

    def _declared(self, root: str, agent: str) -> AgentScope | None:
        return next((where for name, where in self._definitions(root) if name == agent), None)

    def _definitions(self, root: str) -> Iterator[tuple[str, AgentScope]]:
        """The agents whose definition gives them a memory, the project's own first."""
        for folder in (f"{root}/.claude/agents", f"{self._places.claude_dir}/agents"):
            with suppress(OSError):
                files = sorted(islice(Path(folder).rglob("*.md"), MOST_DEFINITIONS))
                for file in files:
                    yield from self._definition(str(file))

    def _definition(self, path: str) -> Iterator[tuple[str, AgentScope]]:
        fields, _ = headers.read(self._files.read_text(path, DEFINITION_LIMIT_BYTES) or "")
        name = fields.get("name") or Path(path).stem
        for where in WHERE:
            if fields.get("memory") == where and isinstance(name, str):
                yield name.strip(), where


class AgentView:
    """The projects as an agent's requests see them: its own memories in place of the project's."""

    def __init__(
        self, scopes: FindsProject, agents: Agents, agent: str, where: AgentScope | None = None
    ) -> None:
        self._scopes = scopes
        self._agents = agents
        self._agent = agent
        self._where = where

    def project(self, cwd: str) -> Project:
        project = self._scopes.project(cwd)
        own = self._agents.of(project, self._agent, self._where)
        return msgspec.structs.replace(project, agent=own.in_order)
