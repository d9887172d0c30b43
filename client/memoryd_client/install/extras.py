"""Edits of settings.json that make memoryd pleasant to use: permissions and the status line.

Rules:
- Only tools that read are allowed without asking; what saves or forgets keeps asking. Both names of
  each tool are in the list: a server in the settings and one of a plugin are called differently.
- A status line of the person's own is never replaced. Ours is added to the end of it, by a command
  that still runs theirs when memoryd is gone; removing ours leaves theirs as it was.
"""

import shlex

from memoryd_client.connection.answers import Json, items_at, object_at, text_at
from memoryd_client.connection.locations import locations
from memoryd_client.install import launcher
from memoryd_client.install.settings_json import Settings, member

PREFIXES = ("mcp__memoryd__", "mcp__plugin_memoryd_memoryd__")
APPEND = "--append-to"
STATUS_LINE = "statusLine"


def allowed_tools() -> list[str]:
    """The full names of our tools that only read."""
    from memoryd_client.mcp.tools import TOOLS  # noqa: PLC0415 - only installing needs them

    return [prefix + tool.name for prefix in PREFIXES for tool in TOOLS if tool.only_reads]


def add_permissions(settings: Settings) -> None:
    allowed = member(member(settings, "permissions", dict[str, object]()), "allow", list[object]())
    allowed.extend(name for name in allowed_tools() if name not in allowed)


def remove_permissions(settings: Settings) -> None:
    """Removes what we allowed, and the containers that are empty without it."""
    permissions = settings.get("permissions")
    allowed = permissions.get("allow") if isinstance(permissions, dict) else None
    if not isinstance(permissions, dict) or not isinstance(allowed, list):
        return
    ours = set(allowed_tools())
    if not any(isinstance(entry, str) and entry in ours for entry in allowed):
        return
    allowed[:] = [entry for entry in allowed if not (isinstance(entry, str) and entry in ours)]
    if not allowed:
        del permissions["allow"]
    if not permissions:
        del settings["permissions"]


def has_permissions(settings: Json) -> bool:
    allowed = items_at(object_at(settings, "permissions"), "allow")
    return bool(set(allowed_tools()).intersection(map(str, allowed)))


def add_status_line(settings: Settings) -> None:
    """Adds our status line, or adds it to the one that is there."""
    if has_status_line(settings):
        remove_status_line(settings)
    own = settings.get(STATUS_LINE)
    if own is None:
        command = launcher.command(locations(), "statusline")
        settings[STATUS_LINE] = {"type": "command", "command": command}
    elif isinstance(own, dict) and text_at(own, "command"):
        own["command"] = composed(text_at(own, "command"))


def composed(theirs: str) -> str:
    """Their status line with ours after it; theirs alone if memoryd cannot run."""
    ours = f"/bin/sh {shlex.quote(str(locations().launcher))} statusline {APPEND}"
    return f"{ours} {shlex.quote(theirs)} 2>/dev/null || /bin/sh -c {shlex.quote(theirs)}"


def remove_status_line(settings: Settings) -> None:
    if not has_status_line(settings):
        return
    own = settings[STATUS_LINE]
    assert isinstance(own, dict)  # noqa: S101 - has_status_line looked
    theirs = appended_to(text_at(own, "command"))
    if theirs:
        own["command"] = theirs
    else:
        del settings[STATUS_LINE]


def appended_to(command: str) -> str:
    """The command of the person's own that ours was added to; empty if there was none."""
    try:
        words = shlex.split(command)
    except ValueError:  # edited by hand since
        return ""
    place = words.index(APPEND) if APPEND in words else len(words)
    return words[place + 1] if place + 1 < len(words) else ""


def has_status_line(settings: Json) -> bool:
    command = text_at(object_at(settings, STATUS_LINE), "command")
    return launcher.MARK in command and " statusline" in command


def has_own_status_line(settings: Json) -> bool:
    return STATUS_LINE in settings and not has_status_line(settings)
