"""A purge in state.db: what goes from each table, and a search of every value in every table.

- Rows about the memory itself go: its versions, how often it was recalled, how a dream undoes it.
- Texts of others lose what they say of it: a candidate, the last words of a session, the open turn
  of a transcript, the story of a dream. A turn that still waits is skipped: it would be said again.
- The history of other memories is theirs. It is searched, and what is found there is reported.
"""

import zlib
from collections import Counter
from collections.abc import Collection, Iterator
from contextlib import suppress
from typing import Final

import msgspec

from memoryd.devices.device_table import AGREED
from memoryd.memories.inbox_table import Candidate
from memoryd.memories.rules.topics import INDEX_FILE
from memoryd.memories.rules.traces import Traces
from memoryd.system.database import Cell, Database
from memoryd.text.decode import decoded
from memoryd.text.private import PRIVATE
from memoryd.transcripts.rules.assembler import FollowState
from memoryd.transcripts.rules.turns import Turn

PURGED: Final = "purged"
_PATH_TABLES: Final = ("recalls", "outcomes", "tool_rules", "surfaced")
# After a purge the history and the undo of dreams hold other memories only.
OF_OTHERS: Final = "history of other memories"
_PLACES: Final = {
    "versions": OF_OTHERS,
    "blobs": OF_OTHERS,
    "dream_files": OF_OTHERS,
    "candidates": "inbox",
    "dreams": "dreams",
    "turns": "waiting turns",
    "last_words": "last words",
    "transcripts": "open turns",
} | dict.fromkeys(_PATH_TABLES, "recalls")


class PurgedMemory(msgspec.Struct, frozen=True):
    """`files` are its names in the directory `folder`, those in `.retired/` included."""

    folder: str
    files: tuple[str, ...]
    traces: Traces

    @property
    def paths(self) -> list[str]:
        return [f"{self.folder}/{file}" for file in self.files]


class StatePurge:
    """Blocking. `purge` counts what it removed, `search` what is left, both by place."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def purge(self, memory: PurgedMemory) -> Counter[str]:
        self._removed: Counter[str] = Counter()
        with self._database.transaction():
            self._history(memory)
            self._paths(memory)
            self._candidates(memory)
            self._dreams(memory)
            self._turns(memory.traces)
            self._agreed(memory)
        return self._removed

    def packed_texts(self, memory: PurgedMemory) -> list[bytes]:
        """Its texts as the database stores them, to look for them in its raw bytes."""
        rows = self._rows_of("versions join blobs using (sha256)", "packed", memory)
        return [packed for (packed,) in msgspec.convert(rows, list[tuple[bytes]])]

    def unused(self, packed: list[bytes]) -> list[bytes]:
        """Those that are not also, byte for byte, another memory's."""
        sql = "select 1 from blobs where packed = ?"
        return [data for data in packed if not self._database.run(sql, data)]

    def search(self, memory: PurgedMemory) -> Counter[str]:
        """Looks at every value, unpacked where it is packed."""
        traces = memory.traces
        found: Counter[str] = Counter({"history": len(self._rows_of("versions", "id", memory))})
        tables = self._database.run("select name from sqlite_master where type = 'table'")
        for (table,) in msgspec.convert(tables, list[tuple[str]]):
            place = _PLACES.get(table, f"table {table}")
            found[place] += 0
            for row in self._database.run(f'select * from "{table}"'):  # noqa: S608 - its own names
                found[place] += any(traces.found_in(text) for text in _texts(row))
        return found

    def _rows_of(self, table: str, columns: str, memory: PurgedMemory) -> list[tuple[Cell, ...]]:
        marks = ", ".join("?" * len(memory.files))
        return self._database.run(
            f"select {columns} from {table} where folder = ? and file in ({marks})",  # noqa: S608 - fixed words
            memory.folder,
            *memory.files,
        )

    def _history(self, memory: PurgedMemory) -> None:
        for file in memory.files:
            gone = self._database.run(
                "delete from versions where folder = ? and file = ? returning id",
                memory.folder,
                file,
            )
            self._removed["history"] += len(gone)
        unused = "sha256 not in (select sha256 from versions where sha256 is not null)"
        self._database.run(f"delete from blobs where {unused}")  # noqa: S608 - fixed words

    def _paths(self, memory: PurgedMemory) -> None:
        for table in _PATH_TABLES:
            for path in memory.paths:
                sql = f"delete from {table} where path = ? returning 1"  # noqa: S608 - fixed words
                self._removed["recalls"] += len(self._database.run(sql, path))

    def _agreed(self, memory: PurgedMemory) -> None:
        """What was agreed about one that the team had once, and has no more; changes that lost.

        Those of the person's machines do not say of which project a file is.
        """
        team = f"{memory.folder}/team"
        for file in memory.files:
            self._database.run(
                "delete from team_known where folder = ? and entry = ? and sha256 = ''", team, file
            )
            sql = "delete from team_conflicts where folder in (?, ?) and entry = ?"
            self._database.run(sql, team, AGREED, file)

    def _candidates(self, memory: PurgedMemory) -> None:
        rows = self._database.run("select id, folder, packed from candidates where packed not null")
        for number, folder, packed in msgspec.convert(rows, list[tuple[int, str, bytes]]):
            one = msgspec.msgpack.decode(zlib.decompress(packed), type=Candidate)
            names = {one.retires, one.successor, one.contradicts, *one.may_contradict}
            concerns = folder == memory.folder and not names.isdisjoint(memory.files)
            text = f"{one.name}\n{one.description}\n{one.body}\n{one.around}"
            if concerns or memory.traces.found_in(text):
                sql = "update candidates set state = 'rejected', packed = null where id = ?"
                self._database.run(sql, number)
                self._removed["inbox"] += 1

    def _dreams(self, memory: PurgedMemory) -> None:
        rows = self._database.run("select id, summary from dreams where summary is not null")
        for number, packed in msgspec.convert(rows, list[tuple[int, bytes]]):
            told = msgspec.json.decode(zlib.decompress(packed))
            clean = _cleaned(told, memory.traces, memory.files)
            if clean != told:
                data = zlib.compress(msgspec.json.encode(clean))
                self._database.run("update dreams set summary = ? where id = ?", data, number)
                self._removed["dreams"] += 1
        own = "dream in (select id from dreams where directory = ?) and file = ?"
        for file in memory.files:
            sql = f"delete from dream_files where {own} returning 1"  # noqa: S608 - fixed words
            self._removed["dreams"] += len(self._database.run(sql, memory.folder, file))
        names = Traces((), memory.files)
        indexes = self._database.run(
            "select dream, before from dream_files where file = ? and before is not null",
            INDEX_FILE,
        )
        for number, before in msgspec.convert(indexes, list[tuple[int, bytes]]):
            text, lines = names.without(decoded(zlib.decompress(before)))
            if lines:
                sql = "update dream_files set before = ? where dream = ? and file = ?"
                self._database.run(sql, zlib.compress(text.encode()), number, INDEX_FILE)
                self._removed["dreams"] += 1

    def _turns(self, traces: Traces) -> None:
        rows = self._database.run("select number, packed from turns where packed is not null")
        for number, packed in msgspec.convert(rows, list[tuple[int, bytes]]):
            turn = msgspec.msgpack.decode(zlib.decompress(packed), type=Turn)
            if traces.found_in("\n".join(f"{part.text}\n{part.gist}" for part in turn.parts)):
                self._database.run(
                    "update turns set state = 'skipped', reason = ?, packed = null"
                    " where number = ?",
                    PURGED,
                    number,
                )
                self._removed["waiting turns"] += 1
        said = self._database.run("select session_id, person || char(10) || text from last_words")
        for session_id, text in msgspec.convert(said, list[tuple[str, str]]):
            if traces.found_in(text):
                self._database.run("delete from last_words where session_id = ?", session_id)
                self._removed["last words"] += 1
        states = self._database.run("select number, snapshot from transcripts")
        for number, snapshot in msgspec.convert(states, list[tuple[int, bytes]]):
            clean = _without_traces(snapshot, traces)
            if clean != snapshot:
                sql = "update transcripts set snapshot = ? where number = ?"
                self._database.run(sql, clean, number)
                self._removed["open turns"] += 1


def _without_traces(snapshot: bytes, traces: Traces) -> bytes:
    """The parser's state without what the open turn says of the memory."""
    with suppress(msgspec.DecodeError, msgspec.ValidationError):
        state = msgspec.msgpack.decode(snapshot, type=FollowState)
        draft, queue = state.progress.draft, state.progress.queue
        waiting = [one for one in queue.waiting if not traces.found_in(one.text)]
        is_clean = len(waiting) == len(queue.waiting)
        queue.waiting = waiting
        for number, part in enumerate(draft.parts if draft else ()):
            if draft and traces.found_in(f"{part.text}\n{part.gist}"):
                draft.parts[number] = msgspec.structs.replace(part, text=PRIVATE, gist="")
                is_clean = False
        return snapshot if is_clean else msgspec.msgpack.encode(state)
    return snapshot


def _cleaned(value: object, traces: Traces, files: Collection[str]) -> object:
    """A story without the memory: what is about its file goes, other texts lose their lines."""
    match value:
        case str():
            return PRIVATE if value in files else traces.without(value)[0]
        case list():
            about = [isinstance(one, dict) and one.get("file") in files for one in value]
            kept = [one for one, is_about in zip(value, about, strict=True) if not is_about]
            return [_cleaned(one, traces, files) for one in kept if one not in files]
        case dict():
            return {key: _cleaned(one, traces, files) for key, one in value.items()}
    return value


def _texts(row: tuple[Cell, ...]) -> Iterator[str]:
    for value in row:
        if isinstance(value, str):
            yield value
        elif isinstance(value, bytes):
            data = value
            with suppress(zlib.error):
                data = zlib.decompress(value)
            yield decoded(data)
