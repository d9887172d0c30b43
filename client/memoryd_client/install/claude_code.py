"""Makes memoryd part of Claude Code: its hooks in settings.json, its MCP server in .claude.json.

A hook runs at every prompt, so the command in the settings is the interpreter itself, by its real
path and without its site: a version manager's shim alone would cost more than all the rest.
"""

import json
import os
import shlex
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from memoryd_client import hook
from memoryd_client.connection.failures import LocalFailure
from memoryd_client.connection.locations import Locations
from memoryd_client.install import json_text, settings_json
from memoryd_client.install.programs import run
from memoryd_client.install.service import Report, command_path

EVENTS = ("SessionStart", "UserPromptSubmit", "Stop", "SubagentStop", "PreCompact", "SessionEnd")
SERVER = ("mcpServers", "memoryd")
# More than the hook ever takes; the agent must not wait longer for a machine that hangs.
TIMEOUT_SECONDS = 5


def install_hooks(places: Locations) -> Report:
    path = settings_file(places)
    if not settings_json.change(path, add_hooks, remove_hooks):
        return Report(notes=[f"the hooks are in {path} already"])
    note = "every new session of Claude Code is told what is remembered"
    return Report(written=[path], notes=[note])


def uninstall_hooks(places: Locations) -> Report:
    path = settings_file(places)
    return Report(removed=[path] if settings_json.undo(path, remove_hooks) else [])


def install_mcp(places: Locations) -> Report:
    path = servers_file(places)
    if not settings_json.change(path, add_server, remove_server):
        return Report(notes=[f"the MCP server is in {path} already"])
    return Report(written=[path], notes=["new sessions have the tools of memoryd"])


def uninstall_mcp(places: Locations) -> Report:
    path = servers_file(places)
    return Report(removed=[path] if settings_json.undo(path, remove_server) else [])


def hooks_trial(places: Locations) -> str:
    """How the command in the settings does; raises LocalFailure when it does not do."""
    began = time.monotonic()
    for command in sorted(set(installed_commands(places))):
        outcome = run(*shlex.split(command), given="{}")
        if outcome.code or outcome.out or outcome.err:
            raise LocalFailure(
                f"the hook does not run: {outcome.complaint}", "install memoryd again, then try"
            )
    return f"the hook ran, in {(time.monotonic() - began) * 1000:.0f} ms"


def mcp_trial() -> str:
    """How the server does; raises LocalFailure when it does not answer."""
    began = time.monotonic()
    ping = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {}}
    outcome = run(str(command_path()), "mcp", given=json.dumps(ping) + "\n")
    if '"serverInfo"' not in outcome.out:
        raise LocalFailure(
            f"the MCP server does not answer: {outcome.complaint}",
            "install memoryd again, then try",
        )
    return f"the server answered, in {(time.monotonic() - began) * 1000:.0f} ms"


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


def add_hooks(text: str) -> str:
    """Our command for each event, once, after whatever else is there."""
    for event in EVENTS:
        if commands_in(json.loads(text), event) == [hook_command()]:
            continue
        text = with_container(without_commands(text, event), ("hooks",), {})
        text = with_container(text, ("hooks", event), [])
        groups = value_at(json.loads(text), ("hooks", event))
        last = len(groups) if isinstance(groups, list) else 0
        entry = {"type": "command", "command": hook_command(), "timeout": TIMEOUT_SECONDS}
        text = json_text.put(text, ("hooks", event, last), {"hooks": [entry]})
    return text


def remove_hooks(text: str) -> str:
    """Takes out our commands, and what is empty without them."""
    for event in events_in(json.loads(text)):
        text = without_commands(text, event)
    return text


def without_commands(text: str, event: str) -> str:
    """The text without our commands for one event; what was emptied by that goes too."""
    while path := next(our_places(json.loads(text), event), None):
        text = json_text.cut(text, path)
        for container, whole in ((path[:4], path[:3]), (path[:2], path[:2]), (path[:1], path[:1])):
            if value_at(json.loads(text), container):
                break
            text = json_text.cut(text, whole)
    return text


def with_container(text: str, path: json_text.Path, empty: object) -> str:
    """The text with an object or a list at a path; raises LocalFailure when something else is."""
    settings = json.loads(text)
    if not stands_at(settings, path):
        return json_text.put(text, path, empty)
    if type(value_at(settings, path)) is not type(empty):
        raise LocalFailure(
            f"{'.'.join(map(str, path))} is not what Claude Code expects there",
            "mend the file by hand, then try again; it was left as it is",
        )
    return text


def events_in(settings: object) -> list[str]:
    hooks = value_at(settings, ("hooks",))
    return list(hooks) if isinstance(hooks, dict) else []


def our_places(settings: object, event: str) -> Iterator[json_text.Path]:
    """Where our commands for an event stand."""
    for group, inner in enumerate(items(value_at(settings, ("hooks", event)))):
        for entry, one in enumerate(items(value_at(inner, ("hooks",)))):
            if is_our_command(one):
                yield ("hooks", event, group, "hooks", entry)


def commands_in(settings: object, event: str) -> list[object]:
    return [value_at(settings, (*path, "command")) for path in our_places(settings, event)]


def is_our_command(entry: object) -> bool:
    command = value_at(entry, ("command",))
    if not isinstance(command, str):
        return False
    return "memoryd_client/hook.py" in command or command.strip().endswith("memoryd hook")


def value_at(value: object, path: json_text.Path) -> object:
    """What stands at a path; None where the path leads nowhere."""
    for name in path:
        if isinstance(value, dict):
            value = value.get(name)
        elif isinstance(value, list) and isinstance(name, int) and name < len(value):
            value = value[name]
        else:
            return None
    return value


def stands_at(settings: object, path: json_text.Path) -> bool:
    holder = value_at(settings, path[:-1])
    return isinstance(holder, dict) and path[-1] in holder


def items(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def add_server(text: str) -> str:
    wanted = {"type": "stdio", "command": str(command_path()), "args": ["mcp"]}
    if value_at(json.loads(text), SERVER) == wanted:
        return text
    text = with_container(remove_server(text), SERVER[:1], {})
    return json_text.put(text, SERVER, wanted)


def remove_server(text: str) -> str:
    if not stands_at(json.loads(text), SERVER):
        return text
    text = json_text.cut(text, SERVER)
    return text if value_at(json.loads(text), SERVER[:1]) else json_text.cut(text, SERVER[:1])


def has_hooks(places: Locations) -> bool:
    return bool(installed_commands(places)) or settings_json.has_traces(settings_file(places))


def has_server(places: Locations) -> bool:
    path = servers_file(places)
    return stands_at(settings_in(path), SERVER) or settings_json.has_traces(path)


def settings_in(path: Path) -> object:
    """What a file says; nothing when it cannot be read."""
    try:
        return settings_json.parsed(path, settings_json.read(path))
    except (OSError, LocalFailure):
        return {}


def installed_commands(places: Locations) -> list[str]:
    """Our commands as they stand in the settings now; none when they cannot be read."""
    settings = settings_in(settings_file(places))
    return [str(one) for event in events_in(settings) for one in commands_in(settings, event)]
