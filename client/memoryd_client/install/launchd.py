"""memoryd as a launchd agent of this user; launchd holds the socket."""

import os
import plistlib
from collections.abc import Sequence
from pathlib import Path
from xml.parsers.expat import ExpatError

from memoryd_client.connection.failures import LocalFailure
from memoryd_client.connection.locations import Locations
from memoryd_client.install import units
from memoryd_client.install.programs import MISSING, Outcome, run
from memoryd_client.install.service import (
    Report,
    make_folders,
    refuse_if_served_by_hand,
    template,
    values_for,
    write_whole,
)

LABEL = "local.memoryd"


def launchctl(*words: str) -> Outcome:
    return run("launchctl", *words)


def domain() -> str:
    """The launchd domain of a logged-in user."""
    return f"gui/{os.getuid()}"


def is_loaded() -> bool:
    return launchctl("print", f"{domain()}/{LABEL}").code == 0


def install(places: Locations, writable: Sequence[str]) -> Report:
    """Writes and starts the agent; raises LocalFailure if that fails."""
    require_launchd()
    path = places.service
    refuse_if_foreign(path)
    refuse_if_served_by_hand(service_is_active=is_loaded())
    make_folders(places)
    agent = template("launchd", "memoryd.plist").read_bytes()
    write_whole(path, units.launch_agent(agent, values_for(places, writable)))
    launchctl("bootout", f"{domain()}/{LABEL}")
    outcome = launchctl("bootstrap", domain(), str(path))
    if outcome.code:
        raise LocalFailure(
            f"launchctl bootstrap failed: {outcome.complaint}",
            f"find out why with: launchctl print {domain()}/{LABEL}",
        )
    notes = ["--writable has no effect: launchd has no fences"] if writable else []
    return Report(written=[path], notes=notes)


def uninstall(places: Locations) -> Report:
    """Stops the agent and removes the file that `install` wrote."""
    path = places.service
    if not path.exists():
        return Report(notes=["there was no service to remove"])
    refuse_if_foreign(path)
    launchctl("bootout", f"{domain()}/{LABEL}")
    path.unlink()
    return Report(removed=[path])


def why_no_manager() -> str | None:
    """Why launchd cannot be used, or None when it can."""
    return "this system has no launchd" if launchctl("version").code == MISSING else None


def require_launchd() -> None:
    reason = why_no_manager()
    if reason:
        raise LocalFailure(
            f"{reason}, so memoryd cannot run as a service",
            "run it in a terminal instead: memoryd serve",
        )


def refuse_if_foreign(path: Path) -> None:
    if path.exists() and label_in(path) != LABEL:
        raise LocalFailure(f"{path} was not written by memoryd", "move it away, then try again")


def label_in(path: Path) -> object:
    try:
        agent = plistlib.loads(path.read_bytes())
    except (plistlib.InvalidFileException, ExpatError, ValueError):
        return None
    return agent.get("Label") if isinstance(agent, dict) else None
