"""What `memoryd dream` and `memoryd status` say about the dreams of one target."""

import msgspec

from memoryd.base.timestamps import iso_time
from memoryd.dreams.rules.gates import Gate
from memoryd.dreams.rules.news import Estimate
from memoryd.dreams.run import DreamRun
from memoryd.dreams.target import DreamTarget


class Running(msgspec.Struct, frozen=True):
    dream: int
    phase: str
    files: int
    usd: float
    seconds: float


class DreamStatus(msgspec.Struct, frozen=True, omit_defaults=True):
    """Whether a dream may start now; if not, which gate is closed, why, and until when."""

    project: str
    directory: str
    message: str
    is_open: bool
    scope: str = "project"
    gate: str = ""
    reason: str = ""
    opens_at: str = ""
    last: str = ""
    running: Running | None = None
    estimate: Estimate | None = None
    """What the next dream would read and cost."""


def status_of(
    target: DreamTarget,
    gate: Gate,
    last: float | None,
    run: DreamRun | None,
    estimate: Estimate | None = None,
) -> DreamStatus:
    """`gate` is the one that decides, `last` the time of the last dream, `run` the current one."""
    running = _running(run) if run is not None and run.id else None
    opens_at = iso_time(gate.opens_at) if gate.opens_at is not None else ""
    return DreamStatus(
        project=target.project,
        directory=target.directory.path,
        scope=target.directory.scope,
        message=f"{target.name}: {_message(target, gate, running, opens_at)}",
        is_open=gate.is_open,
        gate="" if gate.is_open else gate.name,
        reason="" if gate.is_open else gate.reason,
        opens_at=opens_at,
        last=iso_time(last) if last else "",
        running=running,
        estimate=estimate,
    )


def gate_hint(gate: Gate, target: DreamTarget) -> str:
    """What to do about a closed gate."""
    if gate.name in {"hours", "rest", "sessions", "logs"}:
        return f"start one anyway: {target.command('--now')}"
    return "turn memory on: memoryd on" if gate.name == "switch" else ""


def _running(run: DreamRun) -> Running:
    progress = run.progress
    return Running(
        run.id, progress.phase or "", len(progress.files), progress.usd, progress.seconds
    )


def _message(target: DreamTarget, gate: Gate, running: Running | None, opens_at: str) -> str:
    if running is not None:
        return f"dream {running.dream} is running ({running.phase or 'starting'})"
    if gate.is_open:
        return "a dream starts soon"
    if gate.message:
        return f"{gate.message}. Now: {target.command('--now')}"
    return f"not now: {gate.reason}" + (f"; next dream after {opens_at}" if opens_at else "")
