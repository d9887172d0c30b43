"""Checks that need no daemon: files, modes, limits, and the agent's settings."""

import os
import stat
import tomllib
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from memoryd_client.connection.failures import LocalFailure
from memoryd_client.connection.locations import Locations
from memoryd_client.doctor.findings import Finding, quoted
from memoryd_client.install import claude_code, launcher, plugin, settings_json
from memoryd_client.serve import settings_error

WATCH_LIMIT = Path("/proc/sys/fs/inotify/max_user_watches")
READ_WRITE = os.R_OK | os.W_OK


def log_finding(log: Path) -> Finding:
    if not log.exists():
        return Finding("log", "skipped", f"{log} does not exist yet; the first start creates it")
    if not os.access(log, os.R_OK):
        return Finding("log", "fail", f"{log} cannot be read", f"chmod u+rw {quoted(log)}")
    return Finding("log", "ok", str(log))


def socket_finding(path: Path) -> Finding:
    """Whether only this user can reach the socket or replace it."""
    try:
        own, folder = path.stat(), path.parent.stat()
    except FileNotFoundError:
        return Finding("socket", "skipped", f"{path} does not exist; the daemon creates it")
    except OSError as error:
        fix = f"chmod u+rwx {quoted(path.parent)}"
        return Finding("socket", "fail", f"{path}: {error.strerror}", fix)
    if not stat.S_ISSOCK(own.st_mode):
        return Finding("socket", "fail", f"{path} is not a socket", f"rm {quoted(path)}")
    if own.st_uid != os.getuid():
        return Finding(
            "socket", "fail", f"{path} belongs to user {own.st_uid}", "set MEMORYD_SOCKET"
        )
    if own.st_mode & 0o077:
        return Finding(
            "socket", "fail", f"other users may open {path}", f"chmod 600 {quoted(path)}"
        )
    if folder.st_mode & 0o022 and not folder.st_mode & stat.S_ISVTX:
        reason = f"other users may write to {path.parent}"
        return Finding("socket", "fail", reason, f"chmod go-w {quoted(path.parent)}")
    return Finding("socket", "ok", f"{path}, accessible only to you")


def runtime_finding() -> Finding:
    folder = os.environ.get("XDG_RUNTIME_DIR", "")
    if folder:
        return folder_finding("runtime folder", Path(folder))
    return Finding("runtime folder", "ok", "not set; the state folder is used instead")


def state_finding(folder: Path) -> Finding:
    if not os.path.lexists(folder):
        reason = f"{folder} does not exist yet; the first start creates it"
        return Finding("state folder", "skipped", reason)
    return folder_finding("state folder", folder)


def folder_finding(name: str, path: Path) -> Finding:
    """Whether a folder exists, is ours, private and writable."""
    try:
        found = path.stat()
    except OSError as error:
        return Finding(name, "fail", f"{path}: {error.strerror}", f"mkdir -p -m 700 {quoted(path)}")
    if found.st_uid != os.getuid():
        fix = f"sudo chown -R $USER {quoted(path)}"
        return Finding(name, "fail", f"{path} belongs to user {found.st_uid}", fix)
    fix = f"chmod 700 {quoted(path)}"
    if found.st_mode & 0o022:
        return Finding(name, "fail", f"other users may write to {path}", fix)
    if not os.access(path, os.W_OK | os.X_OK):
        return Finding(name, "fail", f"{path} cannot be written", fix)
    if found.st_mode & 0o055:
        return Finding(name, "warn", f"other users may read {path}", fix)
    return Finding(name, "ok", str(path))


def transcripts_finding(claude: Path) -> Finding:
    """Whether there is a folder of transcripts that memoryd can use."""
    projects = claude / "projects"
    if not projects.is_dir():
        reason = f"{projects} does not exist: the agent has not run here yet"
        return Finding("transcripts", "warn", reason, "start the agent once in a project")
    if not os.access(projects, READ_WRITE | os.X_OK):
        fix = f"chmod u+rwx {quoted(projects)}"
        return Finding("transcripts", "fail", f"{projects} cannot be read and written", fix)
    return Finding("transcripts", "ok", str(projects))


def memory_files_finding(claude: Path) -> Finding:
    """Whether this user, and no other, can read and write every memory."""
    if closed := list(islice(closed_paths(claude), 3)):
        fix = f"chmod -R u+rwX {' '.join(map(quoted, closed))}"
        paths = ", ".join(map(str, closed))
        return Finding("memory files", "fail", f"cannot be read and written: {paths}", fix)
    if foreign := next(
        (path for path in memory_folders(claude) if is_writable_by_others(path)), None
    ):
        fix = f"chmod -R go-w {quoted(foreign)}"
        return Finding("memory files", "warn", f"other users may write to {foreign}", fix)
    return Finding("memory files", "ok", "readable and writable, only by you")


def memory_folders(claude: Path) -> Iterator[Path]:
    yield from (path for path in (claude / "projects").glob("*/memory") if path.is_dir())
    if (claude / "memory").is_dir():
        yield claude / "memory"


def closed_paths(claude: Path) -> Iterator[Path]:
    """The outermost paths that cannot be read and written."""
    for folder in memory_folders(claude):
        if not os.access(folder, READ_WRITE | os.X_OK):
            yield folder
        else:
            yield from (path for path in folder.glob("*.md") if not os.access(path, READ_WRITE))


def is_writable_by_others(folder: Path) -> bool:
    return bool(folder.stat().st_mode & 0o022)


def watch_finding(projects: Path) -> Finding:
    """Whether the system allows enough watches for all folders."""
    try:
        allowed = int(WATCH_LIMIT.read_text("ascii"))
    except (OSError, ValueError):
        return Finding("watches", "skipped", "this system has no limit")
    # Each project's folder and its memory; other programs need some too.
    wanted = 2 * sum(1 for _ in projects.glob("*/")) + 1
    reason = f"{wanted} needed, {allowed} allowed for all your programs"
    if wanted <= allowed / 2:
        return Finding("watches", "ok", reason)
    fix = f"sudo sysctl fs.inotify.max_user_watches={max(524_288, 4 * wanted)}"
    return Finding("watches", "warn", f"{reason}; changes in the others are seen later", fix)


def hooks_finding(places: Locations) -> Finding:
    """Whether the agent runs the hook of this memoryd, for every event."""
    path, fix = claude_code.settings_file(places), "memoryd install --hooks claude-code"
    try:
        settings = settings_json.parsed(path, settings_json.read(path))
    except LocalFailure as failure:
        return Finding("hooks", "fail", failure.message, f"fix {quoted(path)} by hand")
    except OSError as error:
        return Finding("hooks", "fail", f"{path}: {error.strerror}", f"chmod u+rw {quoted(path)}")
    ours = {event: claude_code.commands_in(settings, event) for event in claude_code.EVENTS}
    installed = [command for commands in ours.values() for command in commands]
    if plugin.is_installed(places):
        return plugin_finding(places, has_hooks_too=bool(installed))
    if not installed:
        reason = "Claude Code has no hooks of memoryd, so sessions get no memories"
        return Finding("hooks", "warn", reason, fix)
    others = sorted(set(installed) - {claude_code.hook_command()})
    if others:
        return Finding("hooks", "warn", f"they run another memoryd: {others[0]}", fix)
    if problem := launcher.problem(places):
        return Finding("hooks", "warn", problem, fix)
    with_hook = sum(map(bool, ours.values()))
    if with_hook < len(ours):
        return Finding("hooks", "warn", f"{with_hook} of {len(ours)} events have our hook", fix)
    return Finding("hooks", "ok", f"in {path}")


def plugin_finding(places: Locations, *, has_hooks_too: bool) -> Finding:
    if has_hooks_too:
        reason = "both the plugin and settings.json have them, so sessions are told twice"
        return Finding("hooks", "warn", reason, "memoryd install --plugin")
    problem = launcher.problem(places)
    reason = problem or "by the plugin of Claude Code"
    return Finding(
        "hooks", "warn" if problem else "ok", reason, "memoryd install --plugin" * bool(problem)
    )


def server_finding(places: Locations) -> Finding:
    """Whether the MCP server in the agent's settings, if any, is this memoryd."""
    words, fix = claude_code.server_command(places), "memoryd install --mcp"
    if not words and plugin.is_installed(places):
        return Finding("mcp server", "ok", "by the plugin of Claude Code")
    if not words:
        return Finding("mcp server", "skipped", "not in the settings of Claude Code")
    if words != claude_code.server_words(places):
        return Finding("mcp server", "warn", f"it runs another memoryd: {words[0]}", fix)
    if problem := launcher.problem(places):
        return Finding("mcp server", "warn", problem, fix)
    return Finding("mcp server", "ok", f"in {claude_code.servers_file(places)}")


def config_finding(path: Path) -> Finding:
    """Whether the settings are readable, and a daemon would start with them."""
    try:
        text = settings_json.read(path)
        tomllib.loads((text or b"").decode())
    except LocalFailure as failure:
        return Finding("settings", "fail", failure.message, f"mv {quoted(path)} {quoted(path)}.old")
    except OSError as error:
        return Finding("settings", "fail", f"{path}: {error.strerror}", f"chmod 600 {quoted(path)}")
    except ValueError as error:
        return Finding("settings", "fail", f"{path} is not TOML: {error}", "fix that line")
    reason = f"{path} does not exist; the defaults apply" if text is None else str(path)
    error_message, hint = settings_error()
    return Finding("settings", "fail" if error_message else "ok", error_message or reason, hint)
