"""Moves a memory from one scope to another, with its history, so that it can be moved back.

Rules
- The bytes stay as they are, and so does what the journal knows of who wrote them. Its versions
  follow the file, with one more that says that it was moved.
- It keeps its name, unless a file or the history of another memory has it there; then it gets a
  number. A link to what it superseded is dropped where it would name another memory.
- The order is: note the move, write the copy, remove the original, take the history along. A move
  that was interrupted is finished at the next start, or undone if nothing was written yet.
- All methods block.
"""

from collections.abc import Callable

import msgspec
import structlog

from memoryd.base.errors import InvalidInput, MemorydError, NotFound, Refused
from memoryd.memories.records import MemoryChanged, MemoryDirectory, MemoryMoved, Stored
from memoryd.memories.rules import headers, retirement, topics
from memoryd.memories.scan import open_folder
from memoryd.memories.store import Store
from memoryd.memories.version_table import Cause, VersionTable
from memoryd.system.database import Database
from memoryd.system.folder import version_of
from memoryd.system.notices import Notices

log = structlog.get_logger(__name__)


class PlannedMove(msgspec.Struct, frozen=True):
    """One file on its way; `sha256` is what is written at the other end."""

    source: MemoryDirectory
    file: str
    target: MemoryDirectory
    name: str
    sha256: str


class MoveTable:
    """Moves that have begun and not ended."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def begin(self, move: PlannedMove) -> int:
        rows = self._database.run(
            "insert into moves (move) values (?) returning id", msgspec.json.encode(move)
        )
        return int(str(rows[0][0]))

    def end(self, number: int) -> None:
        self._database.run("delete from moves where id = ?", number)

    def begun(self) -> list[tuple[int, PlannedMove]]:
        rows = self._database.run("select id, move from moves order by id")
        return [
            (number, msgspec.json.decode(move, type=PlannedMove))
            for number, move in msgspec.convert(rows, list[tuple[int, bytes]])
        ]


class Mover:
    def __init__(
        self,
        store: Store,
        versions: VersionTable,
        database: Database,
        notices: Notices,
        now: Callable[[], float],
    ) -> None:
        self._store = store
        self._versions = versions
        self._database = database
        self._moves = MoveTable(database)
        self._notices = notices
        self._now = now

    def move(self, source: MemoryDirectory, file: str, target: MemoryDirectory) -> Stored:
        """The memory at its new place; InvalidInput if it is there already."""
        if retirement.is_in_retired(file):
            raise Refused(f"{file} is retired", hint=f"first: memoryd restore {file}")
        if source.path == target.path:
            raise InvalidInput(
                f"{file} is in the {target.scope} scope already", hint="memoryd list shows scopes"
            )
        with self._store.together(source, target):
            stored = self._store.recorded(source, file)
            data = self._data_for(stored, target)
            move = PlannedMove(
                source, file, target, self._free_name(target, file), version_of(data)
            )
            number = self._moves.begin(move)
            try:
                with open_folder(target, create=True) as folder:
                    self._store.directory_opened(target)
                    folder.write(move.name, data, over=None, modified=stored.modified)
            except BaseException:
                self._moves.end(number)
                raise
            self._finish(number, move, stored.version, data)
            moved = self._store.recorded(target, move.name)
        self._announce(move, moved)
        return moved

    def finish_interrupted(self) -> int:
        """Finishes what a kill interrupted; returns how many moves there were."""
        begun = self._moves.begun()
        for number, move in begun:
            try:
                with self._store.together(move.source, move.target):
                    self._resume(number, move)
            except MemorydError as error:
                log.warning("move-not-finished", file=move.file, reason=error.message)
        return len(begun)

    def _resume(self, number: int, move: PlannedMove) -> None:
        try:
            arrived = self._store.read(move.target, move.name)
        except NotFound:
            arrived = None
        if arrived is None or arrived.version != move.sha256:
            self._moves.end(number)  # it never arrived, or was changed since: both stay
            return
        original = self._version(move.source, move.file)
        known = self._versions.newest(move.source.path, move.file)
        is_same = known is not None and original in {move.sha256, known.sha256}
        self._finish(number, move, original if is_same else "", arrived.data)

    def _finish(self, number: int, move: PlannedMove, original: str, data: bytes) -> None:
        """Removes the original if it is still that version, then takes the history along."""
        if original:
            with open_folder(move.source) as folder:
                folder.remove(move.file, over=original)
        with self._database.transaction():
            self._versions.follow(
                (move.source.path, move.file),
                (move.target.path, move.name),
                data,
                at=self._now(),
            )
            self._moves.end(number)
        self._store.update_index(move.source)
        self._store.update_index(move.target)

    def _version(self, directory: MemoryDirectory, file: str) -> str:
        try:
            return self._store.read(directory, file).version
        except NotFound:
            return ""

    def _data_for(self, stored: Stored, target: MemoryDirectory) -> bytes:
        there = {one.file for one in self._store.scan(target) + self._store.retired(target)}
        kept = [old for old in stored.topic.supersedes if old not in there]
        if len(kept) == len(stored.topic.supersedes):
            return stored.data
        text = headers.change(stored.text, {"supersedes": ", ".join(kept) or None})
        self._versions.origins.inherit(stored.data, text.encode())
        return text.encode()

    def _free_name(self, target: MemoryDirectory, file: str) -> str:
        name = file.rpartition("/")[2]
        taken = {one.file for one in self._store.scan(target)} | {topics.INDEX_FILE}
        taken |= {retirement.name_when_current(one.file) for one in self._store.retired(target)}
        taken |= {*self._versions.files(target.path)}
        stem, number = name.removesuffix(".md"), 1
        while name in taken:
            number += 1
            name = f"{stem}_{number}.md"
        return name

    def _announce(self, move: PlannedMove, moved: Stored) -> None:
        cause: Cause = "move"
        self._notices.post(
            MemoryMoved(f"{move.source.path}/{move.file}", f"{move.target.path}/{move.name}")
        )
        self._notices.post(MemoryChanged(move.source, move.file, "", cause))
        self._notices.post(
            MemoryChanged(move.target, move.name, moved.version, cause, type=moved.topic.type)
        )
