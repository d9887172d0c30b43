"""Promotes and demotes memories, and says in which scope a new one belongs. Blocking.

- Whatever goes to the user scope is seen in every project: what names something of one is refused
  there, unless a person insists.
- An agent does not promote: only what the person said goes to every project by itself.
"""

from memoryd.api.rules import memory_params
from memoryd.base.errors import Refused
from memoryd.extraction.placing import Placing
from memoryd.memories.agents import FindsProject
from memoryd.memories.catalog import By, Catalog, Moved
from memoryd.memories.moving import Mover
from memoryd.memories.records import Listed
from memoryd.memories.rules import topics
from memoryd.memories.rules.topics import Scope, Topic, TopicType


class ScopeRequests:
    def __init__(
        self, scopes: FindsProject, catalog: Catalog, mover: Mover, placing: Placing
    ) -> None:
        self._scopes = scopes
        self._catalog = catalog
        self._mover = mover
        self._placing = placing

    def move(self, params: memory_params.MemoryMoveParams) -> Moved:
        one = self._catalog.find(params.cwd, params.path)
        if params.agent:
            raise Refused(
                "an agent's memories stay with it",
                hint="save it again where it belongs: memoryd remember",
            )
        target = self._scopes.project(params.cwd).directory(params.scope)
        is_wider = params.scope == "user" or (params.scope == "group" and not _is_users(one))
        if is_wider and params.by == "agent":
            raise Refused(
                "only a person promotes a memory to other projects",
                hint=f"they type: memoryd promote {one.file}",
            )
        if params.scope == "user" and not _is_users(one):
            whole = self._catalog.get(params.cwd, one.path)
            text = _said_in(topics.parse(whole.content))
            self.check(params.cwd, text, by=params.by, anyway=params.anyway)
        if params.scope == "team" and one.topic.type == "user":
            raise Refused("what concerns one person is not for the team", hint="leave it private")
        moved = self._mover.move(one.directory, one.file, target)
        return Moved(moved.path, moved.number, moved.file, target.scope, one.directory.scope)

    def place(self, cwd: str, type_: TopicType, text: str, *, by: By) -> Scope:
        """Where a new memory belongs if nobody said so."""
        trust = "user-said" if by == "user" else "agent-concluded"
        project = self._scopes.project(cwd)
        return self._placing.directory_for(project, type_, text, trust=trust).scope

    def check(self, cwd: str, text: str, *, before: str = "", by: By, anyway: bool) -> None:
        """Refused if a text for every project names something of one that `before` did not."""
        project = self._scopes.project(cwd)
        self._placing.check(project, text, before=before, by=by, anyway=anyway)

    def check_change(self, params: memory_params.MemoryEditParams, memory: Listed) -> None:
        """The same for a change of a memory of the user scope."""
        before = self._catalog.get(params.cwd, memory.path).content
        text = _said_in(topics.parse(params.content))
        self.check(params.cwd, text, before=before, by=params.by, anyway=params.anyway)


def _is_users(one: Listed) -> bool:
    return one.directory.scope == "user"


def _said_in(topic: Topic) -> str:
    """In a title, capital letters do not mark names."""
    return f"{topic.name.lower()}\n{topic.description}\n{topic.body}"
