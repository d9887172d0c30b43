"""What to type about a state that the daemon, or its silence, tells of."""

import sys
from pathlib import Path

from memoryd_client.connection.failures import LocalFailure
from memoryd_client.connection.locations import Locations

PAUSES = {
    "day-cap": "the cap of the day is reached",
    "month-cap": "the cap of the month is reached",
    "breaker-open": "the provider fails again and again",
    "provider-down": "the provider does not answer",
    "provider-paused": "the provider asked for a pause",
    "provider-refused": "the provider refuses the key or the model",
}


def turn_on(reason: str) -> str:
    """How memory is turned on again, by the daemon's reason why it is off."""
    if "autoMemoryEnabled" in reason:
        return "take autoMemoryEnabled out of those settings"
    if reason.endswith("is set"):
        return f"unset {reason.removesuffix(' is set')}, then start memoryd again"
    return "memoryd on --all" if "all projects" in reason else "memoryd on"


def go_on(reason: str, config: Path) -> str:
    """How a pause in spending ends, by the daemon's reason for it."""
    if reason == "provider-refused":
        return "mend the key or the model's name; memoryd doctor --provider tries them"
    if reason.startswith(("provider", "breaker")):
        return "it goes on by itself; memoryd doctor --provider tries the provider now"
    name = "usd_per_month" if reason == "month-cap" else "usd_per_day"
    return f"wait, or raise budget.{name} in {config} and start memoryd again"


def start_again(places: Locations) -> str:
    """What to type so that the daemon that runs is the one that is installed."""
    if not places.service.exists():
        return "stop it with memoryd stop, then run memoryd serve"
    if sys.platform == "darwin" or runs_another(places):
        return "memoryd install --service"
    return "systemctl --user restart memoryd"


def end_it(places: Locations) -> str:
    """What to type about a daemon that is there and does not answer."""
    if places.service.exists():
        return start_again(places)
    try:
        process = (places.state / "memoryd.lock").read_text("ascii").strip()
    except (OSError, ValueError):
        process = ""
    return f"kill -9 {process or 'it'}, then run memoryd serve; nothing is lost"


def runs_another(places: Locations) -> str:
    """The command of the service, where that is not this memoryd; empty where it is."""
    from memoryd_client.install import units  # noqa: PLC0415 - no other command pays for it
    from memoryd_client.install.service import command_path  # noqa: PLC0415 - likewise

    try:
        ours = f"ExecStart={units.in_command(str(command_path()))} serve"
        lines = places.service.read_text("utf-8").splitlines()
    except (OSError, ValueError, LocalFailure):
        return ""
    started = [line for line in lines if line.startswith("ExecStart=")]
    return "" if ours in started or not started else started[0].removeprefix("ExecStart=")
