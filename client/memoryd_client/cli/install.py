"""The commands that make memoryd part of the system, and take it out again.

Each part that can be installed is a switch of both commands, and a function of each kind here.
"""

import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol

from memoryd_client.commands import JSON, Argument, Arguments, Command
from memoryd_client.failures import Failure, UsageError
from memoryd_client.locations import Locations, locations
from memoryd_client.render import one_line, paint, print_json, wrapped

if TYPE_CHECKING:
    from memoryd_client.service import Report


class ServiceSystem(Protocol):
    """What keeps services alive on one kind of system."""

    def install(self, places: Locations, writable: Sequence[str]) -> "Report": ...

    def uninstall(self, places: Locations) -> "Report": ...


Deed = Callable[[Arguments], "Report"]


def install(arguments: Arguments) -> int:
    """Install the parts that were asked for; without any, all of them, step by step."""
    return work_on(arguments, parts_to_install(), "install")


def uninstall(arguments: Arguments) -> int:
    """Remove the parts that were asked for; without any, all of them."""
    return work_on(arguments, parts_to_remove(), "remove")


def parts_to_install() -> dict[str, Deed]:
    from memoryd_client import claude_code  # noqa: PLC0415 - only these commands pay for it

    return {
        "service": lambda arguments: service_system().install(
            locations(), arguments.writable or []
        ),
        "hooks": lambda _: claude_code.install_hooks(locations()),
        "mcp": lambda _: claude_code.install_mcp(locations()),
    }


def parts_to_remove() -> dict[str, Deed]:
    from memoryd_client import claude_code  # noqa: PLC0415 - only these commands pay for it

    return {
        "hooks": lambda _: claude_code.uninstall_hooks(locations()),
        "mcp": lambda _: claude_code.uninstall_mcp(locations()),
        "service": lambda _: service_system().uninstall(locations()),
    }


def work_on(arguments: Arguments, deeds: dict[str, Deed], verb: str) -> int:
    """Does to each part that was named what the table has for it, and reports.

    With no part named, each is explained and asked about; one that fails does not stop the rest.
    """
    named = [part for part in deeds if getattr(arguments, part)]
    if not named and not arguments.yes and not sys.stdin.isatty():
        raise UsageError(f"say which part ({flags(deeds)}), or --yes for all of them")
    failed = 0
    reports: dict[str, object] = {}
    for part in named or deeds:
        if not named and not arguments.yes and not agreed(part, verb):
            continue
        try:
            report = deeds[part](arguments)
        except Failure as failure:
            if named:
                raise
            failed += 1
            print(f"{part}: {one_line(failure.message)}", file=sys.stderr)
            print(f"  {one_line(failure.hint)}", file=sys.stderr)
            continue
        reports[part] = as_json(report)
        if not arguments.json:
            print_report(part, report)
    if arguments.json:
        print_json(reports)
    elif not named and verb == "install":
        print("memoryd doctor tells whether all is well")
    return 1 if failed else 0


def flags(deeds: dict[str, Deed]) -> str:
    return ", ".join("--hooks claude-code" if part == "hooks" else f"--{part}" for part in deeds)


def agreed(part: str, verb: str) -> bool:
    """Says what would change, and asks."""
    places = locations()
    what = {
        "service": f"run in the background at every login ({places.service})",
        "hooks": f"tell Claude Code what is remembered ({places.claude / 'settings.json'})",
        "mcp": "give Claude Code the tools recall, remember, forget, list_memories and history",
    }[part]
    print(f"{verb} {paint(part, 'bold')}: {one_line(what)}")
    return input("  shall I? [Y/n] ").strip().lower() in {"", "y", "yes"}


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


def print_report(part: str, report: "Report") -> None:
    for path in report.written:
        print(f"{part}: wrote {one_line(str(path))}")
    for path in report.removed:
        print(f"{part}: cleared {one_line(str(path))}")
    for fence in report.fences:
        verdict = paint(fence.verdict.ljust(8), "green" if fence.verdict == "up" else "yellow")
        print(f"{verdict}{fence.name}")
    for note in report.notes:
        print(wrapped(note))
    if part == "service" and report.written:
        print("memoryd runs now, and from now on at every login")
    if not (report.written or report.removed or report.notes):
        print(f"{part}: nothing to do")


SERVICE = Argument(("--service",), "as a service of systemd or launchd", is_switch=True)

HOOKS = Argument(("--hooks",), "in the hooks of an agent", "AGENT", choices=("claude-code",))
MCP = Argument(("--mcp",), "as an MCP server of Claude Code", is_switch=True)
YES = Argument(("--yes",), "all parts, without asking", is_switch=True)
WRITABLE = Argument(
    ("--writable",),
    "a folder outside ~/.claude that memoryd may write: projects with agent memory, or"
    " a memory folder of your own; can be repeated",
    "DIR",
    is_repeated=True,
)

COMMANDS = (
    Command(
        "install",
        "make memoryd part of this system, step by step or the parts you name",
        "memoryd install --hooks claude-code --mcp",
        install,
        (SERVICE, HOOKS, MCP, YES, WRITABLE, JSON),
        asks_daemon=False,
    ),
    Command(
        "uninstall",
        "take memoryd out of this system; memories stay",
        "memoryd uninstall --yes",
        uninstall,
        (SERVICE, HOOKS, MCP, YES, JSON),
        asks_daemon=False,
    ),
)
