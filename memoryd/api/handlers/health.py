"""Health checks that only the daemon can make, and the memories it saved last.

Rules
- A finding is `ok`, or `warn` or `fail` with a reason and a fix: a command to type or something to
  do. Only a provider that was tried on request can fail.
- Checks are cheap: headers and indexes, no bodies, nothing sent anywhere. Only on request is the
  provider called: one call of a few tokens, charged like every other. Its own words, masked, are
  for the person who asked, and go nowhere else.
- Two projects whose paths differ only in punctuation share one slug, and so the folder that the
  agent loads memory from (`memories/owners`). A project that no longer exists does not count.
"""

import shlex
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby, islice
from typing import Literal

import anyio.to_thread
import msgspec

from memoryd.base import paths
from memoryd.base.errors import MemorydError
from memoryd.base.timestamps import iso_time, next_try_words
from memoryd.llm.connect import Models
from memoryd.llm.rules.messages import (
    CHECK_JOB,
    BudgetReached,
    ModelRequest,
    ProviderDown,
    ProviderPaused,
    ProviderRefused,
    Text,
    UserTurn,
    told,
)
from memoryd.memories.identities import Identities, KnownDirectory
from memoryd.memories.owners import OWNER_FILE
from memoryd.memories.records import Listed, MemoryDirectory
from memoryd.memories.rules import index, topics
from memoryd.memories.rules.topics import INDEX_FILE
from memoryd.memories.scan import oddities
from memoryd.memories.scopes import Project, RealFiles, Scopes
from memoryd.memories.store import Store
from memoryd.memories.version_table import VersionTable
from memoryd.text.masking.mask import presentable
from memoryd.transcripts.turn_table import TurnTable

NAMED = 3
RECENT = 5

CHECK_SECONDS = 45.0
STILL_FOUND = "Recall still finds the rest."
INDEX_FIX = "memoryd dream --now merges duplicates; memoryd forget NAME removes a memory"

Verdict = Literal["ok", "warn", "fail"]
Check = Literal[
    "index",
    "memories",
    "memory files",
    "shared folder",
    "old places",
    "agent settings",
    "model server",
]


class Finding(msgspec.Struct, frozen=True):
    check: Check
    verdict: Verdict
    reason: str
    fix: str = ""


class Recent(msgspec.Struct, frozen=True):
    """A recently saved memory; `cause` says what saved it."""

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
        versions: VersionTable,
        turns: TurnTable,
        models: Models | None,
        model: str,
        problems: Sequence[str],
        projects_in: Callable[[str], set[str]],
        identities: Identities,
    ) -> None:
        self._scopes = scopes
        self._store = store
        self._versions = versions
        self._turns = turns
        self._models = models
        self._model = model
        self._problems = problems
        self._projects_in = projects_in
        self._identities = identities

    def findings(self, cwd: str) -> list[Finding]:
        """Findings about a project and those that may share its folder; blocks."""
        project = self._scopes.project(cwd)
        same_slug = self._projects_in(paths.slug(project.root))
        known = {project.root, *self._turns.projects(), *self._scopes.roots(), *same_slug}
        return [
            self._index_finding(project),
            headers_finding(self._listed(project)),
            shared_folder_finding(known, RealFiles().is_dir, self._memory_of),
            self._identity_finding(project),
            settings_finding(self._scopes.ignored(project)),
            files_finding([odd for one in project.directories for odd in oddities(one)]),
        ]

    def _identity_finding(self, project: Project) -> Finding:
        self._identities.record(project.root, project.memory.path)
        same = self._identities.same_as(project.root, project.memory.path)
        return places_finding(same, list(self._identities.directories()))

    async def answer(self, cwd: str, with_provider: bool) -> list[Finding]:
        found = await anyio.to_thread.run_sync(self.findings, cwd)
        return [*found, await self.provider_finding()] if with_provider else found

    async def provider_finding(self) -> Finding:
        """Whether the provider answers, accepts its login and knows the model."""
        if self._models is None and self._problems:
            return Finding("model server", "fail", self._problems[-1], "then restart memoryd")
        if self._models is None:
            return Finding("model server", "ok", "none is used: the built-in rules do the work")
        model = self._models.model_of(self._model)
        name = self._models.host or self._models.provider
        request = ModelRequest(
            job=CHECK_JOB,
            project="",
            model=self._model,
            max_tokens=1,
            system=(),
            turns=(UserTurn((Text("Are you there?"),)),),
            thinks=False,
        )
        began = time.monotonic()
        try:
            answer = await self._models.checking.complete(request, CHECK_SECONDS)
        except (BudgetReached, ProviderDown, ProviderPaused, ProviderRefused) as error:
            # Our own caps are not the provider's failure: it was not even asked.
            verdict: Verdict = "warn" if isinstance(error, BudgetReached) else "fail"
            until = (
                error.until if isinstance(error, BudgetReached) else self._next_try(self._models)
            )
            words = f"{name}: {told(error)}; {next_try_words(until, time.time())}"
            return Finding("model server", verdict, words, error.hint)
        seconds, usage = time.monotonic() - began, answer.usage
        tokens = f"{usage.prompt_tokens} tokens in, {usage.output_tokens} out"
        cost = f"for ${answer.usd:.6f} ({tokens})"
        return Finding(
            "model server", "ok", f"{name} answered with {model} in {seconds:.1f} s, {cost}"
        )

    @staticmethod
    def _next_try(models: Models) -> float:
        return max(models.metered.pause().until, models.pace.next_try() if models.pace else 0.0)

    def recent(self) -> list[Recent]:
        """The memories saved last, in all projects, newest first."""
        latest = ((one, topics.parse(one.text)) for one in self._versions.latest(4 * RECENT))
        current = (pair for pair in latest if not pair[1].retired)
        return [
            Recent(
                name=presentable(topics.title_of(topic, one.file)),
                path=f"{one.folder}/{one.file}",
                project=self._scopes.owner(MemoryDirectory(one.folder, "project")),
                at=iso_time(one.at),
                cause=one.cause,
            )
            for one, topic in islice(current, RECENT)
        ]

    def _memory_of(self, root: str) -> str:
        return self._scopes.project(root).memory.path

    def _listed(self, project: Project) -> Iterator[Listed]:
        for directory in project.directories:
            yield from self._store.scan(directory)

    def _index_finding(self, project: Project) -> Finding:
        for directory in project.directories:
            if warning := self._cut_warning(directory):
                path = f"{directory.path}/{INDEX_FILE}"
                return Finding("index", "warn", f"{path}: {warning} {STILL_FOUND}", INDEX_FIX)
        return Finding("index", "ok", "every index is loaded in full")

    def _cut_warning(self, directory: MemoryDirectory) -> str:
        try:
            return index.loaded(self._store.read(directory, INDEX_FILE).text).warning
        except MemorydError:  # there is none, or it is not a regular file
            return ""


def headers_finding(listed: Iterable[Listed]) -> Finding:
    """Memories whose header is missing or useless, so that recall knows nothing about them."""
    broken = [one.path for one in listed if not one.topic.has_header or one.topic.type is None]
    if not broken:
        return Finding("memories", "ok", "every memory has a readable header")
    more = f" and {len(broken) - NAMED} more" if len(broken) > NAMED else ""
    return Finding(
        "memories",
        "warn",
        f"no readable name, description and type in {', '.join(broken[:NAMED])}{more}",
        "start the file with ---, name:, description:, type: (each on its own line) and ---",
    )


def files_finding(odd: Sequence[tuple[str, str]]) -> Finding:
    """Memory files that are there but not served, or served and never updated."""
    if not odd:
        return Finding("memory files", "ok", "every memory file can be read and written")
    more = f" and {len(odd) - NAMED} more" if len(odd) > NAMED else ""
    named = "; ".join(f"{name}: {why}" for name, why in odd[:NAMED])
    fix = "copy the file, remove the old one and rename the copy"
    return Finding("memory files", "warn", f"{named}{more}", fix)


def settings_finding(ignored: Sequence[str]) -> Finding:
    """Settings that the user may believe to be in force."""
    if not ignored:
        return Finding("agent settings", "ok", "no memory setting is ignored")
    return Finding("agent settings", "warn", "; ".join(ignored), "correct or remove these settings")


def places_finding(same: Sequence[KnownDirectory], known: Sequence[KnownDirectory]) -> Finding:
    """Memories of this repository under another path, and those whose project is gone."""
    check: Check = "old places"
    for one in sorted(same, key=lambda one: not one.is_orphaned):
        old = one.owners[0] if one.owners else one.slug
        state = "left behind at" if one.is_orphaned else "kept apart at"
        reason = f"{one.memories} memories of this repository are {state} {old}"
        return Finding(check, "warn", reason, f"memoryd adopt {shlex.quote(old)}")
    orphaned = [one for one in known if one.is_orphaned]
    if not orphaned:
        return Finding(check, "ok", "no memories were left behind by a project that moved")
    names = ", ".join(one.owners[0] for one in orphaned[:NAMED])
    more = f" and {len(orphaned) - NAMED} more" if len(orphaned) > NAMED else ""
    # Not a problem of this project: most of them were deleted on purpose.
    words = f"projects that are gone have left memories: {names}{more}"
    return Finding(check, "ok", words, "if this is one of them: memoryd adopt OLD, with that path")


def shared_folder_finding(
    roots: Iterable[str], exists: Callable[[str], bool], memory_of: Callable[[str], str]
) -> Finding:
    by_slug = sorted((paths.slug(root), root) for root in set(roots) if exists(root))
    for slug, group in groupby(by_slug, key=lambda pair: pair[0]):
        sharing = [root for _, root in group]
        places = {root: memory_of(root) for root in sharing}
        if len(sharing) > 1:
            return _twins_finding(slug, places)
    return Finding("shared folder", "ok", "no two projects share a memory directory")


def _twins_finding(slug: str, places: Mapping[str, str]) -> Finding:
    """Two roots with one slug; `places` has the memory directory of each."""
    names = f"{' and '.join(places)} share the folder {slug}"
    if len(set(places.values())) == 1:
        return Finding("shared folder", "ok", f"{names}, and one memory, as its owner file says")
    first = next((one for one in places if f"/{slug}/" in places[one]), "")
    others = [root for root in places if root != first]
    apart = ", ".join(f"that of {root} in {places[root]}" for root in others)
    owner = f"the memory there belongs to {first}, " if first else ""
    file = f"{places[first] if first else places[others[0]]}/{OWNER_FILE}"
    join = "; ".join(f"echo {shlex.quote(root)} >> {shlex.quote(file)}" for root in others)
    return Finding(
        "shared folder",
        "warn",
        f"{names}: {owner}{apart}. The agent itself loads the first one's index for both.",
        f"to keep them wholly apart, rename one of the project folders; to use the first memory for"
        f" both (what is apart stays there, to be moved by hand), to join them: {join}",
    )
