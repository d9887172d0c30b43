"""Imports turns from before the first start, when somebody asks for it: estimate first, then a job.

- Only what was there at the first start is read; all that came later has been seen.
- A file's turns and the note that it is done are stored together. So an import that was stopped, or
  killed, goes on where it was when the same is asked for again.
- One at a time. It stops between two files; what it has done stays.
"""

import threading
import time
from collections.abc import Callable
from typing import Final

import anyio
import anyio.to_thread
import msgspec
import structlog

from memoryd import events
from memoryd.config import Price
from memoryd.cursors import Cursors
from memoryd.errors import Conflict
from memoryd.extract_messages import size_of, skip_reason
from memoryd.import_rules import Estimate, estimate_of_session, seconds_of, since_moment
from memoryd.old_turns import old_turns
from memoryd.scopes import Scopes
from memoryd.state import State
from memoryd.topics import iso_time
from memoryd.transcript_turns import Abandoned, Turn
from memoryd.turn_queue import Filed, TurnQueue, root_named
from memoryd.whereabouts import Cursor

OPEN_TURN_SECONDS: Final = 600.0  # a session that was written to since may still be going on
PROGRESS_SECONDS: Final = 0.1

log = structlog.get_logger(__name__)


class ImportAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """`resumes` says that an earlier import of the same is taken up where it was left."""

    sessions: int
    turns: int
    tokens: int
    usd: float
    model: str
    since: str
    resumes: bool
    started: bool


class Job(msgspec.Struct, frozen=True):
    """What was asked for, and the last file that is done; an empty project means all."""

    project: str
    since: str
    since_at: float
    done_mtime: float = 0.0
    done_path: str = ""
    turns: int = 0


class Backfill:
    def __init__(
        self,
        *,
        root: str,
        state: State,
        cursors: Cursors,
        queue: TurnQueue,
        scopes: Scopes,
        model: str,
        price: Price,
        publish: Callable[[events.Event], None],
        on_change: Callable[[], None],
        now: Callable[[], float] = time.time,
    ) -> None:
        self._root = root
        self._state = state
        self._cursors = cursors
        self._queue = queue
        self._scopes = scopes
        self._model = model
        self._price = price
        self._publish = publish
        self._on_change = on_change
        self._now = now
        self._stopping = threading.Event()
        self._job: Job | None = None
        self._wanted = anyio.Event()

    async def start(self, cwd: str | None, since: str, *, dry_run: bool) -> ImportAnswer:
        """What it would take; and unless that was all that was asked for, it begins."""
        since_at = since_moment(since, self._now())
        project = "" if cwd is None else await anyio.to_thread.run_sync(self._scopes.root, cwd)
        if self._job is not None and not dry_run:
            raise Conflict("an import is running", hint="wait for it: memoryd status")
        job = await anyio.to_thread.run_sync(self._load, Job(project, since.strip(), since_at))
        estimate = await anyio.to_thread.run_sync(self._estimate, job)
        if not dry_run:
            self._begin(job)
        return ImportAnswer(
            **msgspec.structs.asdict(estimate),
            model=self._model,
            since=iso_time(job.since_at),
            resumes=bool(job.done_path),
            started=not dry_run,
        )

    def _begin(self, job: Job) -> None:
        if self._job is not None:
            raise Conflict("another import has just been started")
        self._stopping.clear()
        self._job = job
        self._wanted.set()

    def stop(self) -> bool:
        """Whether there was one to stop."""
        self._stopping.set()
        return self._job is not None

    async def run(self) -> None:
        """Does what is asked for, until cancelled."""
        try:
            while True:
                await self._wanted.wait()
                self._wanted = anyio.Event()
                if self._job is not None:
                    await self._import(self._job)
                self._job = None
        finally:
            self._stopping.set()

    async def _import(self, job: Job) -> None:
        files = await anyio.to_thread.run_sync(self._files, job)
        told_at, done = anyio.current_time(), 0
        for cursor in files:
            after = await anyio.to_thread.run_sync(self._import_file, job, cursor)
            if after is None:
                break
            if after.turns > job.turns:
                self._on_change()
            job, done = after, done + 1
            if anyio.current_time() - told_at > PROGRESS_SECONDS:
                told_at = anyio.current_time()
                self._publish(
                    events.ImportProgress(
                        project=job.project,
                        files_done=done,
                        files_total=len(files),
                        turns=job.turns,
                    )
                )
        await self._end(job, done, len(files))

    async def _end(self, job: Job, done: int, total: int) -> None:
        if done == total:
            await anyio.to_thread.run_sync(self._forget, job)
        self._job = None
        log.info("import", project=job.project, files=done, of=total, turns=job.turns)
        self._publish(
            events.ImportFinished(
                project=job.project,
                files_done=done,
                files_total=total,
                turns=job.turns,
                complete=done == total,
            )
        )

    def _files(self, job: Job) -> list[Cursor]:
        done = (job.done_mtime, job.done_path)
        return [
            cursor
            for cursor in self._cursors.with_old_part()
            if cursor.mtime >= job.since_at and (cursor.mtime, cursor.path) > done
        ]

    def _import_file(self, job: Job, cursor: Cursor) -> Job | None:
        """The job with this file done; None where it was stopped, and then nothing is changed."""
        filed = self._unseen(job, cursor)
        if self._stopping.is_set():
            return None
        with self._state.transaction():
            added = self._queue.add_imported(filed, at=self._now())
            after = msgspec.structs.replace(
                job, done_mtime=cursor.mtime, done_path=cursor.path, turns=job.turns + len(added)
            )
            self._save(after)
        return after

    def _unseen(self, job: Job, cursor: Cursor) -> list[Filed]:
        """The living turns of a file that were asked for and that nobody has worked on."""
        found: dict[str, Turn] = {}
        is_at_rest = self._now() - cursor.mtime > OPEN_TURN_SECONDS
        try:
            for event in old_turns(
                self._root, cursor, with_open=is_at_rest, is_stopping=self._stopping.is_set
            ):
                match event:
                    case Turn():
                        found[event.id] = event
                    case Abandoned():
                        found.pop(event.turn_id, None)
        except OSError as error:
            log.warning("import-passed-over", path=cursor.path, error=error.strerror)
            return []
        seen = {one for one, state in self._queue.states(list(found)).items() if state != "old"}
        return [
            Filed(turn, project, cursor.path)
            for turn in found.values()
            if turn.id not in seen
            and (seconds_of(turn.ended) or cursor.mtime) >= job.since_at
            and (project := root_named(turn.cwd, self._scopes.root))
            and job.project in {"", project}
        ]

    def _estimate(self, job: Job) -> Estimate:
        total = Estimate()
        for cursor in self._files(job):
            chars = [size_of(one.turn) for one in self._unseen(job, cursor) if self._is_worth(one)]
            total += estimate_of_session(chars, self._price)
        return total

    def _is_worth(self, one: Filed) -> bool:
        project = self._scopes.project(one.project)
        return not skip_reason(one.turn, [folder.path for folder in project.directories])

    def _load(self, asked: Job) -> Job:
        """The one that was begun for the same, if it is unfinished."""
        rows = self._state.run(
            "select project, since, since_at, done_mtime, done_path, turns from imports"
            " where project = ? and since = ?",
            asked.project,
            asked.since,
        )
        found = msgspec.convert(rows, list[tuple[str, str, float, float, str, int]])
        return Job(*found[0]) if found else asked

    def _save(self, job: Job) -> None:
        self._state.run(
            "insert or replace into imports values (?, ?, ?, ?, ?, ?)",
            *msgspec.structs.astuple(job),
        )

    def _forget(self, job: Job) -> None:
        self._state.run(
            "delete from imports where project = ? and since = ?", job.project, job.since
        )
