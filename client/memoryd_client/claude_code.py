"""Makes memoryd part of Claude Code: its hooks in settings.json, its MCP server in .claude.json.

A hook runs at every prompt, so the command in the settings is the interpreter itself, by its real
path and without its site: a version manager's shim alone would cost more than all the rest.
"""

import os
import shlex
import sys
from pathlib import Path

from memoryd_client import hook, settings_json
from memoryd_client.failures import LocalFailure
from memoryd_client.locations import Locations
from memoryd_client.service import Report, command_path
from memoryd_client.settings_json import Settings

EVENTS = ("SessionStart", "UserPromptSubmit", "Stop", "SubagentStop", "PreCompact", "SessionEnd")
SERVER = "memoryd"
# More than the hook ever takes; the agent must not wait longer for a machine that hangs.
TIMEOUT_SECONDS = 5


def install_hooks(places: Locations) -> Report:
    path = settings_file(places)
    changed = settings_json.change(path, add_hooks)
    note = "every new session of Claude Code is told what is remembered"
    if not changed:
        return Report(notes=[f"the hooks are in {path} already"])
    return Report(written=[path], notes=[note])


def uninstall_hooks(places: Locations) -> Report:
    path = settings_file(places)
    return Report(removed=[path] if settings_json.undo(path, remove_hooks) else [])


def install_mcp(places: Locations) -> Report:
    path = servers_file(places)
    changed = settings_json.change(path, add_server)
    if not changed:
        return Report(notes=[f"the MCP server is in {path} already"])
    return Report(written=[path], notes=["new sessions have the tools of memoryd"])


def uninstall_mcp(places: Locations) -> Report:
    path = servers_file(places)
    return Report(removed=[path] if settings_json.undo(path, remove_server) else [])


def settings_file(places: Locations) -> Path:
    return places.claude / "settings.json"


def servers_file(places: Locations) -> Path:
    """Where the client keeps the servers of a person: beside its folder, or in it if moved."""
    moved = os.environ.get("CLAUDE_CONFIG_DIR")
    return (places.claude if moved else places.home) / ".claude.json"


def hook_command() -> str:
    """What the client runs: the bare interpreter on the hook's own file."""
    words = [os.path.realpath(sys.executable), "-I", "-S", "-E", str(Path(hook.__file__).resolve())]
    return shlex.join(words)


def add_hooks(settings: Settings) -> None:
    """Our command for each event, once, after whatever else is there."""
    remove_hooks(settings)
    hooks = settings.setdefault("hooks", {})
    if not isinstance(hooks, dict):
        settings["hooks"] = hooks = {}
    for event in EVENTS:
        entry = {"type": "command", "command": hook_command(), "timeout": TIMEOUT_SECONDS}
        groups = hooks.setdefault(event, [])
        if isinstance(groups, list):
            groups.append({"hooks": [entry]})


def remove_hooks(settings: Settings) -> None:
    """Takes out our commands, and what is empty without them."""
    hooks = settings.get("hooks")
    if not isinstance(hooks, dict):
        return
    for event, groups in list(hooks.items()):
        if isinstance(groups, list) and any(is_ours(group) for group in groups):
            kept = [rest for group in groups if (rest := without_ours(group))]
            if kept:
                hooks[event] = kept
            else:
                del hooks[event]
    if not hooks:
        del settings["hooks"]


def is_ours(group: object) -> bool:
    return any(is_our_command(entry) for entry in entries_of(group))


def without_ours(group: object) -> object:
    """The group with the commands of others; None when there are none."""
    if not isinstance(group, dict) or not is_ours(group):
        return group
    left = [entry for entry in entries_of(group) if not is_our_command(entry)]
    return {**group, "hooks": left} if left else None


def entries_of(group: object) -> list[object]:
    entries = group.get("hooks") if isinstance(group, dict) else None
    return entries if isinstance(entries, list) else []


def is_our_command(entry: object) -> bool:
    command = entry.get("command") if isinstance(entry, dict) else None
    if not isinstance(command, str):
        return False
    return "memoryd_client/hook.py" in command or command.strip().endswith("memoryd hook")


def add_server(settings: Settings) -> None:
    servers = settings.setdefault("mcpServers", {})
    if isinstance(servers, dict):
        servers[SERVER] = {"type": "stdio", "command": str(command_path()), "args": ["mcp"]}


def remove_server(settings: Settings) -> None:
    servers = settings.get("mcpServers")
    if isinstance(servers, dict) and SERVER in servers:
        del servers[SERVER]
        if not servers:
            del settings["mcpServers"]


def installed_commands(places: Locations) -> list[str]:
    """Our commands as they stand in the settings now; none when they cannot be read."""
    path = settings_file(places)
    try:
        settings = settings_json.parsed(path, path.read_bytes())
    except (OSError, LocalFailure):
        return []
    hooks = settings.get("hooks")
    events = hooks.values() if isinstance(hooks, dict) else []
    return [
        str(entry["command"])
        for groups in events
        for group in (groups if isinstance(groups, list) else [])
        for entry in entries_of(group)
        if isinstance(entry, dict) and is_our_command(entry)
    ]
