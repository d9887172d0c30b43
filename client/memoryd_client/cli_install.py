"""The commands that make memoryd part of the system, and take it out again.

Each part that can be installed is a switch of both commands, and a function of each kind here.
"""

import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol

from memoryd_client.commands import JSON, Argument, Arguments, Command
from memoryd_client.failures import UsageError
from memoryd_client.locations import Locations, locations
from memoryd_client.render import one_line, paint, print_json, wrapped

if TYPE_CHECKING:
    from memoryd_client.service import Report


class ServiceSystem(Protocol):
    """What keeps services alive on one kind of system."""

    def install(self, places: Locations, writable: Sequence[str]) -> "Report": ...

    def uninstall(self, places: Locations) -> "Report": ...


def install(arguments: Arguments) -> int:
    """Install the parts that were asked for."""
    return work_on_parts(arguments, {"service": install_service})


def uninstall(arguments: Arguments) -> int:
    """Remove the parts that were asked for."""
    return work_on_parts(arguments, {"service": uninstall_service})


def work_on_parts(arguments: Arguments, parts: dict[str, Callable[[Arguments], "Report"]]) -> int:
    """Do to each part that the person named what the table has for it, and report."""
    chosen = [part for part in parts if getattr(arguments, part)]
    if not chosen:
        flags = ", ".join(f"--{part}" for part in parts)
        raise UsageError(f"say which part: {flags}")
    for part in chosen:
        report = parts[part](arguments)
        if arguments.json:
            print_json(as_json(report))
        else:
            print_report(report)
    return 0


def install_service(arguments: Arguments) -> "Report":
    return service_system().install(locations(), arguments.writable or [])


def uninstall_service(_arguments: Arguments) -> "Report":
    return service_system().uninstall(locations())


def service_system() -> ServiceSystem:
    """The one of this machine; it is loaded here because no other command pays for it."""
    if sys.platform == "darwin":
        from memoryd_client import service_launchd  # noqa: PLC0415 - see above

        return service_launchd
    from memoryd_client import service_systemd  # noqa: PLC0415 - see above

    return service_systemd


def as_json(report: "Report") -> dict[str, object]:
    return {
        "written": [str(path) for path in report.written],
        "removed": [str(path) for path in report.removed],
        "fences": [fence._asdict() for fence in report.fences],
        "notes": list(report.notes),
    }


def print_report(report: "Report") -> None:
    for path in report.written:
        print(f"wrote {one_line(str(path))}")
    for path in report.removed:
        print(f"removed {one_line(str(path))}")
    for fence in report.fences:
        verdict = paint(fence.verdict.ljust(8), "green" if fence.verdict == "up" else "yellow")
        print(f"{verdict}{fence.name}")
    for note in report.notes:
        print(wrapped(note))
    if report.written:
        print("memoryd runs now, and from now on at every login")


SERVICE = Argument(("--service",), "as a service of systemd or launchd", is_switch=True)

COMMANDS = (
    Command(
        "install",
        "make memoryd part of this system",
        "memoryd install --service",
        install,
        (
            SERVICE,
            Argument(
                ("--writable",),
                "a folder outside ~/.claude that memoryd may write: projects with agent memory, or"
                " a memory folder of your own; can be repeated",
                "DIR",
                is_repeated=True,
            ),
            JSON,
        ),
        asks_daemon=False,
    ),
    Command(
        "uninstall",
        "take memoryd out of this system; memories stay",
        "memoryd uninstall --service",
        uninstall,
        (SERVICE, JSON),
        asks_daemon=False,
    ),
)
