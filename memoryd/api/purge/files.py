"""A purge on disk: which files lose lines, which are removed, and where a search looks.

- Notes, checkpoints and daily logs lose the lines that show a trace; a dream's kept copy loses the
  file itself. Vectors are a cache without names: all of them go, and are made again when needed.
- Other memories are never changed, nor are the client's own files. What they say is reported.
"""

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec

from memoryd.api.purge.tables import PurgedMemory
from memoryd.base.errors import MemorydError
from memoryd.base.paths import Places
from memoryd.memories.rules.topics import INDEX_FILE
from memoryd.memories.rules.traces import Traces
from memoryd.system.folder import Folder
from memoryd.system.plain_file import opened, read_plain
from memoryd.text.decode import decoded
from memoryd.text.lazy_regex import late

CHUNK_BYTES: Final = 4 * 1024 * 1024
READ_BYTES: Final = 64 * 1024 * 1024
_LINK: Final = late(r"\]\(([^)\s]+\.md)\)")


class SearchedPlace(msgspec.Struct, frozen=True, kw_only=True):
    """Where a purge looked; `left` are the files in which something is still found.

    What is not `ours` is another memory's or the client's, and was not changed.
    """

    place: str
    looked: int
    removed: int = 0
    left: list[str] = []
    ours: bool = True


class DiskPurge:
    """Blocking."""

    def __init__(self, places: Places) -> None:
        self._claude = Path(places.claude_dir)
        self._state = Path(places.state_dir)
        self._log = Path(places.log_file)

    def purge(self, memory: PurgedMemory) -> dict[str, int]:
        """Removes the traces; returns how many lines or files went, by place."""
        removed = {
            place: sum(_cleaned(path, memory.traces) for path in paths())
            for place, paths in self._texts(memory.folder).items()
        }
        copies = list(self._copies(memory))
        for path in copies:
            with suppress(OSError):
                path.unlink()
        names = Traces((), memory.files)
        indexes = self._state.glob(f"dreams/*/memory/{INDEX_FILE}")
        lines = sum(_cleaned(path, names) for path in indexes)
        vectors = [path for path in (self._state / "vectors").rglob("*") if path.is_file()]
        shutil.rmtree(self._state / "vectors", ignore_errors=True)
        return removed | {"dream copies": len(copies) + lines, "vectors": len(vectors)}

    def search(self, memory: PurgedMemory, packed: list[bytes]) -> Iterator[SearchedPlace]:
        """Looks everywhere that this user's memoryd or its client writes."""
        traces = memory.traces
        yield self._index(memory)
        for place, paths in self._texts(memory.folder).items():
            yield _searched(place, list(paths()), traces)
        yield _searched("dream copies", _files(self._state / "dreams"), traces)
        yield _searched("vectors", _files(self._state / "vectors"), traces)
        yield _searched("logs", sorted(self._log.parent.glob(f"{self._log.name}*")), traces)
        yield self._database_bytes(traces, packed)
        own = {*memory.paths}
        memories = [
            path for path in self._memories() if str(path) not in own and path.name != INDEX_FILE
        ]
        gone = [Path(path) for path in memory.paths]
        yield _searched("memory files", gone, traces)
        yield _searched("other memories", memories, traces, ours=False)
        yield self._client_files(traces)

    def _texts(self, folder: str) -> dict[str, Callable[[], Iterator[Path]]]:
        """Our own running texts, which may quote a memory; listed at each call."""
        projects, memory = self._claude / "projects", Path(folder)
        return {
            "daily logs": lambda: memory.glob("logs/*/*/*.md"),
            "session notes": lambda: projects.glob("*/*/session-memory/summary.md"),
            "checkpoints": lambda: self._state.glob("checkpoints/*/*.md"),
        }

    def _index(self, memory: PurgedMemory) -> SearchedPlace:
        """The store removes the line of a memory; lines of other memories are theirs."""
        path = Path(memory.folder, INDEX_FILE)
        lines = [
            line
            for line in _text(path).splitlines()
            if not (link := _LINK.search(line)) or link[1] in memory.files
        ]
        left = [str(path)] if memory.traces.found_in("\n".join(lines)) else []
        return SearchedPlace(place="index", looked=1, left=left)

    def _copies(self, memory: PurgedMemory) -> Iterator[Path]:
        for file in memory.files:
            yield from self._state.glob(f"dreams/*/memory/{file}")

    def _memories(self) -> Iterator[Path]:
        yield from self._claude.glob("projects/*/memory/**/*.md")
        for folder in ("memory", "memory-groups", "agent-memory"):
            yield from self._claude.glob(f"{folder}/**/*.md")

    def _database_bytes(self, traces: Traces, packed: list[bytes]) -> SearchedPlace:
        """The files of the database as bytes: free pages and the write-ahead log included."""
        # A packed text begins like many others; its end has a checksum of the whole.
        needles = [data[-24:] for data in packed]
        needles += [phrase.encode() for phrase in traces.phrases]
        needles += [name.encode() for name in traces.names]
        files = sorted(self._state.glob("state.db*"))
        left = [str(path) for path in files if _holds(path, needles)]
        return SearchedPlace(place="database bytes", looked=len(files), left=left)

    def _client_files(self, traces: Traces) -> SearchedPlace:
        """Transcripts can be huge, so they are searched as bytes."""
        files = [*self._claude.glob("projects/**/*.jsonl"), self._claude / "history.jsonl"]
        needles = [msgspec.json.encode(phrase)[1:-1] for phrase in traces.phrases]
        left = sorted(str(path) for path in files if _holds(path, needles))
        return SearchedPlace(
            place="the client's own files", looked=len(files), left=left, ours=False
        )


def _files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file() and not path.is_symlink()]


def _searched(place: str, paths: list[Path], traces: Traces, *, ours: bool = True) -> SearchedPlace:
    left = sorted({str(path) for path in paths if traces.found_in(_text(path))})
    return SearchedPlace(place=place, looked=len(paths), left=left, ours=ours)


def _text(path: Path) -> str:
    try:
        return decoded(read_plain(path, READ_BYTES))
    except OSError:
        return ""


def _cleaned(path: Path, traces: Traces) -> int:
    """Rewrites a text without the lines that show a trace; returns how many these were."""
    text, lines = traces.without(_text(path))
    if not lines:
        return 0
    try:
        with Folder.open(str(path.parent)) as folder:
            before = folder.read(path.name, READ_BYTES)
            folder.write(path.name, text.encode(), over=before.version, modified=before.modified)
    except MemorydError:  # the search will find it
        return 0
    return lines


def _holds(path: Path, needles: list[bytes]) -> bool:
    """Whether a file, of any size, holds one of these."""
    overlap = max(map(len, needles), default=1) - 1
    try:
        with opened(path) as handle, os.fdopen(handle, "rb", closefd=False) as file:
            rest = b""
            while data := file.read(CHUNK_BYTES):
                data = rest + data
                if any(needle in data for needle in needles):
                    return True
                rest = data[-overlap:] if overlap else b""
    except OSError:
        pass
    return False
