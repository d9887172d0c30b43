"""Puts what the person said into the scope where it holds (`rules/placement`); blocking."""

from memoryd.base.config import UserScope
from memoryd.base.errors import Refused
from memoryd.memories.catalog import By
from memoryd.memories.project_names import NameReader
from memoryd.memories.records import MemoryDirectory
from memoryd.memories.rules.private_names import ProjectNames, private_in, private_parts
from memoryd.memories.rules.topics import TopicType
from memoryd.memories.scopes import Project, Scopes
from memoryd.text.masking.mask import presentable


class Placing:
    def __init__(self, scopes: Scopes, names: NameReader, user: UserScope = "auto") -> None:
        self._scopes = scopes
        self._names = names
        self._user: UserScope = user

    @property
    def fills_user_scope(self) -> bool:
        """Whether anything goes to the user scope by itself."""
        return self._user == "auto"

    def names_of(self, project: Project) -> ProjectNames:
        return self._names.of(project.root, self._scopes.roots())

    def directory_for(
        self, project: Project, type_: TopicType | None, text: str, *, trust: str, asked: str = ""
    ) -> MemoryDirectory:
        """Where a new memory goes; `asked` is the scope that a model named, if it named one."""
        from memoryd.extraction.rules.placement import place_of  # noqa: PLC0415 - its patterns take a while

        if trust != "user-said":
            return project.memory
        group = project.group.path.rpartition("/")[2] if project.group else ""
        place = place_of(type_, text, self.names_of(project), asked, group)
        if place == "user" and not self.fills_user_scope:
            return project.memory
        return project.directory(place)

    def directories(self, project: Project) -> tuple[MemoryDirectory, ...]:
        """Where memories of the person's words may go, the project's own first."""
        shared = (project.group,) if project.group else ()
        return (project.memory, *shared, *((project.user,) if self.fills_user_scope else ()))

    def is_bound(self, project: Project, text: str, *, by_model: bool = False) -> bool:
        """Whether a statement holds in its project only, as far as its words show."""
        from memoryd.extraction.rules.placement import is_bound  # noqa: PLC0415 - as above

        return is_bound(text, self.names_of(project), by_model=by_model)

    def may_be_users(self, project: Project, text: str) -> bool:
        """Whether a text that changes a memory of the user scope says nothing of a project."""
        return not private_in(text, self.names_of(project))

    def check(
        self, project: Project, text: str, *, before: str = "", by: By, anyway: bool = False
    ) -> None:
        """Refused if a text for every project names something of one; a person may insist.

        `before` is what it replaces: what that named, somebody has insisted on.
        """
        if anyway and by == "user":
            return
        parts = private_parts(text, self.names_of(project), guesses=by == "agent")
        if found := next((one for one in parts if one not in before), ""):
            hint = "leave that out, or keep it in the project: --scope project"
            if by == "user":
                hint += "; to do it all the same, add --anyway"
            words = f"{presentable(found)!r} belongs to one project, and every project would see it"
            raise Refused(words, hint)
