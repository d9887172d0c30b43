"""The commands that make memoryd part of the system, and take it out again.

Each part is a switch of both commands. With no part named they go step by step: what it is for and
what would change is shown, then asked about, then done, then tried.
"""

import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

from memoryd_client.cli.commands import JSON, Argument, Arguments, Command, answer_to
from memoryd_client.cli.render import one_line, paint, print_json, wrapped
from memoryd_client.connection.failures import Failure, LocalFailure, UsageError, as_json
from memoryd_client.connection.locations import Locations, locations

if TYPE_CHECKING:
    from memoryd_client.install.service import Report

YES_WORDS = {"y", "yes"}


class ServiceSystem(Protocol):
    """What keeps services alive on one kind of system."""

    def install(self, places: Locations, writable: Sequence[str]) -> "Report": ...

    def uninstall(self, places: Locations) -> "Report": ...


class Part(NamedTuple):
    """One thing to install or to remove, with what a person is told before and after."""

    name: str
    purpose: str
    change: str
    do: Callable[[], "Report"]
    is_needed: Callable[[], bool] = lambda: True
    trial: Callable[[], str] | None = None

    @property
    def flag(self) -> str:
        return "--hooks claude-code" if self.name == "hooks" else f"--{self.name}"


def install(arguments: Arguments) -> int:
    """Install the parts that were asked for; without any, all of them, step by step."""
    from memoryd_client.install import footprint  # noqa: PLC0415 - only these commands pay for it

    places = locations()
    missing = footprint.missing_folders(places)
    try:
        code = work_on(arguments, parts_to_install(places, arguments))
    finally:
        footprint.record(places, missing)
    if not arguments.json and not named_parts(arguments):
        print("memoryd shows how it is; memoryd doctor tells whether all is well")
    return code


def uninstall(arguments: Arguments) -> int:
    """Remove the parts that were asked for; without any, all of them."""
    from memoryd_client.install import footprint  # noqa: PLC0415 - only these commands pay for it

    places = locations()
    parts = parts_to_remove(places)
    code = work_on(arguments, parts)
    if not any(part.is_needed() for part in parts):
        footprint.tidy(places)
    if not arguments.json and not named_parts(arguments) and places.config.exists():
        print(wrapped(f"Your settings stay in {one_line(str(places.config))}, as the memories do."))
    return code


def parts_to_install(places: Locations, arguments: Arguments) -> list[Part]:
    from memoryd_client.install import claude_code, service  # noqa: PLC0415 - only these commands pay

    events = len(claude_code.EVENTS)
    return [
        Part(
            "service",
            "memoryd runs in the background, now and after every login",
            f"writes {places.service}",
            lambda: service_system().install(places, arguments.writable or []),
            trial=service.trial,
        ),
        Part(
            "hooks",
            "every new session of Claude Code is told what is remembered",
            f"adds a command for {events} events to {claude_code.settings_file(places)},"
            " and keeps a copy of it as it is",
            lambda: claude_code.install_hooks(places),
            trial=lambda: claude_code.hooks_trial(places),
        ),
        Part(
            "mcp",
            "Claude Code gets the tools recall, remember, forget, list_memories and history",
            f"adds a server to {claude_code.servers_file(places)}, and keeps a copy of it as it is",
            lambda: claude_code.install_mcp(places),
            trial=claude_code.mcp_trial,
        ),
    ]


def parts_to_remove(places: Locations) -> list[Part]:
    from memoryd_client.install import claude_code, footprint  # noqa: PLC0415 - only these commands pay

    return [
        Part(
            "hooks",
            "sessions of Claude Code are not told anything any more",
            f"takes our command out of {claude_code.settings_file(places)}",
            lambda: claude_code.uninstall_hooks(places),
            lambda: claude_code.has_hooks(places),
        ),
        Part(
            "mcp",
            "Claude Code loses the tools of memoryd",
            f"takes our server out of {claude_code.servers_file(places)}",
            lambda: claude_code.uninstall_mcp(places),
            lambda: claude_code.has_server(places),
        ),
        Part(
            "service",
            "memoryd does not run in the background any more",
            f"removes {places.service}",
            lambda: service_system().uninstall(places),
            places.service.exists,
        ),
        Part(
            "state",
            "earlier versions of memories, checkpoints, what was spent and the log are forgotten;"
            " memories and session notes stay",
            f"removes {places.state}",
            lambda: footprint.remove_state(places),
            lambda: footprint.has_state(places),
        ),
    ]


def named_parts(arguments: Arguments) -> list[str]:
    known = ("service", "hooks", "mcp", "state")
    return [name for name in known if getattr(arguments, name, None)]


def work_on(arguments: Arguments, parts: Sequence[Part]) -> int:
    """Does each part that was named, and reports.

    With none named, each is explained, asked about unless --yes, and tried afterwards; one that
    fails does not stop the rest.
    """
    named = named_parts(arguments)
    asks = not named and not arguments.yes
    if asks and (arguments.json or not sys.stdin.isatty()):
        flags = ", ".join(part.flag for part in parts)
        raise UsageError("nobody is there to ask", f"say which part ({flags}), or --yes for all")
    reports: dict[str, object] = {}
    failed = False
    for part in parts:
        if named and part.name not in named:
            continue
        if asks and not agreed(part):
            continue
        try:
            report = done(part, is_tried=not named)
        except Failure as failure:
            if named:
                raise
            failed = True
            reports[part.name] = as_json(failure)
            print(f"{part.name}: {one_line(failure.message)}", file=sys.stderr)
            print(f"  {one_line(failure.hint)}", file=sys.stderr)
            continue
        reports[part.name] = report_json(report)
        if not arguments.json:
            print_report(part.name, report)
    if arguments.json:
        print_json(reports)
    return int(failed)


def agreed(part: Part) -> bool:
    """Says what would change, and asks."""
    if not part.is_needed():
        print(f"{paint(part.name, 'bold')}: nothing to do")
        return False
    print(f"{paint(part.name, 'bold')}: {wrapped(part.purpose, 2)}")
    print(f"  {wrapped(one_line(part.change), 2)}")
    return answer_to("  shall I? [Y/n] ", "y") in YES_WORDS


def done(part: Part, *, is_tried: bool) -> "Report":
    try:
        report = part.do()
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise LocalFailure(
            f"{error.filename or part.name}: {reason}",
            "mend that, then try again",
        ) from error
    if is_tried and part.trial is not None:
        report = report._replace(notes=[*report.notes, f"tried: {part.trial()}"])
    return report


def service_system() -> ServiceSystem:
    """The one of this machine; it is loaded here because no other command pays for it."""
    if sys.platform == "darwin":
        from memoryd_client.install import launchd  # noqa: PLC0415 - see above

        return launchd
    from memoryd_client.install import systemd  # noqa: PLC0415 - see above

    return systemd


def report_json(report: "Report") -> dict[str, object]:
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


SERVICE = Argument(("--service",), "the service of systemd or launchd", is_switch=True)

HOOKS = Argument(("--hooks",), "the hooks of an agent", "AGENT", choices=("claude-code",))
MCP = Argument(("--mcp",), "the MCP server of Claude Code", is_switch=True)
STATE = Argument(
    ("--state",),
    "earlier versions of memories, checkpoints, what was spent, and the log",
    is_switch=True,
)
YES = Argument(("--yes",), "all parts, without asking", is_switch=True)
WRITABLE = Argument(
    ("--writable",),
    "a folder outside ~/.claude that memoryd may write: projects with agent memory, or"
    " a memory directory of your own; can be repeated",
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
        (SERVICE, HOOKS, MCP, STATE, YES, JSON),
        asks_daemon=False,
    ),
)
