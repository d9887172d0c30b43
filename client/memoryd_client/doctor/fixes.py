"""What a state means that the daemon reports, and what to type to fix it."""

import sys
from pathlib import Path

from memoryd_client.connection.failures import LocalFailure
from memoryd_client.connection.locations import Locations

# Why nothing is sent to the model at the moment.
PAUSES = {
    "day-cap": "the daily budget is used up",
    "month-cap": "the monthly budget is used up",
    "breaker-open": "the provider failed, or asked for a pause",
    "provider-down": "the provider does not answer",
    "provider-paused": "the provider asked for a pause",
    "provider-refused": "the provider refuses the key or the model",
    "plan-calls": "the day's calls are used up",
    "plan-tokens": "the day's tokens are used up",
    "plan-apart": "the last call was a short time ago",
    "plan-share": "the rest of the day is kept for extraction",
    "plan-used": "much of the plan is used",
}


def turn_on(reason: str) -> str:
    """How to turn memory on again, by the daemon's reason why it is off."""
    if "autoMemoryEnabled" in reason:
        return "remove autoMemoryEnabled from those settings"
    if "privacy.exclude" in reason:
        return "take its pattern out of privacy.exclude (memoryd config), then restart memoryd"
    if reason.endswith("is set"):
        return f"unset {reason.removesuffix(' is set')}, then restart memoryd"
    return "memoryd on --all" if "all projects" in reason else "memoryd on"


def pause_words(reason: str) -> str:
    return PAUSES.get(reason, reason or "the budget is used up")


def end_pause(reason: str, config: Path) -> str:
    """How a pause in spending ends, by the daemon's reason for it."""
    if reason == "provider-refused":
        return "fix the key or the model's name; memoryd doctor --provider tries them"
    if reason.startswith(("provider", "breaker")):
        return "it continues by itself; memoryd doctor --provider tries the provider now"
    if reason.startswith("plan"):
        return f"it continues by itself; {config} has the limits, below [model.claude_code]"
    name = "usd_per_month" if reason == "month-cap" else "usd_per_day"
    return f"wait, or raise budget.{name} in {config} and restart memoryd"


def restart(places: Locations) -> str:
    """How to replace the running daemon by the installed version."""
    if not places.service.exists():
        return "stop it with memoryd stop, then run memoryd serve"
    if sys.platform == "darwin" or other_command(places):
        return "memoryd install --service"
    return "systemctl --user restart memoryd"


def kill(places: Locations) -> str:
    """How to end a daemon that is running and does not answer."""
    if places.service.exists():
        return restart(places)
    return f"kill -9 {process_of(places)}, then run memoryd serve; nothing is lost"


def end(places: Locations) -> str:
    """How to end a daemon where there is no memoryd command any more."""
    return f"kill {process_of(places)}"


def process_of(places: Locations) -> str:
    try:
        return (places.state / "memoryd.lock").read_text("ascii").strip() or "it"
    except (OSError, ValueError):
        return "it"


def other_command(places: Locations) -> str:
    """The command that the service runs, if that is another memoryd than this one; else empty."""
    from memoryd_client.install import units  # noqa: PLC0415 - most commands do not need it
    from memoryd_client.install.service import command_path  # noqa: PLC0415 - likewise

    try:
        ours = f"ExecStart={units.in_command(str(command_path()))} serve"
        lines = places.service.read_text("utf-8").splitlines()
    except (OSError, ValueError, LocalFailure):
        return ""
    started = [line for line in lines if line.startswith("ExecStart=")]
    return "" if ours in started or not started else started[0].removeprefix("ExecStart=")
