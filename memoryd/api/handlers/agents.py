"""Named sub-agents: who has a memory, what one starts with, and their snapshots. Blocking.

- What the client loads by itself (the index that an agent's definition asks for) is not repeated.
- In a repository anybody may have written an index: only lines of known writers are given.
"""

from typing import Final

import msgspec

from memoryd.api.rules import memory_params
from memoryd.base.paths import AgentScope
from memoryd.base.timestamps import iso_time
from memoryd.memories.agents import AgentMemory, Agents
from memoryd.memories.scopes import Project, Scopes
from memoryd.memories.snapshots import Snapshots, SnapshotWritten
from memoryd.memories.store import Store
from memoryd.sessions.context import INSTRUCTIONS, Context, ContextKind

_NOT_FOR_AGENTS: Final[frozenset[ContextKind]] = INSTRUCTIONS | {
    "guidance",
    "index:project",
    "index:team",
}
_OWN: Final = (
    "memoryd keeps memories of yours in your role as {name}. Read a file when its line bears on the"
    " task. What would help you the next time you are called, write as a short Markdown file into"
    " {folder}."
)
_SHARED: Final = "What holds beyond this task is listed below; read a file if its line bears on it."


class AgentLine(msgspec.Struct, frozen=True):
    """`home` is where new memories go, `where` the scopes that have some; `snapshot` is a date."""

    name: str
    home: AgentScope
    where: list[AgentScope]
    path: str
    memories: int
    snapshot: str


class AgentRequests:
    def __init__(
        self, scopes: Scopes, agents: Agents, store: Store, snapshots: Snapshots, context: Context
    ) -> None:
        self._scopes = scopes
        self._agents = agents
        self._store = store
        self._snapshots = snapshots
        self._context = context

    def list(self, cwd: str) -> list[AgentLine]:
        project = self._scopes.project(cwd)
        return [self._line(project, one) for one in self._agents.known(project)]

    def snapshot(self, params: memory_params.AgentSnapshotParams) -> SnapshotWritten:
        project = self._scopes.project(params.cwd)
        agent = self._agents.of(project, params.agent, params.where)
        return self._snapshots.write(project.root, agent)

    def take_snapshots(self, cwd: str) -> None:
        """At a session's start: agents without a memory get theirs before the client loads it."""
        project = self._scopes.project(cwd)
        for name in self._snapshots.names(project.root):
            self._snapshots.take(project.root, self._agents.of(project, name))

    def at_start(self, cwd: str, name: str) -> str:
        """What an agent is told when it starts; empty if it has no memory and no snapshot."""
        project = self._scopes.project(cwd)
        if not project.switch.enabled or not name:
            return ""
        told = self._snapshots.look(project.root, self._agents.of(project, name))
        agent = self._agents.of(project, name)  # it may have got its memory just now
        if not agent.has_memory:
            return told
        loaded = agent.directories[agent.loaded].path if agent.loaded else ""
        context = self._context.assemble(
            cwd,
            agent=name,
            without=_NOT_FOR_AGENTS,
            loaded=frozenset({loaded}),
            only_known=True,
        )
        head = _SHARED if agent.loaded else _OWN.format(name=name, folder=agent.own.path)
        if agent.loaded and not context.parts:
            head = ""
        return "\n\n".join(text for text in (told, head, context.text) if text)

    def _line(self, project: Project, agent: AgentMemory) -> AgentLine:
        made = self._snapshots.made_at(project.root, agent.name)
        return AgentLine(
            agent.name,
            agent.home,
            [*agent.existing],
            agent.own.path,
            sum(len(self._store.scan(one)) for one in agent.in_order),
            iso_time(made) if made else "",
        )
