"""Saves what a person stated where it holds: in the project, its group, or the user scope.

Rules
- A new statement goes where `placing` puts it. One that corrects or repeats a memory goes to that
  memory, in whichever of them it is.
- What is bound to the project neither corrects nor repeats a memory of the others: the nearer rule
  holds here, and the other one everywhere else. What is said of the whole group is not bound.
- What a memory of any of them says already is not saved again.
"""

from collections.abc import Sequence

from memoryd.extraction.known_memories import KnownMemories, KnownMemory
from memoryd.extraction.placing import Placing
from memoryd.extraction.rules.restatement import Relation
from memoryd.extraction.saver import Contradicted, SourcedStatement, StatementSaver
from memoryd.memories.records import MemoryDirectory, Stored
from memoryd.memories.scopes import Project
from memoryd.memories.store import Store


class ScopedSaver:
    """Without `placing`, only the project's memories are there."""

    def __init__(
        self,
        store: Store,
        project: Project,
        placing: Placing | None,
        *,
        again: bool = False,
        memories: KnownMemories | None = None,
    ) -> None:
        self._project = project
        self._placing = placing
        shared = (project.group,) if project.group else ()
        directories = (project.memory, *shared, project.user) if placing else (project.memory,)
        self._savers = {
            one.path: StatementSaver(store, one, again=again, memories=memories)
            for one in directories
        }

    def contradicted(self, sourced: SourcedStatement) -> Contradicted:
        """The memories of all scopes whose place it takes."""
        found = [saver.contradicted(sourced) for saver in self._within_reach(sourced)]
        return Contradicted(
            tuple(memory for one in found for memory in one.sure),
            tuple(memory for one in found for memory in one.unsure),
        )

    def retire(self, sourced: SourcedStatement, old: KnownMemory) -> None:
        self._savers[old.stored.directory.path].retire(sourced, old)

    def save(self, sourced: SourcedStatement) -> Stored | None:
        """The memory that now says it; None if one already did."""
        reach = self._within_reach(sourced)
        if any(saver.is_known(sourced) for saver in reach):
            return None
        return self._saver_for(sourced, reach).save(sourced)

    def relation_to_known(self, sourced: SourcedStatement) -> tuple[Relation, str]:
        for saver in self._within_reach(sourced):
            relation, file = saver.relation_to_known(sourced)
            if relation != "other":
                return relation, file
        return "other", ""

    def _within_reach(self, sourced: SourcedStatement) -> Sequence[StatementSaver]:
        own = self._savers[self._project.memory.path]
        if self._placing is None:
            return [own]
        home = self._home(sourced)
        if home.scope == "project" and self._placing.is_bound(self._project, sourced.core):
            return [own]
        if home.scope == "group":
            return [own, self._savers[home.path]]
        return list(self._savers.values())

    def _saver_for(
        self, sourced: SourcedStatement, reach: Sequence[StatementSaver]
    ) -> StatementSaver:
        for saver in reach:
            relation, _ = saver.relation_to_known(sourced)
            if saver.contradicted(sourced).one or relation != "other":
                return saver
        return self._savers[self._home(sourced).path]

    def _home(self, sourced: SourcedStatement) -> MemoryDirectory:
        if self._placing is None:
            return self._project.memory
        return self._placing.directory_for(
            self._project, sourced.statement.type, sourced.core, trust=sourced.trust
        )


def named_in(directory: MemoryDirectory, file: str) -> str:
    """A file, with its scope where that is not the project's."""
    return file if directory.scope == "project" else f"{directory.scope}/{file}"
