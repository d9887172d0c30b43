"""Imports turns from before the first start, on request: an estimate first, then a job.

- Only what existed at the first start is read; everything later has been seen.
- A file's turns and the note that the file is done are stored together. So an import that was
  stopped or killed continues where it was when the same one is requested again.
- One at a time. It stops between two files; what it has done stays.
"""

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Final

import anyio
import anyio.to_thread
import msgspec
import structlog

from memoryd.base import events
from memoryd.base.config import Price
from memoryd.base.errors import Conflict, StorageError
from memoryd.base.timestamps import iso_time, seconds_of
from memoryd.extraction.rules.backfill_estimate import (
    Estimate,
    estimate_of_session,
    since_moment,
)
from memoryd.extraction.rules.messages import size_of, skip_reason
from memoryd.memories.scopes import Scopes
from memoryd.system.database import Database
from memoryd.system.notices import Notices
from memoryd.transcripts.cursor_table import CursorTable
from memoryd.transcripts.reader import old_turns
from memoryd.transcripts.rules.cursor import Cursor
from memoryd.transcripts.rules.excluded import NOTHING_PRIVATE, PrivateNames
from memoryd.transcripts.rules.turns import Abandoned, Turn
from memoryd.transcripts.turn_table import QueuedTurn, TurnTable, root_named

OPEN_TURN_SECONDS: Final = 600.0  # a session written to more recently may still be running
PROGRESS_SECONDS: Final = 0.1
FILES_AT_ONCE: Final = 100  # at most; a thread is not asked for each of thousands

log = structlog.get_logger(__name__)


class ImportEstimate(Estimate, frozen=True, kw_only=True):
    """`resumes`: an earlier import with the same parameters continues where it stopped."""

    model: str
    since: str
    resumes: bool


class ImportJob(msgspec.Struct, frozen=True, kw_only=True):
    started: bool
    since: str
    resumes: bool


class BackfillJob(msgspec.Struct, frozen=True):
    """What was requested, and the last file that is done; an empty project means all."""

    project: str
    since: str
    since_at: float
    done_mtime: float = 0.0
    done_path: str = ""
    turns: int = 0


class TurnsImported(msgspec.Struct, frozen=True):
    """An import queued turns: extraction has work."""


class Backfill:
    def __init__(
        self,
        *,
        root: str,
        database: Database,
        cursors: CursorTable,
        turns: TurnTable,
        scopes: Scopes,
        model: str,
        price: Price,
        counts_scripts: bool = False,
        notices: Notices,
        private: PrivateNames = NOTHING_PRIVATE,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._root = root
        self._private = private
        self._database = database
        self._cursors = cursors
        self._turns = turns
        self._scopes = scopes
        self._model = model
        self._price = price
        self._counts_scripts = counts_scripts
        self._notices = notices
        self._now = now
        self._stop_wanted = False
        self._job: BackfillJob | None = None
        self._wanted = anyio.Event()

    async def estimate(self, cwd: str | None, since: str) -> ImportEstimate:
        """What it would cost; changes nothing."""
        job = await anyio.to_thread.run_sync(self._job_for, cwd, since)
        estimate = await anyio.to_thread.run_sync(self._estimate, job)
        return ImportEstimate(
            **msgspec.structs.asdict(estimate),
            model=self._model,
            since=iso_time(job.since_at),
            resumes=bool(job.done_path),
        )

    async def start(self, cwd: str | None, since: str) -> ImportJob:
        """Starts the job; events report its progress."""
        job = await anyio.to_thread.run_sync(self._job_for, cwd, since)
        if self._job is not None:
            raise Conflict("an import is already running", hint="wait until it has finished")
        self._stop_wanted = False
        self._job = job
        self._wanted.set()
        return ImportJob(started=True, since=iso_time(job.since_at), resumes=bool(job.done_path))

    def stop(self) -> bool:
        """Stops after the current file; returns whether an import was running."""
        self._stop_wanted = True
        return self._job is not None

    async def run(self) -> None:
        """Runs the jobs that are requested, until cancelled."""
        while True:
            await self._wanted.wait()
            self._wanted = anyio.Event()
            if self._job is not None:
                await self._import(self._job)

    async def _import(self, job: BackfillJob) -> None:
        files: list[Cursor] | None = None
        done, began = 0, anyio.current_time()
        announced_at = began
        try:
            files = await anyio.to_thread.run_sync(self._files, job)
            while done < len(files) and not self._stop_wanted:
                some = files[done : done + FILES_AT_ONCE]
                after, count = await anyio.to_thread.run_sync(self._import_some, job, some)
                if after.turns > job.turns:
                    self._notices.post(TurnsImported())
                job, done = after, done + count
                if anyio.current_time() - announced_at > PROGRESS_SECONDS:
                    announced_at = anyio.current_time()
                    self._announce_progress(job, done, len(files))
        except StorageError as error:
            log.warning("import-interrupted", error=error.message)
        total = 0 if files is None else len(files)
        complete = files is not None and done == total
        await self._end(job, done, total, complete=complete, began=began)

    async def _end(
        self, job: BackfillJob, done: int, total: int, *, complete: bool, began: float
    ) -> None:
        if complete:
            with suppress(StorageError):
                await anyio.to_thread.run_sync(self._forget, job)
        self._job = None
        self._notices.announce(
            events.ImportFinished(
                project=job.project,
                files_done=done,
                files_total=total,
                turns=job.turns,
                complete=complete,
                ms=round((anyio.current_time() - began) * 1000),
            )
        )

    def _announce_progress(self, job: BackfillJob, done: int, total: int) -> None:
        self._notices.announce(
            events.ImportProgress(
                project=job.project, files_done=done, files_total=total, turns=job.turns
            )
        )

    def _files(self, job: BackfillJob) -> list[Cursor]:
        done = (job.done_mtime, job.done_path)
        return [
            cursor
            for cursor in self._cursors.with_old_part()
            if cursor.mtime >= job.since_at and (cursor.mtime, cursor.path) > done
        ]

    def _import_some(self, job: BackfillJob, files: Sequence[Cursor]) -> tuple[BackfillJob, int]:
        """Imports files for a short while; returns the job as it is then, and how many."""
        done, until = 0, time.monotonic() + PROGRESS_SECONDS
        for cursor in files:
            try:
                job = self._import_file(job, cursor)
            except StorageError:
                if not done:
                    raise
                break  # the next call meets it again
            done += 1
            if self._stop_wanted or time.monotonic() > until:
                break
        return job, done

    def _import_file(self, job: BackfillJob, cursor: Cursor) -> BackfillJob:
        """Queues the file's turns; returns the job with this file done."""
        queued = self._unseen_turns(job, cursor)
        with self._database.transaction():
            added = self._turns.add_imported(queued, at=self._now())
            after = msgspec.structs.replace(
                job,
                done_mtime=cursor.mtime,
                done_path=cursor.path,
                turns=job.turns + len(added),
            )
            self._save(after)
        return after

    def _unseen_turns(self, job: BackfillJob, cursor: Cursor) -> list[QueuedTurn]:
        """The requested turns of a file that are not on a dead branch and not yet processed."""
        found: dict[str, Turn] = {}
        is_at_rest = self._now() - cursor.mtime > OPEN_TURN_SECONDS
        try:
            for event in old_turns(self._root, cursor, with_open=is_at_rest, private=self._private):
                match event:
                    case Turn():
                        found[event.id] = event
                    case Abandoned():
                        found.pop(event.turn_id, None)
        except OSError as error:
            log.warning("import-file-skipped", path=cursor.path, error=error.strerror)
            return []
        seen = {one for one, state in self._turns.states(list(found)).items() if state != "old"}
        return [
            QueuedTurn(turn, project, cursor.path)
            for turn in found.values()
            if turn.id not in seen
            and (seconds_of(turn.ended) or cursor.mtime) >= job.since_at
            and (project := root_named(turn.cwd, self._scopes.root))
            and job.project in {"", project}
        ]

    def _estimate(self, job: BackfillJob) -> Estimate:
        total = Estimate()
        for cursor in self._files(job):
            turns = filter(self._is_extracted, self._unseen_turns(job, cursor))
            chars = [size_of(one.turn) for one in turns]
            total += estimate_of_session(chars, self._price)
        return total

    def _is_extracted(self, one: QueuedTurn) -> bool:
        return not skip_reason(one.turn, counts_scripts=self._counts_scripts)

    def _job_for(self, cwd: str | None, since: str) -> BackfillJob:
        """An unfinished job with the same parameters, or a new one."""
        since_at = since_moment(since, self._now())
        project = "" if cwd is None else self._scopes.root(cwd)
        rows = self._database.run(
            "select project, since, since_at, done_mtime, done_path, turns from imports"
            " where project = ? and since = ?",
            project,
            since,
        )
        found = msgspec.convert(rows, list[tuple[str, str, float, float, str, int]])
        return BackfillJob(*found[0]) if found else BackfillJob(project, since, since_at)

    def _save(self, job: BackfillJob) -> None:
        self._database.run(
            "insert or replace into imports values (?, ?, ?, ?, ?, ?)",
            *msgspec.structs.astuple(job),
        )

    def _forget(self, job: BackfillJob) -> None:
        self._database.run(
            "delete from imports where project = ? and since = ?", job.project, job.since
        )
