"""Connects memoryd to Claude Code: its hooks in settings.json, its MCP server in .claude.json.

Both run the launcher (`install/launcher.py`), which never fails a prompt, whatever is missing.
Entries of earlier versions ran the interpreter itself; they are recognised, replaced and removed.
"""

import json
import os
import time
from pathlib import Path

from memoryd_client.connection.answers import Json, items_at, object_at, objects_at, text_at
from memoryd_client.connection.failures import LocalFailure
from memoryd_client.connection.locations import Locations, locations
from memoryd_client.install import extras, launcher, settings_json
from memoryd_client.install.programs import run
from memoryd_client.install.service import Report
from memoryd_client.install.settings_json import Edit, Settings, member

EVENTS = (
    "SessionStart",
    "UserPromptSubmit",
    "PreToolUse",
    "Stop",
    "SubagentStart",
    "SubagentStop",
    "PreCompact",
    "SessionEnd",
)
SERVER = "memoryd"
# More than the hook ever takes; limits how long the agent waits on a machine that hangs.
TIMEOUT_SECONDS = 5


# --- what the commands call ---------------------------------------------------------------------


def install_hooks(places: Locations) -> Report:
    note = "every new session of Claude Code gets memories"
    return installed(places, add_hooks, remove_hooks, note, "the hooks are already in {}")


def uninstall_hooks(places: Locations) -> Report:
    return uninstalled(places, add_hooks, remove_hooks)


def install_permissions(places: Locations) -> Report:
    note = "recalling and listing memories does not ask; saving and forgetting still do"
    add, remove = extras.add_permissions, extras.remove_permissions
    return installed(places, add, remove, note, "they are already in {}")


def uninstall_permissions(places: Locations) -> Report:
    return uninstalled(places, extras.add_permissions, extras.remove_permissions)


def install_status_line(places: Locations) -> Report:
    note = "Claude Code shows it at the bottom of every new session"
    add, remove = extras.add_status_line, extras.remove_status_line
    return installed(places, add, remove, note, "it is already in {}")


def uninstall_status_line(places: Locations) -> Report:
    return uninstalled(places, extras.add_status_line, extras.remove_status_line)


def installed(places: Locations, add: Edit, remove: Edit, note: str, already: str) -> Report:
    """Makes one of our changes to settings.json."""
    path, written = settings_file(places), launcher.ensure(places)
    if not settings_json.change(path, add, remove, ours=(add_all, remove_all)):
        return Report(written=written, notes=[already.format(path)])
    return Report(written=[path, *written], notes=[note])


def uninstalled(places: Locations, add: Edit, remove: Edit) -> Report:
    path = settings_file(places)
    is_changed = settings_json.undo(path, add, remove, ours=(add_all, remove_all))
    return Report(removed=[path] if is_changed else [])


def add_all(settings: Settings) -> None:
    """Everything that we may add to settings.json."""
    add_hooks(settings)
    extras.add_permissions(settings)
    extras.add_status_line(settings)


def remove_all(settings: Settings) -> None:
    remove_hooks(settings)
    extras.remove_permissions(settings)
    extras.remove_status_line(settings)


def install_mcp(places: Locations) -> Report:
    path, written = servers_file(places), launcher.ensure(places)
    if not settings_json.change(path, add_server, remove_server, has_credentials=True):
        return Report(written=written, notes=[f"the MCP server is already in {path}"])
    return Report(
        written=[path, *written], notes=["every new session of Claude Code has memoryd's tools"]
    )


def uninstall_mcp(places: Locations) -> Report:
    path = servers_file(places)
    is_changed = settings_json.undo(path, add_server, remove_server)
    return Report(removed=[path] if is_changed else [])


def check_hooks(places: Locations) -> str:
    """Runs the command in the settings; raises LocalFailure if it does not work."""
    if problem := launcher.problem(places):
        raise LocalFailure(problem, "memoryd install --hooks claude-code")
    started = time.monotonic()
    for command in sorted(set(installed_commands(places))):
        outcome = run("/bin/sh", "-c", command, given="{}")
        if outcome.code or outcome.out or outcome.err:
            raise LocalFailure(
                f"the hook does not run: {outcome.complaint}", "install memoryd again, then retry"
            )
    return f"the hook ran in {(time.monotonic() - started) * 1000:.0f} ms"


def check_mcp(places: Locations) -> str:
    """Starts the server; raises LocalFailure if it does not answer."""
    started = time.monotonic()
    ping = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {}}
    outcome = run("/bin/sh", str(places.launcher), "mcp", given=json.dumps(ping) + "\n")
    if '"serverInfo"' not in outcome.out:
        raise LocalFailure(
            f"the MCP server does not answer: {outcome.complaint}",
            "install memoryd again, then retry",
        )
    return f"the server answered in {(time.monotonic() - started) * 1000:.0f} ms"


def has_hooks(places: Locations) -> bool:
    """Whether there are hooks, or only the backup that they left behind."""
    others = has_permissions(places) or has_status_line(places)
    has_backup = settings_json.has_backup(settings_file(places)) and not others
    return bool(installed_commands(places)) or has_backup


def has_permissions(places: Locations) -> bool:
    return extras.has_permissions(settings_in(settings_file(places)))


def has_status_line(places: Locations) -> bool:
    return extras.has_status_line(settings_in(settings_file(places)))


def has_own_status_line(places: Locations) -> bool:
    return extras.has_own_status_line(settings_in(settings_file(places)))


def has_server(places: Locations) -> bool:
    path = servers_file(places)
    servers = object_at(settings_in(path), "mcpServers")
    return SERVER in servers or settings_json.has_backup(path)


# --- where things are ---------------------------------------------------------------------------


def settings_file(places: Locations) -> Path:
    return places.claude / "settings.json"


def servers_file(places: Locations) -> Path:
    """Where Claude Code keeps a person's servers: beside its folder, or in it if that was moved."""
    is_moved = os.environ.get("CLAUDE_CONFIG_DIR")
    return (places.claude if is_moved else places.home) / ".claude.json"


def settings_in(path: Path) -> Json:
    """The settings in a file; empty if they cannot be read."""
    try:
        return settings_json.parsed(path, settings_json.read(path))
    except (OSError, LocalFailure):
        return {}


def installed_commands(places: Locations) -> list[str]:
    """Our commands in the settings; none if these cannot be read."""
    settings = settings_in(settings_file(places))
    events = object_at(settings, "hooks")
    return [command for event in events for command in commands_in(settings, event)]


def server_command(places: Locations) -> list[str]:
    """The command of our MCP server in the settings, word by word; empty if there is none."""
    server = object_at(object_at(settings_in(servers_file(places)), "mcpServers"), SERVER)
    words = [text_at(server, "command"), *map(str, items_at(server, "args"))]
    return words if any(words) else []


# --- hooks --------------------------------------------------------------------------------------


def hook_command() -> str:
    """What the agent runs at each event."""
    return launcher.command(locations(), "hook")


def add_hooks(settings: Settings) -> None:
    """Adds our command once for each event, after everything else there."""
    for event in EVENTS:
        if commands_in(settings, event) == [hook_command()]:
            continue
        hooks = member(settings, "hooks", dict[str, object]())
        remove_commands(hooks, event)
        entry = {"type": "command", "command": hook_command(), "timeout": TIMEOUT_SECONDS}
        member(hooks, event, list[object]()).append({"hooks": [entry]})


def remove_hooks(settings: Settings) -> None:
    """Removes our commands, and the containers that are empty without them."""
    hooks = settings.get("hooks")
    if not isinstance(hooks, dict):
        return
    had_events = bool(hooks)
    for event in list(hooks):
        remove_commands(hooks, event)
    if had_events and not hooks:
        del settings["hooks"]


def remove_commands(hooks: Settings, event: str) -> None:
    """Removes our commands for one event; emptied groups and an emptied event go too."""
    groups = hooks.get(event)
    if not isinstance(groups, list):
        return
    kept = [group for group in groups if not is_emptied(group)]
    if groups and not kept:
        del hooks[event]
    else:
        groups[:] = kept


def is_emptied(group: object) -> bool:
    """Removes our commands from a group; whether nothing is left of it."""
    entries = group.get("hooks") if isinstance(group, dict) else None
    if not isinstance(entries, list) or not any(map(is_our_command, entries)):
        return False
    entries[:] = [entry for entry in entries if not is_our_command(entry)]
    return not entries


def commands_in(settings: Json, event: str) -> list[str]:
    """Our commands for one event."""
    return [
        text_at(entry, "command")
        for group in objects_at(object_at(settings, "hooks"), event)
        for entry in objects_at(group, "hooks")
        if is_our_command(entry)
    ]


def is_our_command(entry: object) -> bool:
    command = entry.get("command") if isinstance(entry, dict) else None
    if not isinstance(command, str):
        return False
    earlier = "memoryd_client/hook.py" in command or command.strip().endswith("memoryd hook")
    return earlier or (launcher.MARK in command and " hook" in command)


# --- the MCP server -----------------------------------------------------------------------------


def add_server(settings: Settings) -> None:
    servers = member(settings, "mcpServers", dict[str, object]())
    command, *words = server_words(locations())
    servers[SERVER] = {"type": "stdio", "command": command, "args": words}


def server_words(places: Locations) -> list[str]:
    """The command of the server: through the shell, since a home may be mounted noexec."""
    return ["/bin/sh", str(places.launcher), "mcp"]


def remove_server(settings: Settings) -> None:
    servers = settings.get("mcpServers")
    if isinstance(servers, dict) and SERVER in servers:
        del servers[SERVER]
        if not servers:
            del settings["mcpServers"]
