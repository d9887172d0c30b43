"""What a person confirms: memories that were found, so that nobody is known to have written them.

- Files from before the first start, or from before the database was lost, are found too. So is what
  git, a script or an editor wrote, and a text of ours that one of them changed.
- Only a person confirms. From then on the memory counts as its header says, until its bytes change.
- An index is confirmed with its directory: a line in it may be anyone's.
- All methods block.
"""

from collections.abc import Iterator, Sequence

import msgspec

from memoryd.base.errors import MemorydError, Refused
from memoryd.memories.agents import FindsProject
from memoryd.memories.catalog import By, Catalog
from memoryd.memories.records import MemoryDirectory, MemoryTrusted, Stored
from memoryd.memories.rules import topics
from memoryd.memories.rules.topics import INDEX_FILE
from memoryd.memories.store import Store
from memoryd.memories.version_table import VersionTable
from memoryd.system.notices import Notices
from memoryd.text.masking.mask import presentable
from memoryd.text.shorten import cut_at_word, one_line

SHOWN_CHARACTERS = 200


class FoundMemory(msgspec.Struct, frozen=True):
    """A memory that waits for somebody to vouch for it; `text` is its beginning, masked."""

    path: str
    file: str
    scope: str
    name: str
    text: str


class TrustAnswer(msgspec.Struct, frozen=True):
    """What was confirmed, what was known already, and what still waits."""

    confirmed: list[FoundMemory]
    known: list[str]
    waiting: list[FoundMemory]


class Trusting:
    def __init__(
        self,
        scopes: FindsProject,
        catalog: Catalog,
        store: Store,
        versions: VersionTable,
        notices: Notices,
    ) -> None:
        self._scopes = scopes
        self._catalog = catalog
        self._store = store
        self._versions = versions
        self._notices = notices

    def waiting(self, cwd: str) -> list[FoundMemory]:
        """The found memories of a project, the user's included."""
        return [_shown(one) for one in self._found(self._scopes.project(cwd).directories)]

    def confirm(
        self, cwd: str, named: Sequence[str], *, everything: bool = False, by: By = "user"
    ) -> TrustAnswer:
        """Confirms these memories, or all of the project's and the user's."""
        if by != "user" and (named or everything):
            raise Refused(
                "only a person can confirm a memory of unknown origin",
                hint="they run memoryd trust in a terminal of their own",
            )
        directories = self._scopes.project(cwd).directories
        chosen = [self._catalog.find(cwd, name) for name in named]
        wanted = [self._store.recorded(one.directory, one.file) for one in chosen]
        if everything:
            wanted = [*self._found(directories)]
        confirmed = [one for one in wanted if one.origin == "found"]
        for one in confirmed:
            self._versions.origins.note_hash(one.version, "confirmed")
            self._notices.post(MemoryTrusted(one.directory, one.file))
        for directory in directories if everything else ():
            self._confirm_index(directory)
        known = [one.path for one in wanted if one.origin != "found"]
        return TrustAnswer([_shown(one) for one in confirmed], known, self.waiting(cwd))

    def _found(self, directories: Sequence[MemoryDirectory]) -> Iterator[Stored]:
        for directory in directories:
            for one in self._store.read_all(directory):
                if one.origin == "found":
                    yield self._store.recorded(directory, one.file)

    def _confirm_index(self, directory: MemoryDirectory) -> None:
        try:
            version = self._store.read(directory, INDEX_FILE).version
        except MemorydError:  # there is none
            return
        self._versions.origins.note_index(directory.path, version)


def _shown(one: Stored) -> FoundMemory:
    text = cut_at_word(one_line(presentable(one.topic.body)), SHOWN_CHARACTERS)
    name = presentable(topics.title_of(one.topic, one.file))
    return FoundMemory(one.path, one.file, one.directory.scope, name, text)
