"""Looks at everything that must be right for memoryd to work, and says what to do where it is not.

Rules:
- A finding is `ok`, `warn` (it works, but not as it could), `fail` (it does not work) or `skipped`
  (it could not be looked at), always with a reason, and with a mend where there is one.
- What can be seen from here is looked at here: the daemon may be the one that is ill. Only its
  inside is asked for.
"""

import os
import shlex
import stat
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Literal, NamedTuple

from memoryd_client import __version__, claude_code, service_launchd, service_systemd
from memoryd_client.answers import (
    Json,
    is_true_at,
    items_at,
    number_at,
    object_at,
    objects_at,
    sentence_of,
    text_at,
)
from memoryd_client.call import call
from memoryd_client.failures import Failure
from memoryd_client.locations import Locations, locations, restart_hint
from memoryd_client.programs import run
from memoryd_client.serve import complaint_about_settings

USUAL_RUNTIME = "/run/user"
WATCH_LIMIT = Path("/proc/sys/fs/inotify/max_user_watches")

Verdict = Literal["ok", "warn", "fail", "skipped"]


class Finding(NamedTuple):
    check: str
    verdict: Verdict
    reason: str
    mend: str = ""


def examine(cwd: str, *, try_provider: bool = False) -> list[Finding]:
    """Every finding, in the order in which a person would look."""
    places = locations()
    status: Json | None = None
    try:
        status = call("status", {"cwd": cwd}, timeout_seconds=5)
        daemon = daemon_finding(status, places)
    except Failure as failure:
        daemon = Finding("daemon", "fail", failure.message, failure.hint)
    return [
        daemon,
        service_finding(places),
        lingering_finding(places),
        log_finding(places.log),
        socket_finding(places.socket),
        runtime_finding(),
        folder_finding("state folder", places.state),
        agent_folder_finding(places.claude),
        watch_finding(places.claude / "projects"),
        hooks_finding(places),
        config_finding(places.config),
        *(inner_findings(status) if status is not None else unasked_findings()),
        *(health_findings(cwd, try_provider) if status is not None else ()),
    ]


def daemon_finding(status: Json, places: Locations) -> Finding:
    version = text_at(status, "version")
    if version == __version__:
        return Finding("daemon", "ok", f"answers, version {version}")
    reason = f"runs version {version or 'unknown'}, this command is {__version__}"
    return Finding("daemon", "warn", reason, restart_hint(places))


def service_finding(places: Locations) -> Finding:
    """Whether the system keeps the daemon alive."""
    if not places.service.exists():
        reason = "memoryd is not installed as a service, so it ends with its terminal"
        return Finding("service", "warn", reason, "memoryd install --service")
    if sys.platform == "darwin":
        loaded = service_launchd.is_loaded()
        told = "the launchd agent is loaded" if loaded else "the launchd agent is not loaded"
        return service_verdict(told, is_well=loaded)
    if no_manager := service_systemd.why_no_manager():
        return Finding("service", "skipped", no_manager)
    names = (service_systemd.SERVICE, service_systemd.SOCKET)
    states = [service_systemd.state_of(name) for name in names]
    told = ", ".join(f"{name} is {state}" for name, state in zip(names, states, strict=True))
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


def log_finding(log: Path) -> Finding:
    if not log.exists():
        return Finding("log", "warn", f"{log} is not there yet", "memoryd serve makes it")
    if not os.access(log, os.R_OK):
        return Finding("log", "fail", f"{log} cannot be read", f"chmod u+rw {quoted(log)}")
    return Finding("log", "ok", str(log))


def socket_finding(path: Path) -> Finding:
    """Whether only this user can reach the daemon, and nobody can put another in its place."""
    try:
        own, folder = path.stat(), path.parent.stat()
    except OSError as error:
        return Finding("socket", "fail", f"{path}: {error.strerror}", "memoryd serve makes it")
    if not stat.S_ISSOCK(own.st_mode):
        return Finding("socket", "fail", f"{path} is not a socket", f"rm {quoted(path)}")
    if own.st_uid != os.getuid():
        return Finding(
            "socket", "fail", f"{path} belongs to user {own.st_uid}", "set MEMORYD_SOCKET"
        )
    if own.st_mode & 0o077:
        return Finding("socket", "fail", f"{path} is open to others", f"chmod 600 {quoted(path)}")
    if folder.st_mode & 0o022 and not folder.st_mode & stat.S_ISVTX:
        reason = f"others may write in {path.parent}"
        return Finding("socket", "fail", reason, f"chmod go-w {quoted(path.parent)}")
    return Finding("socket", "ok", f"{path}, for you alone")


def runtime_finding() -> Finding:
    """A shell without XDG_RUNTIME_DIR looks for the socket where a service does not put it."""
    folder = os.environ.get("XDG_RUNTIME_DIR", "")
    usual = f"{USUAL_RUNTIME}/{os.getuid()}"
    if folder:
        return folder_finding("runtime folder", Path(folder))
    if not Path(usual).is_dir():
        return Finding("runtime folder", "ok", "this system has none; the state folder serves")
    reason = f"XDG_RUNTIME_DIR is not set here, though {usual} exists"
    return Finding("runtime folder", "warn", reason, f"export XDG_RUNTIME_DIR={usual}")


def folder_finding(name: str, path: Path) -> Finding:
    """Whether a folder is there, ours, private and writable."""
    try:
        found = path.stat()
    except OSError as error:
        return Finding(name, "fail", f"{path}: {error.strerror}", f"mkdir -p -m 700 {quoted(path)}")
    if found.st_uid != os.getuid():
        mend = f"sudo chown -R $USER {quoted(path)}"
        return Finding(name, "fail", f"{path} belongs to user {found.st_uid}", mend)
    mend = f"chmod 700 {quoted(path)}"
    if found.st_mode & 0o022:
        return Finding(name, "fail", f"others may write in {path}", mend)
    if not os.access(path, os.W_OK | os.X_OK):
        return Finding(name, "fail", f"{path} cannot be written", mend)
    if found.st_mode & 0o055:
        return Finding(name, "warn", f"others may look into {path}", mend)
    return Finding(name, "ok", str(path))


def agent_folder_finding(claude: Path) -> Finding:
    """Whether there are transcripts to follow and a place for memories."""
    projects = claude / "projects"
    if not projects.is_dir():
        reason = f"{projects} is not there: the agent has not run here yet"
        return Finding("transcripts", "warn", reason, "start the agent once in a project")
    if not os.access(projects, os.R_OK | os.W_OK | os.X_OK):
        mend = f"chmod u+rwx {quoted(projects)}"
        return Finding("transcripts", "fail", f"{projects} cannot be read and written", mend)
    return Finding("transcripts", "ok", str(projects))


def watch_finding(projects: Path) -> Finding:
    """Whether the system allows as many watches as there are folders to watch."""
    try:
        allowed = int(WATCH_LIMIT.read_text("ascii"))
    except (OSError, ValueError):
        return Finding("watches", "skipped", "this system has no such limit")
    # Each project's folder and the memory in it; others on this machine need some too.
    wanted = 2 * sum(1 for _ in projects.glob("*/")) + 1
    reason = f"{wanted} needed, {allowed} allowed for all your programs"
    if wanted <= allowed / 2:
        return Finding("watches", "ok", reason)
    mend = f"sudo sysctl fs.inotify.max_user_watches={max(524_288, 4 * wanted)}"
    return Finding("watches", "warn", f"{reason}; what is not watched is found later", mend)


def hooks_finding(places: Locations) -> Finding:
    """Whether the agent runs the hook of this very memoryd, for every event."""
    installed, mend = claude_code.installed_commands(places), "memoryd install --hooks claude-code"
    if not installed:
        reason = "Claude Code has no hooks of memoryd, so no session is told what is remembered"
        return Finding("hooks", "warn", reason, mend)
    others = sorted(set(installed) - {claude_code.hook_command()})
    if others:
        return Finding("hooks", "warn", f"they run another memoryd: {others[0]}", mend)
    if len(installed) < len(claude_code.EVENTS):
        reason = f"{len(installed)} of {len(claude_code.EVENTS)} events have our hook"
        return Finding("hooks", "warn", reason, mend)
    return Finding("hooks", "ok", f"in {claude_code.settings_file(places)}")


def config_finding(path: Path) -> Finding:
    """Whether the settings can be read, and a daemon that starts now would take them."""
    try:
        tomllib.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        return started_finding(f"{path} is not there: the defaults hold")
    except OSError as error:
        return Finding("settings", "fail", f"{path}: {error.strerror}", f"chmod 600 {quoted(path)}")
    except ValueError as error:
        return Finding("settings", "fail", f"{path} is not TOML: {error}", "mend that line")
    return started_finding(str(path))


def started_finding(reason: str) -> Finding:
    complaint, hint = complaint_about_settings()
    return Finding("settings", "fail" if complaint else "ok", complaint or reason, hint)


INNER_CHECKS = ("provider", "memory", "spending", "fences", "errors")


def unasked_findings() -> Iterator[Finding]:
    return (Finding(name, "skipped", "the daemon does not answer") for name in INNER_CHECKS)


def inner_findings(status: Json) -> Iterator[Finding]:
    """What only the daemon can know."""
    provider = text_at(status, "provider")
    yield Finding(
        "provider", "ok" if provider else "skipped", provider or "the daemon says nothing"
    )
    yield memory_finding(object_at(status, "memory"))
    yield spending_finding(object_at(status, "spending"))
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
        answer = call("health", {"cwd": cwd, "provider": try_provider}, timeout_seconds=30)
    except Failure as failure:
        yield Finding("health", "skipped", failure.message)
        return
    for one in objects_at(answer, "findings"):
        verdict: Verdict = "ok" if text_at(one, "verdict") == "ok" else "warn"
        yield Finding(text_at(one, "check"), verdict, text_at(one, "reason"), text_at(one, "mend"))


def memory_finding(memory: Json) -> Finding:
    if "enabled" not in memory:
        return Finding("memory", "skipped", "the daemon says nothing")
    if is_true_at(memory, "enabled"):
        return Finding("memory", "ok", "on for this project")
    reason = f"off for this project: {text_at(memory, 'reason') or 'no reason given'}"
    return Finding("memory", "warn", reason, "memoryd on")


def spending_finding(spending: Json) -> Finding:
    today = f"${number_at(spending, 'today_usd'):.2f} today"
    if is_true_at(spending, "paused"):
        reason = f"{today}, and the cap is reached: jobs wait"
        return Finding("spending", "warn", reason, "raise budget.usd_per_day in the settings")
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


def quoted(path: Path) -> str:
    return shlex.quote(str(path))
