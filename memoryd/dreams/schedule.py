"""Looks up what the gates need to know, cheapest first, and stops at the first closed one.

The time of the last dream has three sources: the lock file, which the agent shares; our own table;
and real time, as long as the machine runs. `rules/gates.py` says how much each counts.
"""

import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec

from memoryd.base import paths
from memoryd.base.config import Settings
from memoryd.dreams.dream_table import DreamTable
from memoryd.dreams.lock import LockState, holder_is_stale, holder_named, read_lock
from memoryd.dreams.recent_sessions import MOST_PROJECTS, ProjectSessions
from memoryd.dreams.rules import gates
from memoryd.dreams.rules.gates import Clock, Gate
from memoryd.dreams.target import DreamTarget
from memoryd.memories.rules.topics import INDEX_FILE


def real_seconds() -> float:
    """Time that cannot be set, and that includes the machine's sleep where the system has that."""
    if hasattr(time, "CLOCK_BOOTTIME"):
        return time.clock_gettime(time.CLOCK_BOOTTIME)
    return time.monotonic()


def boot_id() -> str:
    """Identifies this run of the machine; where that is unknown, this run of the daemon."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError):
        return uuid.uuid4().hex


class RealTime(msgspec.Struct, frozen=True):
    """Seconds since the machine started, and an id of that start."""

    seconds: Callable[[], float] = real_seconds
    boot: str = msgspec.field(default_factory=boot_id)


class Schedule:
    """Blocking."""

    def __init__(
        self,
        table: DreamTable,
        sessions: ProjectSessions,
        settings: Settings,
        *,
        now: Callable[[], float],
        real_time: RealTime,
    ) -> None:
        self._table = table
        self._sessions = sessions
        self._settings = settings
        self._now = now
        self._real = real_time.seconds
        self._boot = real_time.boot
        self._scans: dict[str, tuple[float, int]] = {}

    def gates(self, target: DreamTarget, *, is_forced: bool = False) -> Iterator[Gate]:
        """The gates up to the first closed one."""
        for look_up in self._lookups(target, is_forced=is_forced):
            gate = look_up()
            yield gate
            if not gate.is_open:
                return

    def deciding_gate(self, target: DreamTarget, *, is_forced: bool = False) -> Gate:
        """The first closed gate, or the last one if all are open."""
        *_, gate = self.gates(target, is_forced=is_forced)
        return gate

    def _lookups(self, target: DreamTarget, *, is_forced: bool) -> list[Callable[[], Gate]]:
        switch = target.switch
        timed: list[Callable[[], Gate]] = [
            lambda: self.hours(target, _lock_of(target)),
            lambda: self._rest(target),
        ]
        return [
            lambda: gates.switch_gate(enabled=switch.enabled, reason=switch.reason),
            *([] if is_forced else timed),
            lambda: gates.memories_gate(has_memories=_has_memories(target)),
            *([] if is_forced else [lambda: self._activity(target)]),
            lambda: self._lock(target),
        ]

    def hours(self, target: DreamTarget, lock: LockState) -> Gate:
        return gates.hours_gate(self._clock(target, lock), self._settings.dream.min_hours)

    def _rest(self, target: DreamTarget) -> Gate:
        failures = self._table.failures_since_success(target.directory.path)
        last = failures[0] if failures else None
        return gates.rest_gate(
            self._now(),
            self._settings.dream.min_hours,
            len(failures),
            last.finished if last else None,
            was_deliberate=last is not None and last.state != "failed",
        )

    def _activity(self, target: DreamTarget) -> Gate:
        """New sessions or daily logs, counted at most every ten minutes."""
        is_log_mode = (
            target.directory.scope == "project" and self._settings.mode_of(target.project) == "log"
        )
        last = self.last(target)
        scanned_at, count = self._scans.get(target.directory.path, (None, 0))
        if gates.scan_is_due(scanned_at, self._real()):
            since = last or 0.0
            count = _logs_since(target, since) if is_log_mode else self._touched(target, since)
            self._scans[target.directory.path] = (self._real(), count)
        has_dreamt = last is not None
        if is_log_mode:
            return gates.logs_gate(count, has_dreamt=has_dreamt)
        return gates.sessions_gate(count, self._settings.dream.min_sessions, has_dreamt=has_dreamt)

    def _touched(self, target: DreamTarget, since: float) -> int:
        return len(self._sessions.touched(target.project, since, self._now()))

    def _lock(self, target: DreamTarget) -> Gate:
        lock = _lock_of(target)
        holder = holder_named(lock.body)
        is_held = holder is not None and not holder_is_stale(lock, holder, self._now())
        return gates.lock_gate(is_held=is_held)

    def _clock(self, target: DreamTarget, lock: LockState) -> Clock:
        folder = target.directory.path
        dreamt_at = self._table.real_time(folder, self._boot)
        return Clock(
            now=self._now(),
            stamped=lock.modified if lock.existed else None,
            recorded=self._table.last_success(folder),
            real_seconds_since=None if dreamt_at is None else self._real() - dreamt_at,
        )

    def last(self, target: DreamTarget) -> float | None:
        """When the last dream was; None if there was none."""
        return gates.last_dream(self._clock(target, _lock_of(target)))

    def note_end(self, target: DreamTarget, *, has_dreamt: bool) -> None:
        self._scans.pop(target.directory.path, None)
        if has_dreamt:
            self._table.note_real_time(target.directory.path, self._boot, self._real())

    def known_roots(self) -> list[str]:
        """Roots of projects that had turns or dreams, and still exist."""
        roots = dict.fromkeys([*self._sessions.projects(), *self._table.projects()])
        return [root for root in roots if root and Path(root).is_dir()][:MOST_PROJECTS]


def _lock_of(target: DreamTarget) -> LockState:
    return read_lock(paths.consolidate_lock(target.directory.path))


def _has_memories(target: DreamTarget) -> bool:
    """The agent creates memory folders long before it fills them.

    The team's memories lie below a project's folder, and do not count.
    """
    folder = Path(target.directory.path)
    others = f"{folder}/team/" if target.directory.scope == "project" else "\0"
    return any(
        path.name != INDEX_FILE and not str(path).startswith(others)
        for path in folder.rglob("*.md")
    )


def _logs_since(target: DreamTarget, since: float) -> int:
    logs = Path(target.directory.path).glob("logs/[0-9]*/[0-9]*/*.md")
    return sum(_modified(path) > since for path in logs)


def _modified(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:  # removed since it was listed
        return 0.0
