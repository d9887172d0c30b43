"""Looks at everything that must be right for memoryd to work, and says what to do where it is not.

What can be seen from here is looked at here (`doctor_places`): the daemon may be the one that is
ill. Only its inside is asked for.
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
from memoryd_client.doctor import hints, local_checks
from memoryd_client.doctor.findings import Finding, Verdict
from memoryd_client.install import launchd, systemd
from memoryd_client.install.programs import run
from memoryd_client.version import __version__


def examine(cwd: str, *, try_provider: bool = False) -> list[Finding]:
    """Every finding, in the order in which a person would look."""
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
    """Why the daemon did not answer; one that is there and silent has to be ended."""
    is_stuck = isinstance(failure, TimedOut | ProtocolError)
    mend = hints.end_it(places) if is_stuck else failure.hint
    if config.verdict == "fail":
        mend = f"mend the settings first (see below); then {mend}"
    return Finding("daemon", "fail", failure.message, mend)


def daemon_finding(status: Json, places: Locations) -> Finding:
    version = text_at(status, "version")
    if version == __version__:
        return Finding("daemon", "ok", f"answers, version {version}")
    reason = f"runs version {version or 'unknown'}, this command is {__version__}"
    return Finding("daemon", "warn", reason, hints.start_again(places))


def service_finding(places: Locations) -> Finding:
    """Whether the system keeps the daemon alive."""
    if not places.service.exists():
        reason = "memoryd is not installed as a service, so it ends with its terminal"
        return Finding("service", "warn", reason, "memoryd install --service")
    if sys.platform == "darwin":
        loaded = launchd.is_loaded()
        told = "the launchd agent is loaded" if loaded else "the launchd agent is not loaded"
        return service_verdict(told, is_well=loaded)
    if no_manager := systemd.why_no_manager():
        return Finding("service", "skipped", no_manager)
    names = (systemd.SERVICE, systemd.SOCKET)
    states = [systemd.state_of(name) for name in names]
    told = ", ".join(f"{name} is {state}" for name, state in zip(names, states, strict=True))
    if states == ["active", "active"] and (other := hints.runs_another(places)):
        reason = f"it runs another memoryd: {other}"
        return Finding("service", "warn", reason, "memoryd install --service")
    return service_verdict(told, is_well=states == ["active", "active"])


def service_verdict(told: str, *, is_well: bool) -> Finding:
    if is_well:
        return Finding("service", "ok", told)
    return Finding("service", "fail", told, "memoryd install --service")


def lingering_finding(places: Locations) -> Finding:
    """Whether the service goes on when the person logs out."""
    if sys.platform == "darwin" or not places.service.exists():
        return Finding("lingering", "skipped", "only a systemd service can linger")
    user = str(os.getuid())
    outcome = run("loginctl", "show-user", user, "--property=Linger", "--value")
    if outcome.code:
        return Finding("lingering", "skipped", outcome.complaint)
    if outcome.out.strip() == "yes":
        return Finding("lingering", "ok", "the service goes on when you log out")
    reason = "the service stops when you log out"
    return Finding("lingering", "warn", reason, "loginctl enable-linger")


INNER_CHECKS = ("provider", "memory", "spending", "fences", "errors")


def unasked_findings() -> Iterator[Finding]:
    return (Finding(name, "skipped", "the daemon does not answer") for name in INNER_CHECKS)


def inner_findings(status: Json, places: Locations) -> Iterator[Finding]:
    """What only the daemon can know."""
    provider = text_at(status, "provider")
    yield Finding(
        "provider", "ok" if provider else "skipped", provider or "the daemon says nothing"
    )
    yield memory_finding(object_at(status, "memory"))
    yield spending_finding(object_at(status, "spending"), places)
    yield fences_finding(object_at(status, "fences"))
    errors = [sentence_of(error) for error in items_at(status, "errors")]
    if errors:
        reason = f"{len(errors)} lately, the last: {errors[-1]}"
        yield Finding("errors", "warn", reason, "memoryd logs --level warning")
    else:
        yield Finding("errors", "ok", "none lately")


def health_findings(cwd: str, try_provider: bool) -> Iterator[Finding]:
    """What the daemon found out about itself when it was asked to look."""
    try:
        answer = call("health", {"cwd": cwd, "provider": try_provider}, timeout_seconds=60)
    except DaemonError as failure:
        # One that does not know the question is of another age, and no patient.
        verdict: Verdict = "skipped" if failure.kind == "refused" else "warn"
        yield Finding("health", verdict, failure.message, failure.hint)
        return
    except Failure as failure:
        yield Finding("health", "skipped", failure.message)
        return
    for one in objects_at(answer, "findings"):
        verdict = "ok" if text_at(one, "verdict") == "ok" else "warn"
        yield Finding(text_at(one, "check"), verdict, text_at(one, "reason"), text_at(one, "mend"))


def memory_finding(memory: Json) -> Finding:
    if "enabled" not in memory:
        return Finding("memory", "skipped", "the daemon says nothing")
    if is_true_at(memory, "enabled"):
        return Finding("memory", "ok", "on for this project")
    told = text_at(memory, "reason")
    reason = f"off for this project: {told or 'no reason given'}"
    return Finding("memory", "warn", reason, hints.turn_on(told))


def spending_finding(spending: Json, places: Locations) -> Finding:
    today = f"${number_at(spending, 'today_usd'):.2f} today"
    if is_true_at(spending, "paused"):
        reason = text_at(spending, "reason")
        told = f"{today}, and jobs wait: {hints.PAUSES.get(reason, reason or 'the cap is reached')}"
        return Finding("spending", "warn", told, hints.go_on(reason, places.config))
    return Finding("spending", "ok", today)


def fences_finding(fences: Json) -> Finding:
    """Which of the fences stand around the daemon's writer; a name, and whether it is up."""
    if not fences:
        return Finding("fences", "skipped", "the daemon does not say which are up")
    up = [name for name, is_up in fences.items() if is_up]
    down = [name for name, is_up in fences.items() if not is_up]
    reason = f"up: {', '.join(up) or 'none'}"
    if down and sys.platform != "linux":
        return Finding("fences", "skipped", "only Linux has them; memoryd checks every path itself")
    if down:
        mend = "run it on Linux 5.13 or newer, outside a container that forbids them"
        return Finding("fences", "warn", f"{reason}; down: {', '.join(down)}", mend)
    return Finding("fences", "ok", reason)
