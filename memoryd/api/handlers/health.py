"""What only the daemon can find out about its own health, and what it saved last.

Rules
- A finding is `ok`, or `warn` with a reason and with what mends it, in words to type or to do.
- Looking is cheap: headers and indexes, no bodies, nothing that is sent anywhere. Only who asks
  for it has the provider tried: one call of a few tokens, paid for like every other.
- Two projects whose paths differ only in signs share one slug, hence one memory directory. A
  project that is no longer there cannot mix its memories with anybody's.
"""

from collections.abc import Callable, Iterable, Iterator
from itertools import groupby
from typing import Literal

import anyio.to_thread
import msgspec

from memoryd.base import paths
from memoryd.base.errors import MemorydError
from memoryd.llm.connect import ModelServer
from memoryd.llm.rules.messages import ModelRequest, Text, UserTurn
from memoryd.memories.records import Listed, MemoryDirectory
from memoryd.memories.rules import index, topics
from memoryd.memories.rules.topics import INDEX_FILE
from memoryd.memories.scopes import Project, RealFiles, Scopes
from memoryd.memories.store import Store
from memoryd.memories.version_table import VersionTable
from memoryd.text.masking.mask import presentable
from memoryd.transcripts.turn_table import TurnTable

NAMED = 3
RECENT = 5

CHECK_SECONDS = 45.0
STILL_FOUND = "Recall finds the rest all the same."
INDEX_MEND = "memoryd dream --now merges what says the same; memoryd forget NAME takes one out"

Check = Literal["index", "memories", "shared folder", "model server"]


class Finding(msgspec.Struct, frozen=True):
    check: Check
    verdict: Literal["ok", "warn"]
    reason: str
    mend: str = ""


class Recent(msgspec.Struct, frozen=True):
    """A memory that was saved lately, by whatever cause."""

    name: str
    path: str
    project: str
    at: str
    cause: str


class Health:
    def __init__(
        self,
        *,
        scopes: Scopes,
        store: Store,
        history: VersionTable,
        turns: TurnTable,
        models: ModelServer | None,
        model: str,
        projects_in: Callable[[str], set[str]],
    ) -> None:
        self._scopes = scopes
        self._store = store
        self._history = history
        self._turns = turns
        self._models = models
        self._model = model
        self._projects_in = projects_in

    def findings(self, cwd: str) -> list[Finding]:
        """What can be said about a project and its neighbours; blocking."""
        project = self._scopes.project(cwd)
        beside = self._projects_in(paths.slug(project.root))
        known = {project.root, *self._turns.projects(), *self._scopes.roots(), *beside}
        return [
            self._index_finding(project),
            headers_finding(self._listed(project)),
            shared_folder_finding(known, RealFiles().is_dir),
        ]

    async def answer(self, cwd: str, with_provider: bool) -> list[Finding]:
        found = await anyio.to_thread.run_sync(self.findings, cwd)
        return [*found, await self.provider_finding()] if with_provider else found

    async def provider_finding(self) -> Finding:
        """Whether the model server answers, takes the key and knows the model."""
        if self._models is None:
            return Finding("model server", "ok", "none is asked: the built-in rules do the work")
        host = self._models.endpoint.host
        request = ModelRequest(
            job="check",
            project="",
            model=self._model,
            max_tokens=1,
            system=(),
            turns=(UserTurn((Text("Are you there?"),)),),
            thinks=False,
        )
        try:
            answer = await self._models.metered.complete(request, CHECK_SECONDS)
        except MemorydError as error:
            return Finding("model server", "warn", f"{host}: {error.message}", error.hint)
        return Finding(
            "model server", "ok", f"{host} answers with {self._model}, for ${answer.usd:.6f}"
        )

    def recent(self) -> list[Recent]:
        """The memories that were saved last, in all projects, newest first."""
        return [
            Recent(
                name=presentable(topics.title_of(topics.parse(one.text), one.file)),
                path=f"{one.folder}/{one.file}",
                project=self._scopes.owner(MemoryDirectory(one.folder, "project")),
                at=topics.iso_time(one.at),
                cause=one.cause,
            )
            for one in self._history.latest(RECENT)
        ]

    def _listed(self, project: Project) -> Iterator[Listed]:
        for directory in project.directories:
            yield from self._store.scan(directory)

    def _index_finding(self, project: Project) -> Finding:
        for directory in project.directories:
            if warning := self._cut(directory):
                path = f"{directory.path}/{INDEX_FILE}"
                return Finding("index", "warn", f"{path}: {warning} {STILL_FOUND}", INDEX_MEND)
        return Finding("index", "ok", "every index is loaded whole")

    def _cut(self, directory: MemoryDirectory) -> str:
        try:
            return index.loaded(self._store.read(directory, INDEX_FILE).text).warning
        except MemorydError:  # there is none, or it is no plain file
            return ""


def headers_finding(listed: Iterable[Listed]) -> Finding:
    """Memories that recall cannot tell apart, because their header says nothing."""
    broken = [one.path for one in listed if not one.topic.has_header or one.topic.type is None]
    if not broken:
        return Finding("memories", "ok", "every memory has a header that can be read")
    more = f" and {len(broken) - NAMED} more" if len(broken) > NAMED else ""
    return Finding(
        "memories",
        "warn",
        f"no name, description and type can be read from {', '.join(broken[:NAMED])}{more}",
        "begin the file with ---, name:, description:, type: (each on its own line) and ---",
    )


def shared_folder_finding(roots: Iterable[str], exists: Callable[[str], bool]) -> Finding:
    by_slug = sorted((paths.slug(root), root) for root in set(roots) if exists(root))
    for slug, group in groupby(by_slug, key=lambda pair: pair[0]):
        sharing = [root for _, root in group]
        if len(sharing) > 1:
            return Finding(
                "shared folder",
                "warn",
                f"{' and '.join(sharing)} share the folder {slug}, and so their memories",
                "rename one of the project folders",
            )
    return Finding("shared folder", "ok", "no two projects share a memory directory")
