"""Checks everything that memoryd needs to work, and says how to fix what is wrong.

What the client can see is checked without the daemon (`local_checks`), since the daemon may be what
is broken. Only its inner state is asked from it.
"""

import os
import sys
from collections.abc import Iterator

from memoryd_client.connection.answers import (
    Json,
    is_true_at,
    items_at,
    number_at,
    object_at,
    objects_at,
    sentence_of,
    text_at,
)
from memoryd_client.connection.call import call
from memoryd_client.connection.failures import DaemonError, Failure, ProtocolError, TimedOut
from memoryd_client.connection.locations import Locations, locations
from memoryd_client.doctor import fixes, local_checks
from memoryd_client.doctor.findings import Finding, Verdict
from memoryd_client.install import launchd, systemd
from memoryd_client.install.programs import run
from memoryd_client.version import __version__


def examine(cwd: str, *, try_provider: bool = False) -> list[Finding]:
    """All findings, in the order in which a person would look."""
    places = locations()
    config = local_checks.config_finding(places.config)
    status: Json | None = None
    try:
        status = call("status", {"cwd": cwd}, timeout_seconds=10)
        daemon = daemon_finding(status, places)
    except Failure as failure:
        daemon = silence_finding(failure, places, config)
    return [
        daemon,
        service_finding(places),
        lingering_finding(places),
        local_checks.log_finding(places.log),
        local_checks.socket_finding(places.socket),
        local_checks.runtime_finding(),
        local_checks.state_finding(places.state),
        local_checks.transcripts_finding(places.claude),
        local_checks.memory_files_finding(places.claude),
        local_checks.watch_finding(places.claude / "projects"),
        local_checks.hooks_finding(places),
        local_checks.server_finding(places),
        config,
        *(inner_findings(status, places) if status is not None else unasked_findings()),
        *(health_findings(cwd, try_provider) if status is not None else ()),
    ]


def silence_finding(failure: Failure, places: Locations, config: Finding) -> Finding:
    """Why the daemon did not answer; one that runs and stays silent must be killed."""
    is_stuck = isinstance(failure, TimedOut | ProtocolError)
    fix = fixes.kill(places) if is_stuck else failure.hint
    if config.verdict == "fail":
        fix = f"fix the settings first (see below); then {fix}"
    return Finding("daemon", "fail", failure.message, fix)


def daemon_finding(status: Json, places: Locations) -> Finding:
    version = text_at(status, "version")
    if version == __version__:
        return Finding("daemon", "ok", f"answers, version {version}")
    reason = f"it runs version {version or 'unknown'}, this command is {__version__}"
    return Finding("daemon", "warn", reason, fixes.restart(places))


def service_finding(places: Locations) -> Finding:
    """Whether the system keeps the daemon alive."""
    if not places.service.exists():
        reason = "memoryd is not installed as a service, so it stops with its terminal"
        return Finding("service", "warn", reason, "memoryd install --service")
    if sys.platform == "darwin":
        loaded = launchd.is_loaded()
        state = "the launchd agent is loaded" if loaded else "the launchd agent is not loaded"
        return service_verdict(state, is_running=loaded)
    if no_manager := systemd.why_no_manager():
        return Finding("service", "skipped", no_manager)
    names = (systemd.SERVICE, systemd.SOCKET)
    states = [systemd.state_of(name) for name in names]
    words = ", ".join(f"{name} is {state}" for name, state in zip(names, states, strict=True))
    if states == ["active", "active"] and (other := fixes.other_command(places)):
        reason = f"it runs another memoryd: {other}"
        return Finding("service", "warn", reason, "memoryd install --service")
    return service_verdict(words, is_running=states == ["active", "active"])


def service_verdict(reason: str, *, is_running: bool) -> Finding:
    if is_running:
        return Finding("service", "ok", reason)
    return Finding("service", "fail", reason, "memoryd install --service")


def lingering_finding(places: Locations) -> Finding:
    """Whether the service keeps running after a logout."""
    if sys.platform == "darwin" or not places.service.exists():
        return Finding("lingering", "skipped", "only a systemd service can linger")
    user = str(os.getuid())
    outcome = run("loginctl", "show-user", user, "--property=Linger", "--value")
    if outcome.code:
        return Finding("lingering", "skipped", outcome.complaint)
    if outcome.out.strip() == "yes":
        return Finding("lingering", "ok", "the service keeps running when you log out")
    reason = "the service stops when you log out"
    return Finding("lingering", "warn", reason, "loginctl enable-linger")


INNER_CHECKS = ("provider", "memory", "spending", "fences", "errors")


def unasked_findings() -> Iterator[Finding]:
    return (Finding(name, "skipped", "the daemon does not answer") for name in INNER_CHECKS)


def inner_findings(status: Json, places: Locations) -> Iterator[Finding]:
    """What only the daemon knows."""
    yield provider_finding(text_at(status, "provider"), object_at(status, "plan"))
    yield memory_finding(object_at(status, "memory"))
    yield spending_finding(object_at(status, "spending"), places)
    yield fences_finding(object_at(status, "fences"))
    errors = [sentence_of(error) for error in items_at(status, "errors")]
    if errors:
        reason = f"{len(errors)} recently, the last: {errors[-1]}"
        yield Finding("errors", "warn", reason, "memoryd logs --level warning")
    else:
        yield Finding("errors", "ok", "none recently")


def provider_finding(provider: str, plan: Json) -> Finding:
    if problem := text_at(plan, "problem"):
        reason = f"{provider} is not in use, the built-in rules do the work: {problem}"
        return Finding("provider", "warn", reason, text_at(plan, "hint"))
    verdict: Verdict = "ok" if provider else "skipped"
    return Finding("provider", verdict, provider or "the daemon does not say")


def health_findings(cwd: str, try_provider: bool) -> Iterator[Finding]:
    """What the daemon found when it checked itself."""
    try:
        answer = call("health", {"cwd": cwd, "provider": try_provider}, timeout_seconds=60)
    except DaemonError as failure:
        # A daemon of another version may not know the method; that is not a problem.
        verdict: Verdict = "skipped" if failure.kind == "refused" else "warn"
        yield Finding("health", verdict, failure.message, failure.hint)
        return
    except Failure as failure:
        yield Finding("health", "skipped", failure.message)
        return
    for one in objects_at(answer, "findings"):
        told = text_at(one, "verdict")
        verdict = "ok" if told == "ok" else "fail" if told == "fail" else "warn"
        yield Finding(text_at(one, "check"), verdict, text_at(one, "reason"), text_at(one, "fix"))


def memory_finding(memory: Json) -> Finding:
    if "enabled" not in memory:
        return Finding("memory", "skipped", "the daemon does not say")
    if is_true_at(memory, "enabled"):
        return Finding("memory", "ok", "on for this project")
    why = text_at(memory, "reason")
    reason = f"off for this project: {why or 'no reason given'}"
    return Finding("memory", "warn", reason, fixes.turn_on(why))


def spending_finding(spending: Json, places: Locations) -> Finding:
    today = f"${number_at(spending, 'today_usd'):.2f} today"
    if is_true_at(spending, "paused"):
        reason = text_at(spending, "reason")
        paused = f"{today}; jobs are waiting: {fixes.pause_words(reason)}"
        return Finding("spending", "warn", paused, fixes.end_pause(reason, places.config))
    return Finding("spending", "ok", today)


def fences_finding(fences: Json) -> Finding:
    """Which kernel limits (fences) hold for the part of the daemon that writes."""
    if not fences:
        return Finding("fences", "skipped", "the daemon does not say which are active")
    active = [name for name, is_active in fences.items() if is_active]
    missing = [name for name, is_active in fences.items() if not is_active]
    reason = f"active: {', '.join(active) or 'none'}"
    if missing and sys.platform != "linux":
        return Finding("fences", "skipped", "only Linux has them; memoryd checks every path itself")
    if missing:
        fix = "run it on Linux 5.13 or newer, outside a container that forbids them"
        return Finding("fences", "warn", f"{reason}; missing: {', '.join(missing)}", fix)
    return Finding("fences", "ok", reason)
