"""Dreams in state.db: what each was about, how it ended, and what undoes it.

A dream is entered before it takes the lock, and what it is going to change is entered, with the
bytes that stand there, before the first file is touched. So whatever a kill leaves can be brought
back: the lock's time from the first entry, the files from the second.
"""

import os
import zlib
from collections.abc import Sequence
from typing import Final, Literal, TypeAlias

import msgspec

from memoryd.dreams.lock import NOTHING, Before
from memoryd.dreams.rules.plan import Flag
from memoryd.dreams.rules.review import FileDiff
from memoryd.memories.daily_logs import LogMark
from memoryd.memories.records import MemoryDirectory
from memoryd.memories.rules.topics import Scope
from memoryd.system.database import Database

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
    """What came of a dream; `said` are the model's own closing words."""

    how: How = "embedded"
    memories: int = 0
    files: tuple[FileDiff, ...] = ()
    flags: tuple[Flag, ...] = ()
    left_alone: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()
    daily_logs: int = 0
    logs_read: dict[str, LogMark] = {}
    """How far the daily logs were read, by their names."""
    model_turns: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    usd: float = 0.0
    seconds: float = 0.0
    said: str = ""
    kept_at: str = ""
    """Where the copy that a refused dream worked on is kept for review."""


class Dream(msgspec.Struct, frozen=True):
    """`project` is the root that the directory belongs to, empty where it is no project's."""

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
    lock: Before
    summary: Summary

    @property
    def place(self) -> MemoryDirectory:
        return MemoryDirectory(self.directory, self.scope)


class Undoable(msgspec.Struct, frozen=True):
    """A file that a dream changes: its bytes before (None: no file), and its version after."""

    file: str
    before: bytes | None
    modified: float
    after: str | None


class DreamTable:
    def __init__(self, state: Database) -> None:
        self._state = state

    def begin(
        self,
        directory: MemoryDirectory,
        project: str,
        *,
        cause: DreamCause,
        at: float,
        lock: Before,
    ) -> int:
        rows = self._state.run(
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

    def hold(self, dream: int, lock: Before) -> None:
        """The lock is taken, and this is what it was."""
        self._state.run("update dreams set lock = ? where id = ?", msgspec.json.encode(lock), dream)

    def drop(self, dream: int) -> None:
        """It did not even begin."""
        self._state.run("delete from dreams where id = ?", dream)

    def begin_applying(self, dream: int, files: Sequence[Undoable]) -> None:
        """From here on files may change; on disk for good before this returns."""
        with self._state.transaction():
            self._state.run("update dreams set state = 'applying' where id = ?", dream)
            self.note_files(dream, files)
        # A power cut may take the last commits back, and the files must not be ahead of this one.
        self._state.run("pragma wal_checkpoint(full)")

    def note_files(self, dream: int, files: Sequence[Undoable]) -> None:
        """What a dream changes, or would if it were accepted."""
        with self._state.transaction():
            for one in files:
                self._state.run(
                    "insert into dream_files values (?, ?, ?, ?, ?)",
                    dream,
                    one.file,
                    None if one.before is None else zlib.compress(one.before),
                    one.modified,
                    one.after,
                )

    def note_applied(self, dream: int, file: str, after: str | None) -> None:
        """What the file became in the end."""
        self._state.run(
            "update dream_files set after = ? where dream = ? and file = ?", after, dream, file
        )

    def note_left_alone(self, dream: int, file: str) -> None:
        self._state.run("delete from dream_files where dream = ? and file = ?", dream, file)

    def note_taken_back(self, dream: int) -> None:
        """All files are as they were; nothing is left to undo."""
        with self._state.transaction():
            self._state.run("update dreams set state = 'running' where id = ?", dream)
            self._state.run("delete from dream_files where dream = ?", dream)

    def end(
        self, dream: int, state: DreamState, *, at: float, reason: str = "", summary: Summary
    ) -> None:
        with self._state.transaction():
            # One that could not be taken back yet must stay as it is until it can.
            self._state.run(
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
        with self._state.transaction():
            self._state.run("update dreams set state = 'undone' where id = ?", dream)
            self._state.run("delete from dream_files where dream = ?", dream)

    def mark_accepted(self, dream: int, *, by: int) -> None:
        """A refused dream that another one has applied."""
        with self._state.transaction():
            self._state.run(
                "update dreams set state = 'accepted', reason = ? where id = ?",
                f"it was accepted as dream {by}",
                dream,
            )
            self._state.run("delete from dream_files where dream = ?", dream)

    def files(self, dream: int) -> list[Undoable]:
        rows = self._state.run(
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
        """The last dream that changed something and still stands."""
        return self._newest_with_files(directory, "done")

    def newest_refused(self, directory: str) -> Dream | None:
        """The last dream that waits for somebody to look at it."""
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
        """How far the last dream that still stands had read the logs; None if none is known."""
        found = self._dreams(
            "where directory = ? and state = 'done' order by id desc limit 1", directory
        )
        return found[0].summary.logs_read if found else None

    def last_success(self, directory: str) -> float | None:
        """When the last dream was that ran to its end, undone or not."""
        rows = self._state.run(
            "select max(finished) from dreams where directory = ? and state in ('done', 'undone')",
            directory,
        )
        ((at,),) = msgspec.convert(rows, list[tuple[float | None]])
        return at

    def note_real_time(self, directory: str, boot: str, seconds: float) -> None:
        """When the last dream was, by a clock that runs from the start of the machine."""
        self._state.run(
            "insert or replace into dreamt_at values (?, ?, ?)", directory, boot, seconds
        )

    def real_time(self, directory: str, boot: str) -> float | None:
        """The same, if the machine was not started anew since."""
        rows = self._state.run(
            "select real_seconds from dreamt_at where directory = ? and boot = ?", directory, boot
        )
        return msgspec.convert(rows[0][0], float) if rows else None

    def failures_since_success(self, directory: str) -> list[Dream]:
        """The dreams that came to nothing since the last one that did not, newest first."""
        return self._dreams(
            "where directory = ? and state in ('failed', 'stopped', 'refused') and id > ("
            " select coalesce(max(id), 0) from dreams"
            " where directory = ? and state in ('done', 'undone')) order by id desc limit 20",
            directory,
            directory,
        )

    def projects(self) -> list[str]:
        rows = self._state.run("select distinct project from dreams")
        return [str(row[0]) for row in rows]

    def _dreams(self, condition: str, *values: str | int) -> list[Dream]:
        rows = self._state.run(
            "select id, directory, scope, project, cause, state, reason, started, finished, pid,"  # noqa: S608 - fixed words
            f" lock, summary from dreams {condition}",
            *values,
        )
        return [_dream(row) for row in rows]

    def _thin_out(self, newest: int) -> None:
        """Old dreams of the same directory can no longer be undone, and very old ones go."""
        ids = "select id from dreams where directory = (select directory from dreams where id = ?)"
        for table, column, kept in (
            ("dream_files", "dream", UNDOABLE_DREAMS),
            ("dreams", "id", REMEMBERED_DREAMS),
        ):
            self._state.run(
                f"delete from {table} where {column} in ("  # noqa: S608 - fixed words
                f"{ids} order by id desc limit -1 offset {kept})",
                newest,
            )


def _dream(row: Sequence[object]) -> Dream:
    *plain, lock, summary = row
    names = Dream.__struct_fields__
    fields: dict[str, object] = dict(zip(names, plain, strict=False))
    fields["lock"] = msgspec.json.decode(lock, type=Before) if isinstance(lock, bytes) else NOTHING
    packed = zlib.decompress(summary) if isinstance(summary, bytes) else b"{}"
    fields["summary"] = msgspec.json.decode(packed, type=Summary)
    return msgspec.convert(fields, Dream)
