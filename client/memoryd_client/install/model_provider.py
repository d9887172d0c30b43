"""Turns the provider `claude-code` on and off in config.toml, for people who ask for it.

Rules:
- Nothing but our own keys changes: `model.provider` and `model.claude_code.command`
  (`config_toml`).
- The client's full path is written down: a service has another PATH than a shell.
- Only a setting of ours is taken back: another provider stays.
"""

import os
import shutil
from pathlib import Path

from memoryd_client.connection.failures import LocalFailure
from memoryd_client.connection.locations import Locations
from memoryd_client.install import config_toml, footprint
from memoryd_client.install.service import Report

PROVIDER = "claude-code"
PROVIDER_KEY, CLIENT_KEY = "model.provider", "model.claude_code.command"
USUAL_FOLDERS = ("~/.local/bin", "~/.claude/local", "/usr/local/bin", "/opt/homebrew/bin")


def install(places: Locations) -> Report:
    client = found_client()
    if client is None:
        hint = "install Claude Code and log in once, then try again"
        raise LocalFailure("Claude Code was not found", hint)
    if not config_toml.change(places.config, {PROVIDER_KEY: PROVIDER, CLIENT_KEY: client}):
        return Report(notes=[f"{PROVIDER} is already the provider in {places.config}"])
    return Report(written=[places.config], notes=[f"{client} is asked", *next_steps(places)])


def uninstall(places: Locations) -> Report:
    if not is_chosen(places):
        return Report()
    config_toml.change(places.config, {PROVIDER_KEY: None, CLIENT_KEY: None})
    words = f"{PROVIDER} is no longer the provider in {places.config}"
    return Report(notes=[words, next_steps(places)[0]])


def next_steps(places: Locations) -> list[str]:
    return [footprint.how_it_is_learned(places), "then memoryd doctor --provider tries it"]


def found_client() -> str | None:
    """The full path of the client, through a link that an update may change."""
    folders = [os.environ.get("PATH", ""), *map(os.path.expanduser, USUAL_FOLDERS)]
    found = shutil.which("claude", path=os.pathsep.join(filter(None, folders)))
    return str(Path(found).absolute()) if found else None


def is_chosen(places: Locations) -> bool:
    try:
        return config_toml.value_in(places.config, PROVIDER_KEY) == PROVIDER
    except (OSError, LocalFailure):
        return False
