"""Answers `ping` and `status`."""

import os
import time

import msgspec

from memoryd.api.handlers.health import Health, Recent
from memoryd.api.handlers.spending import PlanStatus, QueueStatus, SpendingReports, SpendingStatus
from memoryd.base.timestamps import iso_time
from memoryd.dreams.dreamer import Dreamer
from memoryd.dreams.status import DreamStatus
from memoryd.extraction.inbox import Inbox
from memoryd.memories.services import Services
from memoryd.recall.service import RecallService
from memoryd.recall.usage import MemoryUsage
from memoryd.system.landlock import Fences, fences
from memoryd.team.worker import TeamWorker
from memoryd.transcripts.tail import Tail, TailStatus


class Pong(msgspec.Struct, frozen=True):
    """`problems` are mistakes in the settings, which every command shows."""

    version: str
    pid: int
    uptime_seconds: float
    problems: list[str] = []


class TranscriptsStatus(msgspec.Struct, frozen=True):
    """`behind` counts unread bytes on disk."""

    watched: int = 0
    behind: int = 0


class InboxStatus(msgspec.Struct, frozen=True):
    """`waiting` statements of this project for which nobody decided yet."""

    waiting: int


class RulesStatus(msgspec.Struct, frozen=True):
    """Rules about a tool call that were given when it was about to be made, in all projects."""

    given: int
    followed: int
    broken: int


class MemoryStatus(msgspec.Struct, frozen=True):
    enabled: bool
    reason: str
    extraction: str
    until: str | None = None


class StatusReport(msgspec.Struct, frozen=True, kw_only=True):
    version: str
    pid: int
    started: str
    provider: str
    model: str
    model_host: str
    transcripts: TranscriptsStatus
    queue: QueueStatus
    spending: SpendingStatus
    memory: MemoryStatus
    inbox: InboxStatus
    rules: RulesStatus
    plan: PlanStatus | None
    log: str
    socket: str
    fences: Fences
    recent: list[Recent]
    dreams: list[DreamStatus] = []
    errors: list[str] = []


class Status:
    def __init__(
        self,
        version: str,
        services: Services,
        *,
        tail: Tail,
        spending: SpendingReports,
        health: Health,
        dreamer: Dreamer,
        recall: RecallService,
        inbox: Inbox,
        usage: MemoryUsage,
        team: TeamWorker,
    ) -> None:
        self._version = version
        self._services = services
        self._tail = tail
        self._spending = spending
        self._health = health
        self._dreamer = dreamer
        self._recall = recall
        self._inbox = inbox
        self._usage = usage
        self._team = team
        self._started = time.time()
        self._started_monotonic = time.monotonic()

    def pong(self) -> Pong:
        uptime = time.monotonic() - self._started_monotonic
        return Pong(self._version, os.getpid(), round(uptime, 3), self._services.problems)

    def report(self, cwd: str | None, tail: TailStatus) -> StatusReport:
        """Blocks."""
        places = self._services.places
        project = self._services.scopes.project(cwd or "/")
        switch, mode = project.switch, self._services.settings.extraction_mode_of(project.root)
        queue, queue_problems = self._spending.queue(tail.settling)
        rules = self._usage.rules()
        return StatusReport(
            version=self._version,
            pid=os.getpid(),
            started=iso_time(self._started),
            provider=self._spending.provider,
            model=self._spending.model,
            model_host=self._spending.model_host,
            transcripts=TranscriptsStatus(tail.watched, tail.behind_bytes),
            queue=queue,
            spending=self._spending.spending(),
            memory=MemoryStatus(
                switch.enabled,
                switch.reason,
                mode,
                None if switch.until is None else iso_time(switch.until),
            ),
            inbox=InboxStatus(self._inbox.count(cwd)),
            rules=RulesStatus(rules.given, rules.followed, rules.broken),
            plan=self._spending.plan(),
            log=places.log_file,
            socket=places.socket,
            fences=fences(),
            recent=self._health.recent(),
            dreams=self._dreamer.statuses(),
            errors=[
                *(f"{one}, then restart memoryd; turns wait" for one in self._services.problems),
                *self._storage_problems(),
                *self._tail.problems,
                *queue_problems,
                *self._spending.provider_problems(),
                *self._recall.problems,
                *self._team.problems,
            ],
        )

    def _storage_problems(self) -> list[str]:
        problem = self._services.database.problem
        return [problem] if problem else []
