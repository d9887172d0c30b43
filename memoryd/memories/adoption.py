"""Joins the memories of a project's old place with those of its new one, with history, undoably.

Rules
- Where the old project is gone its memories move; where it still exists they are copied, since it
  may need them.
- Files are joined by content (`rules/joining`), with all their versions, what is known of who wrote
  them, and how often they were recalled. Daily logs are joined day by day, the inbox as a whole.
- What was done is recorded. An undo takes it back, file by file; what was changed since moves back
  as it is now, and a changed copy stays.
- Blocking. The store's locks protect single files; a kill in between is finished by trying again.
"""

import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final, Literal

import msgspec

from memoryd.base.errors import InvalidInput, MemorydError, NotFound
from memoryd.memories.records import MemoryDirectory
from memoryd.memories.rules.joining import JoinedFile, joined
from memoryd.memories.rules.retirement import name_when_current
from memoryd.memories.rules.topics import INDEX_FILE
from memoryd.memories.store import Store
from memoryd.memories.version_table import VersionTable
from memoryd.system.database import Database
from memoryd.system.folder import Folder
from memoryd.text.decode import decoded

LOG_BYTES: Final = 4 * 1024 * 1024
_PATH_TABLES: Final = ("recalls", "outcomes", "tool_rules", "surfaced")

JoinKind = Literal["adopt", "import"]


class Joining(msgspec.Struct, frozen=True, kw_only=True):
    """What goes from one directory into another; as a record, what an undo takes back."""

    source: str
    target: str
    source_root: str = ""
    target_root: str = ""
    is_copy: bool = False
    files: list[JoinedFile] = []
    logs: list[str] = []
    has_index: bool = False
    candidates: list[int] = []


class Adoption:
    def __init__(
        self,
        store: Store,
        versions: VersionTable,
        database: Database,
        now: Callable[[], float],
    ) -> None:
        self._store = store
        self._versions = versions
        self._database = database
        self._now = now

    def plan(self, source: MemoryDirectory, target: MemoryDirectory, *, is_copy: bool) -> Joining:
        """What an adoption would do; changes nothing."""
        return Joining(
            source=source.path,
            target=target.path,
            is_copy=is_copy,
            files=joined(self._hashes(source), self._hashes(target)),
            logs=[file for file in _logs(source) if self._log_is_new(source, target, file)],
            has_index=_exists(source, INDEX_FILE) and not _exists(target, INDEX_FILE),
        )

    def adopt(self, plan: Joining) -> int:
        """Does it; returns the number under which it can be undone."""
        source, target = _directory(plan.source), _directory(plan.target)
        if plan.has_index:
            index = self._store.read(source, INDEX_FILE)
            self._store.put_back(target, INDEX_FILE, index.data, over=None, cause="adopted")
        for one in plan.files:
            self._take(source, target, one, is_copy=plan.is_copy)
        for file in plan.logs:
            _join_log(source, target, file)
        if not plan.is_copy:
            plan = msgspec.structs.replace(plan, candidates=self._move_rows(plan))
        self._store.repair(target)
        self._store.repair(source)
        return self._record("adopt", plan)

    def undo(self, target: MemoryDirectory) -> Joining:
        """Takes the last adoption into this directory back; NotFound if there is none."""
        number, plan = self.last("adopt", target.path)
        source = _directory(plan.source)
        for one in plan.files:
            with suppress(NotFound):  # forgotten since
                self._give_back(source, target, one, is_copy=plan.is_copy)
        if not plan.is_copy:
            self._rows_back(plan)
        self._store.repair(source)
        self._store.repair(target)
        self._database.run("delete from joinings where id = ?", number)
        return plan

    def last(self, kind: JoinKind, target: str) -> tuple[int, Joining]:
        rows = self._database.run(
            "select id, packed from joinings where kind = ? and target = ?"
            " order by id desc limit 1",
            kind,
            target,
        )
        for number, packed in msgspec.convert(rows, list[tuple[int, bytes]]):
            return number, msgspec.json.decode(zlib.decompress(packed), type=Joining)
        raise NotFound("there is nothing to undo here", hint="only the last one can be undone")

    def _record(self, kind: JoinKind, plan: Joining) -> int:
        rows = self._database.run(
            "insert into joinings (kind, target, at, packed) values (?, ?, ?, ?) returning id",
            kind,
            plan.target,
            self._now(),
            zlib.compress(msgspec.json.encode(plan)),
        )
        ((number,),) = msgspec.convert(rows, list[tuple[int]])
        return number

    def _hashes(self, directory: MemoryDirectory) -> dict[str, str]:
        names = [one.file for one in self._store.scan(directory)]
        names += [one.file for one in self._store.retired(directory)]
        found: dict[str, str] = {}
        for file in names:
            with suppress(MemorydError):  # not a regular file: it stays where it is
                found[file] = self._store.read(directory, file).version
        return found

    def _take(
        self, source: MemoryDirectory, target: MemoryDirectory, one: JoinedFile, *, is_copy: bool
    ) -> None:
        if one.action == "same":
            if not is_copy:
                self._store.forget(source, one.file, cause="adopted")
            return
        before = self._store.recorded(source, one.file)
        was, now = name_when_current(one.file), name_when_current(one.to)
        self._versions.move(source.path, was, target.path, now, keep=is_copy)
        self._store.put_back(
            target, one.to, before.data, over=None, cause="adopted", modified=before.modified
        )
        if not is_copy:
            self._store.take_out(source, one.file, over=before.version)

    def _give_back(
        self, source: MemoryDirectory, target: MemoryDirectory, one: JoinedFile, *, is_copy: bool
    ) -> None:
        now = self._store.recorded(target, one.to)
        if is_copy:
            if one.action != "same" and now.version == one.sha256:
                self._store.take_out(target, one.to, over=now.version)
                self._versions.drop(target.path, name_when_current(one.to))
            return
        if one.action == "same":
            self._store.restore(source, one.file, now.data, over=None)
            return
        to, file = name_when_current(one.to), name_when_current(one.file)
        self._versions.move(target.path, to, source.path, file, keep=False)
        self._store.put_back(
            source, one.file, now.data, over=None, cause="adopted", modified=now.modified
        )
        self._store.take_out(target, one.to, over=now.version)

    def _move_rows(self, plan: Joining) -> list[int]:
        """Rows that name a path, a directory or a root; returns the candidates among them."""
        with self._database.transaction():
            for one in plan.files:
                self._move_path(f"{plan.source}/{one.file}", f"{plan.target}/{one.to}")
            self._move_turns(plan.source_root, plan.target_root)
            rows = self._database.run(
                "update or ignore candidates set folder = ? where folder = ? returning id",
                plan.target,
                plan.source,
            )
        return [number for (number,) in msgspec.convert(rows, list[tuple[int]])]

    def _rows_back(self, plan: Joining) -> None:
        with self._database.transaction():
            for one in plan.files:
                if one.action != "same":
                    self._move_path(f"{plan.target}/{one.to}", f"{plan.source}/{one.file}")
            self._database.run_many(
                "update or ignore candidates set folder = ? where id = ?",
                [(plan.source, number) for number in plan.candidates],
            )

    def _move_path(self, old: str, new: str) -> None:
        for table in _PATH_TABLES:
            sql = f"update or ignore {table} set path = ? where path = ?"  # noqa: S608 - fixed words
            self._database.run(sql, new, old)

    def _move_turns(self, old: str, new: str) -> None:
        """What was said in the old place and still waits belongs to the new one."""
        if old and new:
            sql = (
                "update turns set project = ? where project = ? and state in ('pending', 'parked')"
            )
            self._database.run(sql, new, old)

    def _log_is_new(self, source: MemoryDirectory, target: MemoryDirectory, file: str) -> bool:
        return _log(source, file) not in _log(target, file)


def _directory(path: str) -> MemoryDirectory:
    return MemoryDirectory(path, "project")


def _exists(directory: MemoryDirectory, file: str) -> bool:
    try:
        with Folder.open(directory.path) as folder:
            return folder.current(file) is not None
    except MemorydError:
        return False


def _logs(directory: MemoryDirectory) -> Iterator[str]:
    for path in sorted(Path(directory.path).glob("logs/[0-9]*/[0-9]*/*.md")):
        yield str(path.relative_to(directory.path))


def _log(directory: MemoryDirectory, file: str) -> str:
    try:
        with Folder.open(directory.path) as folder:
            return decoded(folder.read(file, LOG_BYTES).data)
    except MemorydError:
        return ""


def _join_log(source: MemoryDirectory, target: MemoryDirectory, file: str) -> None:
    """A day that both have gets the sections of both; the source's log stays where it is."""
    text = _log(source, file)
    with Folder.open(target.path, create=True) as folder:
        current = folder.current(file)
        before = decoded(current.data) if current else ""
        over = current.version if current else None
        joined_text = f"{before.rstrip()}\n\n{text}" if before else text
        folder.write(file, joined_text.encode(), over=over)


def check_apart(source: str, target: str) -> None:
    if source == target:
        raise InvalidInput("this project uses that memory already")
