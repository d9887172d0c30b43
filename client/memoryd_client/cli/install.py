"""The commands that set memoryd up on this system and remove it again.

Each part has a flag in both commands. Without a flag they go step by step: each part is explained,
asked about, done and checked. A part that is off by default is only done when a person says yes to
it or names it: --yes leaves it out.
"""

import os
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

from memoryd_client.cli.commands import Arguments, Commands, Parser, add_json, answer_to
from memoryd_client.cli.render import one_line, paint, print_json, wrapped
from memoryd_client.connection.answers import items_at
from memoryd_client.connection.call import call
from memoryd_client.connection.failures import Failure, LocalFailure, UsageError, as_json
from memoryd_client.connection.locations import Locations, locations

if TYPE_CHECKING:
    from memoryd_client.install.service import Report

YES_WORDS = {"y", "yes"}
REVIEWER_QUESTION = (
    "sentences that may be worth remembering wait until somebody decides. That can be you, with"
    " memoryd inbox, or the agent: at the start of a session it is then shown up to five of them"
    " (about 300 tokens) and keeps or drops each."
)


class ServiceSystem(Protocol):
    """What manages services on one kind of system."""

    def install(self, places: Locations, writable: Sequence[str]) -> "Report": ...

    def uninstall(self, places: Locations) -> "Report": ...


class Part(NamedTuple):
    """One thing to install or remove; `purpose` and `change` are shown before asking."""

    name: str
    purpose: str
    change: str
    run: Callable[[], "Report"]
    is_needed: Callable[[], bool] = lambda: True
    check: Callable[[], str] | None = None
    is_off_by_default: bool = False

    @property
    def flag(self) -> str:
        return f"--{self.name} claude-code" if self.name in {"hooks", "model"} else f"--{self.name}"


def install(arguments: Arguments) -> int:
    """Installs the named parts; without a name, all of them step by step."""
    from memoryd_client.install import footprint  # noqa: PLC0415 - only install and uninstall need it

    places = locations()
    missing = footprint.missing_folders(places)
    try:
        code = run_parts(arguments, parts_to_install(places, arguments))
    finally:
        footprint.record(places, missing)
    if not (arguments.json or arguments.yes or named_parts(arguments)):
        ask_who_reviews(places)
    if not arguments.json and not named_parts(arguments):
        offer_trust()
        print("Next: memoryd shows the status, memoryd doctor checks for problems")
    return code


def offer_trust() -> None:
    """Says once how to confirm what was there before; nothing if no daemon runs yet."""
    try:
        answer = call("memory/trust", {"cwd": os.getcwd()})  # noqa: PTH109 - text in, text out
    except (Failure, OSError):
        return
    count = len(items_at(answer, "waiting"))
    if count:
        print(
            wrapped(
                f"{count} of the memories here are of unknown origin: they are served with that"
                " said. If they are yours, confirm them all with: memoryd trust --all"
            )
        )


def ask_who_reviews(places: Locations) -> None:
    """Asks once whether the agent may sort the inbox; only where it could."""
    from memoryd_client.doctor.fixes import restart  # noqa: PLC0415 - only a yes needs it
    from memoryd_client.install import claude_code, config_toml  # noqa: PLC0415 - likewise

    if not (claude_code.has_hooks(places) and claude_code.has_server(places)):
        return
    if config_toml.value_in(places.config, "inbox", "reviewer") is not None:
        return
    print(f"{paint('inbox', 'bold')}: {wrapped(REVIEWER_QUESTION, 2)}")
    if answer_to("  May the agent sort them? [y/N] ", "n") not in YES_WORDS:
        print("  They wait for you: memoryd inbox")
        return
    config_toml.set_value(places.config, "inbox", "reviewer", "agent")
    print(f"inbox: wrote {one_line(str(places.config))}")
    print(wrapped(f"A daemon that runs already learns of it by a restart: {restart(places)}"))


def uninstall(arguments: Arguments) -> int:
    """Removes the named parts; without a name, all of them."""
    from memoryd_client.install import footprint  # noqa: PLC0415 - only install and uninstall need it

    places = locations()
    parts = parts_to_remove(places)
    code = run_parts(arguments, parts)
    if not any(part.is_needed() for part in parts):
        footprint.tidy(places)
    if not arguments.json and not named_parts(arguments) and places.config.exists():
        print(wrapped(f"Your settings in {one_line(str(places.config))} and your memories stay."))
    return code


def parts_to_install(places: Locations, arguments: Arguments) -> list[Part]:
    from memoryd_client.install import claude_code, service  # noqa: PLC0415 - likewise

    events = len(claude_code.EVENTS)
    return [
        Part(
            "service",
            "runs memoryd in the background, now and after every login",
            f"writes {places.service}",
            lambda: service_system().install(places, arguments.writable or []),
            check=service.check,
        ),
        Part(
            "hooks",
            "gives every new session of Claude Code the memories that matter",
            f"adds a command for {events} events to {claude_code.settings_file(places)},"
            " and keeps a backup of it",
            lambda: claude_code.install_hooks(places),
            check=lambda: claude_code.check_hooks(places),
        ),
        Part(
            "mcp",
            "gives Claude Code the tools recall, remember, forget, list_memories and history",
            f"adds a server to {claude_code.servers_file(places)}, and keeps a backup of it",
            lambda: claude_code.install_mcp(places),
            check=claude_code.check_mcp,
        ),
        *model_part(places, arguments),
    ]


def model_part(places: Locations, arguments: Arguments) -> list[Part]:
    """The person's own client as the model, offered where there is one."""
    from memoryd_client.install import model_provider  # noqa: PLC0415 - likewise

    if not arguments.model and model_provider.found_client() is None:
        return []
    return [
        Part(
            "model",
            "lets your own Claude Code find what is worth remembering, which works better than the"
            " built-in rules. It is asked a few times a day, at most 24, and every call counts"
            " towards your plan. Your login stays where it is. Check first that your terms allow"
            " it (docs/models.md says how we read them)",
            f"sets model.provider in {places.config}; off unless you say yes",
            lambda: model_provider.install(places),
            lambda: not model_provider.is_chosen(places),
            is_off_by_default=True,
        )
    ]


def parts_to_remove(places: Locations) -> list[Part]:
    from memoryd_client.install import claude_code, footprint, model_provider  # noqa: PLC0415 - likewise

    return [
        Part(
            "model",
            "memoryd no longer asks your Claude Code",
            f"removes the provider from {places.config}",
            lambda: model_provider.uninstall(places),
            lambda: model_provider.is_chosen(places),
        ),
        Part(
            "hooks",
            "sessions of Claude Code get no memories any more",
            f"removes memoryd's entries from {claude_code.settings_file(places)}",
            lambda: claude_code.uninstall_hooks(places),
            lambda: claude_code.has_hooks(places),
        ),
        Part(
            "mcp",
            "Claude Code loses the tools of memoryd",
            f"removes memoryd's server from {claude_code.servers_file(places)}",
            lambda: claude_code.uninstall_mcp(places),
            lambda: claude_code.has_server(places),
        ),
        Part(
            "service",
            "memoryd no longer runs in the background",
            f"removes {places.service}",
            lambda: service_system().uninstall(places),
            places.service.exists,
        ),
        Part(
            "state",
            "deletes earlier versions of memories, checkpoints, the record of spending and the"
            " log; memories and session notes stay",
            f"removes {places.state}",
            lambda: footprint.remove_state(places),
            lambda: footprint.has_state(places),
        ),
    ]


def named_parts(arguments: Arguments) -> list[str]:
    known = ("service", "hooks", "mcp", "model", "state")
    return [name for name in known if getattr(arguments, name, None)]


def run_parts(arguments: Arguments, parts: Sequence[Part]) -> int:
    """Runs each named part and prints a report.

    With none named, each part is explained, asked about unless --yes, and checked afterwards; one
    that fails does not stop the others.
    """
    named = named_parts(arguments)
    asks = not named and not arguments.yes
    if asks and (arguments.json or not sys.stdin.isatty()):
        flags = ", ".join(part.flag for part in parts)
        raise UsageError(
            "cannot ask: standard input is not a terminal",
            f"name the parts ({flags}), or add --yes for all of them",
        )
    reports: dict[str, object] = {}
    failed = False
    for part in parts:
        if named and part.name not in named:
            continue
        if asks and not agreed(part):
            continue
        if not named and not asks and part.is_off_by_default:
            continue
        try:
            report = run_part(part, is_checked=not named)
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
    """Explains what would change, and asks."""
    if not part.is_needed():
        print(f"{paint(part.name, 'bold')}: nothing to do")
        return False
    print(f"{paint(part.name, 'bold')}: {wrapped(part.purpose, 2)}")
    print(f"  {wrapped(one_line(part.change), 2)}")
    if part.is_off_by_default:
        return answer_to("  Proceed? [y/N] ", "n") in YES_WORDS
    return answer_to("  Proceed? [Y/n] ", "y") in YES_WORDS


def run_part(part: Part, *, is_checked: bool) -> "Report":
    try:
        report = part.run()
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise LocalFailure(
            f"{error.filename or part.name}: {reason}", "fix that, then try again"
        ) from error
    if is_checked and part.check is not None:
        report = report._replace(notes=[*report.notes, f"checked: {part.check()}"])
    return report


def service_system() -> ServiceSystem:
    """The service manager of this machine."""
    if sys.platform == "darwin":
        from memoryd_client.install import launchd  # noqa: PLC0415 - only one of the two is needed

        return launchd
    from memoryd_client.install import systemd  # noqa: PLC0415 - likewise

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
        entries = "memoryd's entries from " if part in {"hooks", "mcp"} else ""
        print(f"{part}: removed {entries}{one_line(str(path))}")
    for fence in report.fences:
        verdict = paint(fence.verdict.ljust(8), "green" if fence.verdict == "up" else "yellow")
        print(f"{verdict}{fence.name}")
    for note in report.notes:
        print(wrapped(note))
    if part == "service" and report.written:
        print("memoryd is running, and starts at every login")
    if not (report.written or report.removed or report.notes):
        print(f"{part}: nothing to do")


def add_parts(command: Parser) -> None:
    command.add_argument("--service", action="store_true", help="the service of systemd or launchd")
    command.add_argument(
        "--hooks", metavar="AGENT", choices=("claude-code",), help="the hooks of %(choices)s"
    )
    command.add_argument("--mcp", action="store_true", help="the MCP server of Claude Code")
    command.add_argument(
        "--model",
        metavar="PROVIDER",
        choices=("claude-code",),
        help="%(choices)s: your own client as the model (see docs/models.md for its terms)",
    )


def add_commands(commands: Commands) -> None:
    installing = commands.add(
        "install",
        install,
        "set memoryd up on this system, step by step or the parts you name",
        example="memoryd install --hooks claude-code --mcp",
        needs_daemon=False,
    )
    add_parts(installing)
    installing.add_argument(
        "--yes", action="store_true", help="all parts but the model, without asking"
    )
    installing.add_argument(
        "--writable",
        metavar="DIR",
        action="append",
        help="a folder outside ~/.claude that the service may write to, such as projects with"
        " agent memory; can be repeated",
    )
    add_json(installing)

    removing = commands.add(
        "uninstall",
        uninstall,
        "remove memoryd from this system; memories stay",
        example="memoryd uninstall --yes",
        needs_daemon=False,
    )
    add_parts(removing)
    removing.add_argument(
        "--state",
        action="store_true",
        help="earlier versions of memories, checkpoints, the record of spending, and the log",
    )
    removing.add_argument("--yes", action="store_true", help="all parts, without asking")
    add_json(removing)
