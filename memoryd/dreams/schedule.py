"""Looks up what the gates want to know, the cheapest first and no more than it takes.

The time of the last dream is known three ways: by the lock file, which the agent shares; by our own
book; and by real time, as long as the machine runs. `gates` says what each is worth.
"""

from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec

from memoryd.base import paths
from memoryd.base.config import Settings
from memoryd.dreams.lock import Before, holder_is_stale, holder_named, look
from memoryd.dreams.recent_sessions import MOST_PROJECTS
from memoryd.dreams.rules import gates as dream_gates
from memoryd.dreams.rules.gates import Clock, Gate
from memoryd.dreams.run import Means
from memoryd.dreams.target import DreamTarget
from memoryd.memories.rules.topics import INDEX_FILE
from memoryd.system.plain_file import modified_at


class RealTime(msgspec.Struct, frozen=True):
    """Seconds that nobody can set, since the machine started for the time that `boot` names."""

    seconds: Callable[[], float]
    boot: str


class Schedule:
    """Blocking work."""

    def __init__(self, means: Means, settings: Settings, real: RealTime) -> None:
        self._means = means
        self._settings = settings
        self._real = real.seconds
        self._boot = real.boot
        self._scans: dict[str, tuple[float, int]] = {}

    def gates(self, ground: DreamTarget, *, is_forced: bool = False) -> Iterator[Gate]:
        """The gates as far as the first closed one; what lies behind it is not even looked up."""
        for look_at in self._lookups(ground, is_forced=is_forced):
            gate = look_at()
            yield gate
            if not gate.is_open:
                return

    def _lookups(self, ground: DreamTarget, *, is_forced: bool) -> list[Callable[[], Gate]]:
        switch, folder = ground.switch, ground.directory.path
        timed: list[Callable[[], Gate]] = [
            lambda: self.hours(ground, look(paths.consolidate_lock(folder))),
            lambda: self._rest(ground),
        ]
        return [
            lambda: dream_gates.switch_gate(enabled=switch.enabled, reason=switch.reason),
            *([] if is_forced else timed),
            lambda: dream_gates.memories_gate(are_there=_has_memories(ground)),
            *([] if is_forced else [lambda: self._touched(ground)]),
            lambda: self._lock(ground),
        ]

    def hours(self, ground: DreamTarget, stamp: Before) -> Gate:
        return dream_gates.hours_gate(self._clock(ground, stamp), self._settings.dream.min_hours)

    def _rest(self, ground: DreamTarget) -> Gate:
        failures = self._means.book.failures_since_success(ground.directory.path)
        last = failures[0] if failures else None
        return dream_gates.rest_gate(
            self._means.now(),
            self._settings.dream.min_hours,
            len(failures),
            last.finished if last else None,
            was_meant=last is not None and last.state != "failed",
        )

    def _touched(self, ground: DreamTarget) -> Gate:
        """Looked through at most every ten minutes; until then the last count holds."""
        is_log_mode = self._settings.mode_of(ground.project) == "log"
        scanned_at, count = self._scans.get(ground.name, (None, 0))
        if dream_gates.scan_is_due(scanned_at, self._real()):
            since = self.last(ground) or 0.0
            count = _logs_since(ground, since) if is_log_mode else self._sessions(ground, since)
            self._scans[ground.name] = (self._real(), count)
        if is_log_mode:
            return dream_gates.logs_gate(count)
        return dream_gates.sessions_gate(count, self._settings.dream.min_sessions)

    def _sessions(self, ground: DreamTarget, since: float) -> int:
        return len(self._means.sessions.touched(ground.project, since, self._means.now()))

    def _lock(self, ground: DreamTarget) -> Gate:
        before = look(paths.consolidate_lock(ground.directory.path))
        holder = holder_named(before.body)
        is_held = holder is not None and not holder_is_stale(before, holder, self._means.now())
        return dream_gates.lock_gate(is_held=is_held)

    def _clock(self, ground: DreamTarget, stamp: Before) -> Clock:
        folder = ground.directory.path
        dreamt_at = self._means.book.real_time(folder, self._boot)
        return Clock(
            now=self._means.now(),
            stamped=stamp.modified if stamp.existed else None,
            recorded=self._means.book.last_success(folder),
            real_seconds_since=None if dreamt_at is None else self._real() - dreamt_at,
        )

    def last(self, ground: DreamTarget) -> float | None:
        stamp = look(paths.consolidate_lock(ground.directory.path))
        return dream_gates.last_dream(self._clock(ground, stamp))

    def note_end(self, ground: DreamTarget, *, has_dreamt: bool) -> None:
        self._scans.pop(ground.name, None)
        if has_dreamt:
            self._means.book.note_real_time(ground.directory.path, self._boot, self._real())

    def known(self) -> list[str]:
        """Roots of projects that had turns or dreams, and are still there."""
        roots = dict.fromkeys([*self._means.sessions.projects(), *self._means.book.projects()])
        return [root for root in roots if root and Path(root).is_dir()][:MOST_PROJECTS]


def _has_memories(ground: DreamTarget) -> bool:
    """Whether there is anything to dream over; the agent makes folders long before it fills them.

    The team's memories lie below a project's, and are not its own.
    """
    folder = Path(ground.directory.path)
    others = f"{folder}/team/" if ground.project else "\0"
    return any(
        path.name != INDEX_FILE and not str(path).startswith(others)
        for path in folder.rglob("*.md")
    )


def _logs_since(ground: DreamTarget, since: float) -> int:
    logs = Path(ground.directory.path).glob("logs/[0-9]*/[0-9]*/*.md")
    return sum(modified_at(path) > since for path in logs)
