"""memoryd as a plugin of Claude Code: its hooks, its MCP server and the commands to type.

Rules:
- The client's own command installs and removes it; its settings are the client's business.
- The plugin is copied to a fixed place of the person's own first. The client reads a plugin from
  where its marketplace is, and a package may move or go.
- Never both: hooks in settings.json and a plugin would each give a session the same memories. The
  part that is installed last replaces the other.
"""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from memoryd_client.connection.answers import is_true_at, object_at
from memoryd_client.connection.failures import LocalFailure
from memoryd_client.connection.locations import Locations
from memoryd_client.install import claude_code, launcher, settings_json
from memoryd_client.install.programs import run
from memoryd_client.install.service import Report, template, write_whole
from memoryd_client.install.settings_json import Settings, member

MARKETPLACE = "memoryd"
ID = f"memoryd@{MARKETPLACE}"
# The client checks folders and settings, and may be slow to start on a busy machine.
CLIENT_SECONDS = 120.0
USUAL_PLACES = (".local/bin/claude", ".claude/local/claude")


def client_command(places: Locations) -> str:
    """The path of Claude Code's own command; empty if there is none."""
    usual = (places.home / place for place in USUAL_PLACES)
    found = (str(path) for path in usual if os.access(path, os.X_OK))
    return shutil.which("claude") or next(found, "")


def client_knows_plugins(places: Locations) -> bool:
    command = client_command(places)
    return bool(command) and run(command, "plugin", "list", "--json").code == 0


def is_installed(places: Locations) -> bool:
    settings = claude_code.settings_in(claude_code.settings_file(places))
    return is_true_at(object_at(settings, "enabledPlugins"), ID)


def install(places: Locations) -> Report:
    """Installs the plugin in place of any hooks and server in the settings."""
    written = launcher.ensure(places)
    folder = marketplace_folder(places)
    copy_marketplace(folder)
    ask_client(places, "marketplace", "add", str(folder))
    ask_client(places, "install", ID)
    replaced = [*claude_code.uninstall_hooks(places).removed]
    replaced += claude_code.uninstall_mcp(places).removed
    notes = [f"it replaces memoryd's entries in {path}" for path in replaced]
    return Report(
        written=[folder, *written],
        notes=[*notes, "every new session of Claude Code has the plugin; see /memoryd:recall"],
    )


def uninstall(places: Locations) -> Report:
    """Removes the plugin and its marketplace from Claude Code, and our copy of both."""
    removed, notes = [], list[str]()
    if client_command(places):
        run_client(places, "uninstall", ID)
        run_client(places, "marketplace", "remove", MARKETPLACE)
    else:
        notes = ["claude was not found; its own record of the plugin stays until it cleans up"]
    settings = claude_code.settings_file(places)
    if settings_json.undo(settings, add_entries, remove_entries):
        removed.append(settings)
    folder = marketplace_folder(places)
    if folder.is_dir():
        shutil.rmtree(folder)
        removed.append(folder)
    return Report(removed=removed, notes=notes if removed else [])


def has_anything(places: Locations) -> bool:
    return is_installed(places) or marketplace_folder(places).is_dir()


def check(places: Locations) -> str:
    """Asks the client whether the plugin is enabled; raises LocalFailure if not."""
    if not is_installed(places):
        raise LocalFailure(
            "Claude Code does not show the plugin as enabled", "see: claude plugin list"
        )
    return "Claude Code has the plugin enabled"


def run_client(places: Locations, *words: str) -> str:
    """Why the client's plugin command failed; empty if it did not."""
    outcome = run(client_command(places), "plugin", *words, timeout_seconds=CLIENT_SECONDS)
    return outcome.complaint if outcome.code else ""


def ask_client(places: Locations, *words: str) -> None:
    if not client_command(places):
        raise LocalFailure(
            "the claude command was not found",
            "install Claude Code first, or use memoryd install --hooks claude-code --mcp",
        )
    if complaint := run_client(places, *words):
        raise LocalFailure(
            f"claude plugin {words[0]} failed: {complaint}",
            "use memoryd install --hooks claude-code --mcp instead",
        )


def marketplace_folder(places: Locations) -> Path:
    return launcher.data_folder(places) / "marketplace"


def copy_marketplace(folder: Path) -> None:
    """Replaces our copy of the plugin by the one that this memoryd ships."""
    source = template(".claude-plugin", "marketplace.json").parent.parent
    if folder.is_dir():
        shutil.rmtree(folder)
    for path in shipped_files(source):
        write_whole(folder / path.relative_to(source), path.read_bytes())


def shipped_files(source: Path) -> Iterator[Path]:
    yield source / ".claude-plugin" / "marketplace.json"
    yield from (path for path in sorted((source / "plugin").rglob("*")) if path.is_file())


def add_entries(settings: Settings) -> None:
    member(settings, "enabledPlugins", dict[str, object]())[ID] = True
    member(settings, "extraKnownMarketplaces", dict[str, object]())[MARKETPLACE] = {}


def remove_entries(settings: Settings) -> None:
    """Removes what the client keeps in its settings for the plugin, and what is empty then."""
    for key, name in (("enabledPlugins", ID), ("extraKnownMarketplaces", MARKETPLACE)):
        entries = settings.get(key)
        if isinstance(entries, dict):
            entries.pop(name, None)
            if not entries:
                del settings[key]
