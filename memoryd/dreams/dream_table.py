"""The tables `dreams`, `dream_files` and `dreamt_at`: every dream, its outcome, and how to undo it.

A dream is recorded before it takes the lock, and its changes are recorded, with the bytes they
replace, before the first file is touched. So everything can be restored after a kill: the lock's
time from the first record, the files from the second.
"""

import os
import posixpath
import zlib
from collections.abc import Sequence
from typing import Final, Literal, TypeAlias

import msgspec

from memoryd.dreams.lock import NOTHING, LockState
from memoryd.dreams.rules.plan import Flag
from memoryd.dreams.rules.review import FileDiff
from memoryd.dreams.rules.story import DreamCounts
from memoryd.memories.daily_logs import LogMark
from memoryd.memories.records import MemoryDirectory
from memoryd.memories.rules.topics import Scope
from memoryd.system.database import Database
from memoryd.system.packing import unpacked

DreamState: TypeAlias = Literal[
    "running",
    "applying",
    "done",
    "previewed",
    "refused",
    "accepted",
    "stopped",
    "failed",
    "undone",
]
DreamCause: TypeAlias = Literal["schedule", "asked", "dry-run", "accepted"]
How: TypeAlias = Literal["model", "embedded"]

UNDOABLE_DREAMS: Final = 30
REMEMBERED_DREAMS: Final = 500


class Summary(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome of a dream; `said` is the model's closing message."""

    how: How = "embedded"
    memories: int = 0
    files: tuple[FileDiff, ...] = ()
    flags: tuple[Flag, ...] = ()
    left_alone: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()
    daily_logs: int = 0
    logs_read: dict[str, LogMark] = {}
    """How far each daily log was read, by file name."""
    model_turns: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    usd: float = 0.0
    seconds: float = 0.0
    said: str = ""
    words: str = ""
    """What became of the memories, in plain words."""
    counts: DreamCounts = DreamCounts()
    kept_at: str = ""
    """Where the working copy of a refused dream is kept for review."""


class Dream(msgspec.Struct, frozen=True):
    """`project` is the root that the directory belongs to, empty for the person's own."""

    id: int
    directory: str
    scope: Scope
    project: str
    cause: DreamCause
    state: DreamState
    reason: str
    started: float
    finished: float | None
    pid: int
    lock: LockState
    summary: Summary

    @property
    def memory(self) -> MemoryDirectory:
        beneath: str | None = None
        if self.scope == "team":
            beneath = posixpath.dirname(self.directory)
        elif self.scope == "agent":
            beneath = self.project or None
        return MemoryDirectory(self.directory, self.scope, beneath)


class Undoable(msgspec.Struct, frozen=True):
    """A file that a dream changes: its bytes before (None: new file), and its version after."""

    file: str
    before: bytes | None
    modified: float
    after: str | None


class DreamTable:
    def __init__(self, database: Database) -> None:
        self._database = database

    def begin(
        self,
        directory: MemoryDirectory,
        project: str,
        *,
        cause: DreamCause,
        at: float,
        lock: LockState,
    ) -> int:
        """Records a new dream; its number."""
        rows = self._database.run(
            "insert into dreams (directory, scope, project, cause, state, started, pid, lock)"
            " values (?, ?, ?, ?, 'running', ?, ?, ?) returning id",
            directory.path,
            directory.scope,
            project,
            cause,
            at,
            os.getpid(),
            msgspec.json.encode(lock),
        )
        return int(str(rows[0][0]))

    def note_lock(self, dream: int, lock: LockState) -> None:
        """The lock file as it was when the lock was taken."""
        self._database.run(
            "update dreams set lock = ? where id = ?", msgspec.json.encode(lock), dream
        )

    def delete(self, dream: int) -> None:
        """For a dream that did not start."""
        self._database.run("delete from dreams where id = ?", dream)

    def begin_applying(self, dream: int, files: Sequence[Undoable]) -> None:
        """Files may change from here on; durable when this returns."""
        with self._database.transaction():
            self._database.run("update dreams set state = 'applying' where id = ?", dream)
            self.note_files(dream, files)
        # A power cut may undo recent commits, and files must never change before this one is safe.
        self._database.run("pragma wal_checkpoint(full)")

    def note_files(self, dream: int, files: Sequence[Undoable]) -> None:
        """What a dream changes, or would change if accepted."""
        with self._database.transaction():
            for one in files:
                self._database.run(
                    "insert into dream_files values (?, ?, ?, ?, ?)",
                    dream,
                    one.file,
                    None if one.before is None else zlib.compress(one.before),
                    one.modified,
                    one.after,
                )

    def note_applied(self, dream: int, file: str, after: str | None) -> None:
        """The version that the file has in the end."""
        self._database.run(
            "update dream_files set after = ? where dream = ? and file = ?", after, dream, file
        )

    def note_left_alone(self, dream: int, file: str) -> None:
        self._database.run("delete from dream_files where dream = ? and file = ?", dream, file)

    def note_reverted(self, dream: int) -> None:
        """All files are restored; nothing is left to undo."""
        with self._database.transaction():
            self._database.run("update dreams set state = 'running' where id = ?", dream)
            self._database.run("delete from dream_files where dream = ?", dream)

    def end(
        self, dream: int, state: DreamState, *, at: float, reason: str = "", summary: Summary
    ) -> None:
        with self._database.transaction():
            # A dream that could not be reverted yet stays as it is until it can.
            self._database.run(
                "update dreams set state = ?1, finished = ?2, reason = ?3, summary = ?4"
                " where id = ?5 and (state = 'running' or state = 'applying' and ?1 = 'done')",
                state,
                at,
                reason,
                zlib.compress(msgspec.json.encode(summary)),
                dream,
            )
            self._thin_out(dream)

    def mark_undone(self, dream: int) -> None:
        with self._database.transaction():
            self._database.run("update dreams set state = 'undone' where id = ?", dream)
            self._database.run("delete from dream_files where dream = ?", dream)

    def mark_accepted(self, dream: int, *, by: int) -> None:
        """A refused dream whose result another dream has applied."""
        with self._database.transaction():
            self._database.run(
                "update dreams set state = 'accepted', reason = ? where id = ?",
                f"accepted as dream {by}",
                dream,
            )
            self._database.run("delete from dream_files where dream = ?", dream)

    def files(self, dream: int) -> list[Undoable]:
        rows = self._database.run(
            "select file, before, modified, after from dream_files where dream = ?", dream
        )
        return [
            Undoable(file, None if packed is None else zlib.decompress(packed), modified, after)
            for file, packed, modified, after in msgspec.convert(
                rows, list[tuple[str, bytes | None, float, str | None]]
            )
        ]

    def unfinished(self) -> list[Dream]:
        return self._dreams("where state in ('running', 'applying')")

    def past(self, directory: str, limit: int) -> list[Dream]:
        """Newest first."""
        return self._dreams("where directory = ? order by id desc limit ?", directory, limit)

    def dream(self, dream: int) -> Dream | None:
        return next(iter(self._dreams("where id = ?", dream)), None)

    def newest_undoable(self, directory: str) -> Dream | None:
        """The last dream that changed something and was not undone."""
        return self._newest_with_files(directory, "done")

    def newest_refused(self, directory: str) -> Dream | None:
        """The last dream that waits for review."""
        return self._newest_with_files(directory, "refused")

    def _newest_with_files(self, directory: str, state: DreamState) -> Dream | None:
        found = self._dreams(
            "where directory = ? and state = ? and id in (select dream from dream_files)"
            " order by id desc limit 1",
            directory,
            state,
        )
        return next(iter(found), None)

    def logs_read(self, directory: str) -> dict[str, LogMark] | None:
        """How far the last dream that was not undone had read the logs; None without one."""
        found = self._dreams(
            "where directory = ? and state = 'done' order by id desc limit 1", directory
        )
        return found[0].summary.logs_read if found else None

    def last_success(self, directory: str) -> float | None:
        """When the last completed dream was, undone or not."""
        rows = self._database.run(
            "select max(finished) from dreams where directory = ? and state in ('done', 'undone')",
            directory,
        )
        ((at,),) = msgspec.convert(rows, list[tuple[float | None]])
        return at

    def note_real_time(self, directory: str, boot: str, seconds: float) -> None:
        """The time of the last dream by a clock that counts from the start of the machine."""
        self._database.run(
            "insert or replace into dreamt_at values (?, ?, ?)", directory, boot, seconds
        )

    def real_time(self, directory: str, boot: str) -> float | None:
        """The same, if the machine was not restarted since."""
        rows = self._database.run(
            "select real_seconds from dreamt_at where directory = ? and boot = ?", directory, boot
        )
        return msgspec.convert(rows[0][0], float) if rows else None

    def failures_since_success(self, directory: str) -> list[Dream]:
        """Dreams that were not applied since the last one that was, newest first."""
        return self._dreams(
            "where directory = ? and state in ('failed', 'stopped', 'refused') and id > ("
            " select coalesce(max(id), 0) from dreams"
            " where directory = ? and state in ('done', 'undone')) order by id desc limit 20",
            directory,
            directory,
        )

    def projects(self) -> list[str]:
        """Roots of all projects that ever had a dream."""
        rows = self._database.run("select distinct project from dreams")
        return [str(row[0]) for row in rows]

    def _dreams(self, condition: str, *values: str | int) -> list[Dream]:
        rows = self._database.run(
            "select id, directory, scope, project, cause, state, reason, started, finished, pid,"  # noqa: S608 - fixed words
            f" lock, summary from dreams {condition}",
            *values,
        )
        return [_dream(row) for row in rows]

    def _thin_out(self, newest: int) -> None:
        """Forgets how to undo old dreams of the same directory, and deletes very old ones."""
        ids = "select id from dreams where directory = (select directory from dreams where id = ?)"
        for table, column, kept in (
            ("dream_files", "dream", UNDOABLE_DREAMS),
            ("dreams", "id", REMEMBERED_DREAMS),
        ):
            self._database.run(
                f"delete from {table} where {column} in ("  # noqa: S608 - fixed words
                f"{ids} order by id desc limit -1 offset {kept})",
                newest,
            )


def _dream(row: Sequence[object]) -> Dream:
    *plain, lock, summary = row
    names = Dream.__struct_fields__
    fields: dict[str, object] = dict(zip(names, plain, strict=False))
    fields["lock"] = (
        msgspec.json.decode(lock, type=LockState) if isinstance(lock, bytes) else NOTHING
    )
    told = unpacked(summary) if isinstance(summary, bytes) else None
    fields["summary"] = msgspec.json.decode(told or b"{}", type=Summary)
    return msgspec.convert(fields, Dream)
