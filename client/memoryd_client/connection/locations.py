"""Where memoryd keeps things for this user.

`memoryd.base.paths` has the same rules for the daemon; change both together.
"""

import os
import sys
from pathlib import Path
from typing import NamedTuple

from memoryd_client import hook
from memoryd_client.connection.failures import LocalFailure


class Locations(NamedTuple):
    """The paths of one user; none of them need exist.

    `service` is the unit file of systemd or the agent file of launchd. `launcher` is what Claude
    Code runs; a plugin that many people share names it, so it follows no variable but HOME, which a
    repository's settings cannot change.
    """

    home: Path
    socket: Path
    state: Path
    log: Path
    config: Path
    claude: Path
    service: Path
    launcher: Path


def socket_location() -> Path:
    """Where the daemon listens, according to the environment of this process."""
    try:
        path = hook.found_socket(dict(os.environb), os.getuid(), sys.platform)
    except ValueError as error:
        raise LocalFailure(str(error), "choose another path, or unset MEMORYD_SOCKET") from error
    return Path(os.fsdecode(path))


def locations() -> Locations:
    """All paths, according to the environment of this process."""
    environ, uid, is_mac = dict(os.environb), os.getuid(), sys.platform == "darwin"
    home = Path(os.fsdecode(hook.home_folder(environ, uid)))
    application = home / "Library" / "Application Support"
    state = Path(os.fsdecode(hook.state_folder(environ, uid, sys.platform)))
    config = named_folder("XDG_CONFIG_HOME") or (application if is_mac else home / ".config")
    logs_apart = is_mac and named_folder("XDG_STATE_HOME") is None
    agent = home / "Library" / "LaunchAgents" / "local.memoryd.plist"
    unit = config / "systemd" / "user" / "memoryd.service"
    return Locations(
        home=home,
        socket=socket_location(),
        state=state,
        log=(home / "Library" / "Logs" / "memoryd" if logs_apart else state) / "memoryd.log",
        config=config / "memoryd" / "config.toml",
        claude=claude_folder(home),
        service=agent if is_mac else unit,
        launcher=home / ".local" / "share" / "memoryd" / "bin" / "memoryd-launch",
    )


def named_folder(name: str) -> Path | None:
    """The folder that a variable names; None unless it is an absolute path."""
    folder = hook.folder_in(dict(os.environb), name.encode())
    return Path(os.fsdecode(folder)) if folder else None


def claude_folder(home: Path) -> Path:
    if not os.environ.get("CLAUDE_CONFIG_DIR"):
        return home / ".claude"
    folder = named_folder("CLAUDE_CONFIG_DIR")
    if folder is None:
        raise LocalFailure(
            "CLAUDE_CONFIG_DIR must be an absolute path", "set CLAUDE_CONFIG_DIR to a full path"
        )
    return folder
