"""Which folders of this machine hold what travels: those of its projects, and the person's own.

- A project is here once it was looked up: a session began in it, or a command was run in it. It
  stays known for as long as its folder exists.
- Its name on all machines is by `rules/shared_names`. If two places of this machine have the same
  name, the first one keeps it, and the other one is left alone: a copy, or a repository that only
  says that it is another.
- Excluded projects (`privacy.exclude`), and those in which memory is off, stay out. Blocking.
"""

from pathlib import Path

import msgspec

from memoryd.base.errors import MemorydError
from memoryd.devices.device_table import DeviceTable, NamedProject
from memoryd.devices.rules.shared_names import given_name, shared_name_of
from memoryd.memories.identities import Identities
from memoryd.memories.records import MemoryDirectory
from memoryd.memories.scopes import Scopes


class OwnPlace(msgspec.Struct, frozen=True):
    """A folder of memories; `project` is its name on all machines, empty for the person's own."""

    directory: MemoryDirectory
    project: str = ""
    root: str = ""
    commit: str = ""


class OwnPlaces:
    def __init__(self, scopes: Scopes, identities: Identities, table: DeviceTable) -> None:
        self._scopes = scopes
        self._identities = identities
        self._table = table
        self._identified: dict[str, tuple[str, str]] = {}
        self.copies: dict[str, str] = {}
        self.nameless: list[str] = []

    def here(self) -> list[OwnPlace]:
        """The person's own folder, and one for each project that has a name."""
        found = [OwnPlace(self._scopes.person().memory)]
        taken: dict[str, str] = {}
        known = {one.root: one for one in self._table.projects()}
        self.copies, self.nameless = {}, []
        for root in [*known, *sorted(self._roots() - known.keys())]:
            if not Path(root).is_dir():
                continue
            place = self._place_of(root, known.get(root))
            if place is None:
                continue
            if not place.project:
                self.nameless.append(root)
            elif place.project in taken:
                self.copies[root] = taken[place.project]
            else:
                taken[place.project] = root
                found.append(place)
                self._remember(root, place.project, known.get(root))
        return found

    def name(self, root: str, name: str) -> str:
        """Gives a project the name that it has on all machines."""
        given = given_name(name)
        self._table.name_project(NamedProject(root, f"name:{given}", given))
        return given

    def _roots(self) -> set[str]:
        owned = {root for one in self._identities.directories() for root in one.owners}
        return owned | self._scopes.roots()

    def _place_of(self, root: str, known: NamedProject | None) -> OwnPlace | None:
        try:
            project = self._scopes.project(root)
        except MemorydError:
            return None
        if project.root != root or not project.switch.enabled:
            return None
        name, commit = self._name_of(root, known.given if known else "")
        return OwnPlace(project.memory, name, root, commit)

    def _remember(self, root: str, name: str, known: NamedProject | None) -> None:
        if known is None or known.project != name:
            self._table.name_project(NamedProject(root, name, known.given if known else ""))

    def _name_of(self, root: str, given: str) -> tuple[str, str]:
        """Kept while the daemon runs, except for what has no name yet."""
        found = self._identified.get(root)
        if found is None or not found[0] or given:
            identity = self._identities.of_root(root)
            name = shared_name_of(identity, given, self._table.shared_projects())
            found = self._identified[root] = (name, identity.root_commit)
        return found
