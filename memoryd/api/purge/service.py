"""Purges a memory: removes it from every place, then searches every place for what is left.

Rules
- Only a person may purge: nothing brings it back, and an agent can be talked into anything.
- A memory is known by everything that it ever said: all its versions, the retired copies, and its
  file names. A forgotten one can be purged too, while its history exists.
- The answer names every place that was searched, with what went and what is still found. Places
  that are not memoryd's to change are searched as well.
"""

from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial

import anyio.to_thread
import msgspec
import structlog

from memoryd.api.purge.files import DiskPurge, SearchedPlace
from memoryd.api.purge.tables import OF_OTHERS, PurgedMemory, StatePurge
from memoryd.api.rules import memory_params
from memoryd.base.errors import MemorydError, Refused
from memoryd.base.paths import Places
from memoryd.memories.kept_files import KeptFiles
from memoryd.memories.records import MemoryDirectory
from memoryd.memories.rules import topics
from memoryd.memories.rules.retirement import name_when_current
from memoryd.memories.rules.traces import Traces
from memoryd.memories.store import Store
from memoryd.memories.version_table import VersionTable
from memoryd.memories.versions import Versions
from memoryd.system.database import Database
from memoryd.team.team_table import TeamTable
from memoryd.text.decode import decoded

log = structlog.get_logger(__name__)

ScrubLog = Callable[[Callable[[str], bool]], int]


class PurgeAnswer(msgspec.Struct, frozen=True):
    """`gone` is whether nothing is left in any place of ours."""

    path: str
    gone: bool
    places: list[SearchedPlace]


class Purge:
    def __init__(
        self,
        places: Places,
        database: Database,
        store: Store,
        versions: Versions,
        table: VersionTable,
        *,
        scrub_log: ScrubLog,
        forget_followers: Callable[[], None],
    ) -> None:
        self._database = database
        self._store = store
        self._versions = versions
        self._table = table
        self._disk = DiskPurge(places)
        self._kept = KeptFiles(places.state_dir)
        self._state = StatePurge(database)
        self._teams = TeamTable(database)
        self._scrub_log = scrub_log
        self._forget_followers = forget_followers

    async def answer(self, params: memory_params.MemoryPurgeParams) -> PurgeAnswer:
        if params.by != "user":
            raise Refused(
                "only a person may purge a memory",
                hint="in a terminal: memoryd forget --purge NAME",
            )
        work = partial(self._purge, params.cwd, params.path)
        memory, removed, packed = await anyio.to_thread.run_sync(work)
        # By now the notices about it were delivered, and what they logged can be removed.
        places = await anyio.to_thread.run_sync(self._prove, memory, removed, packed)
        gone = not any(one.left for one in places if one.ours)
        log.info("memory-purged", places=len(places), gone=gone)
        return PurgeAnswer(memory.paths[0], gone, places)

    def _purge(self, cwd: str, named: str) -> tuple[PurgedMemory, dict[str, int], list[bytes]]:
        place = self._versions.find(cwd, named)
        directory = place.directory
        if self._teams.joined(directory.path) is not None:
            raise Refused(
                f"{place.file} is the team's, and the others have it too",
                hint=f"first: memoryd team unshare {place.file}; what the server recorded can only"
                " be erased by the owner of its tables (memoryd manual team)",
            )
        # The directory first, as every writer does: else two threads could wait for each other.
        with self._store.together(directory):
            # Known only now: whoever wrote while this waited may have said something new.
            memory = self._known_as(directory, name_when_current(place.file))
            packed = self._state.packed_texts(memory)
            with self._database.erasing():
                present = 0
                for file in memory.files:
                    with suppress(MemorydError):
                        self._store.forget(directory, file, cause="user")
                        present += 1
                removed = dict(self._state.purge(memory))
        self._forget_followers()
        self._kept.drop(directory.path)
        return memory, {"memory files": present} | removed | self._disk.purge(memory), packed

    def _known_as(self, directory: MemoryDirectory, file: str) -> PurgedMemory:
        retired = [one.file for one in self._store.retired(directory)]
        files = (file, *(one for one in retired if name_when_current(one) == file))
        texts = [*self._texts(directory, file, files)]
        return PurgedMemory(directory.path, files, Traces(texts, {file}))

    def _texts(
        self, directory: MemoryDirectory, file: str, files: tuple[str, ...]
    ) -> Iterator[str]:
        for version in self._table.versions(directory.path, file):
            if version.sha256:
                data = self._table.content(directory.path, file, version.version)
                yield _said(decoded(data))
        for one in files:
            with suppress(MemorydError):
                yield _said(self._store.read(directory, one).text)

    def _prove(
        self, memory: PurgedMemory, removed: dict[str, int], packed: list[bytes]
    ) -> list[SearchedPlace]:
        removed = removed | {"logs": self._scrub_log(memory.traces.found_in)}
        rows = [
            SearchedPlace(
                place=place,
                looked=1,
                left=["state.db"] if count else [],
                ours=place != OF_OTHERS,
            )
            for place, count in self._state.search(memory).items()
            if count or not place.startswith("table ")
        ]
        places = [*self._disk.search(memory, self._state.unused(packed)), *rows]
        return [msgspec.structs.replace(one, removed=removed.get(one.place, 0)) for one in places]


def _said(text: str) -> str:
    """What a memory says: not its dates and links, which others share."""
    topic = topics.parse(text)
    return f"{topic.name}\n{topic.description}\n{topic.body}"
